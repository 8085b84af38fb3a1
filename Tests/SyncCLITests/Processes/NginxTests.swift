import Foundation
import Testing

@testable import MockServer

/// nginx with its own way of answering for parts, tags and lengths, over HTTP/1.1 and over HTTP/2
/// with TLS.
@Suite(
    .serialized, .timeLimit(.minutes(5)),
    .enabled(if: NginxFront.isPossible, "needs nginx"))
struct `A server that is not ours` {
    typealias Speech = NginxFront.Speech

    /// A blob that shares its connection, and one that is too large for that.
    enum Size: Sendable, CaseIterable {
        case shared, alone

        func file(of account: PlainAccount) throws -> PlainAccount.File {
            switch self {
            case .shared: try #require(account.files.first { (300_000..<500_000) ~= $0.size })
            case .alone: try account.large
            }
        }

        /// Bytes a second at which it takes a good second.
        var rate: Int { self == .shared ? 150_000 : 3_000_000 }
    }

    /// A device that has restored through nginx.
    private func restored(
        _ speech: Speech, rate: Int = 0, thumbnails: Bool = false
    ) async throws -> (Device, NginxFront) {
        let device = try Device()
        let front = try await NginxFront(before: device, speech, rate: rate)
        let trust = speech == .secure ? ["--ca-file", front.authority] : []
        try await device.done(device.loginWords(server: front.url) + trust)
        try await device.done(["restore"] + (thumbnails ? [] : ["--no-thumbnails"]))
        return (device, front)
    }

    /// The requests for a file's blob, once there are so many.
    private func requests(
        _ count: Int, for file: PlainAccount.File, _ device: Device, _ front: NginxFront
    ) async throws -> [NginxFront.Request] {
        let record = try await device.record(of: file)
        try await eventually { try front.requests(for: record).count >= count }
        let requests = try front.requests(for: record)
        #expect(requests.count == count, "\(requests)")
        return requests
    }

    /// What an `open --json` says, which must have brought the right bytes.
    private func right(
        _ opened: CommandResult, _ file: PlainAccount.File
    ) async throws -> [String: Any] {
        try #require(opened.exit == 0, "\(opened)")
        let object = try opened.object
        let path = try #require(object["path"] as? String)
        #expect(try await sha256([path]) == [file.sha256])
        return object
    }

    private func version(_ speech: Speech, _ size: Size) -> String {
        speech == .secure && size == .shared ? "HTTP/2.0" : "HTTP/1.1"
    }

    private func sealed(_ plain: Int) -> Int { 40 + plain + (plain + 65535) / 65536 * 16 }

    /// The range from the first byte of the chunk that is missing first.
    private func rest(of file: PlainAccount.File, after kept: Int) -> String {
        "bytes=\(40 + kept / 65536 * 65552)-\(sealed(file.size) - 1)"
    }

    @Test(arguments: Speech.allCases)
    func `a device shows every file and opens each as it was uploaded`(
        speech: Speech
    ) async throws {
        let (device, front) = try await restored(speech, thumbnails: true)
        var paths: [String] = []
        for file in device.account.files {
            paths.append(try await device.done("open", file.id).line)
        }
        #expect(try await sha256(paths) == device.account.files.map(\.sha256))
        let photos = device.account.files.filter { $0.thumbSha256 != nil }
        let thumbnails = try await photos.asyncMap { try await device.done("thumb", $0.id).line }
        #expect(try await sha256(thumbnails) == photos.map { $0.thumbSha256 })
        // All of it came from there.
        #expect(!device.server.log.entries.contains { $0.path.hasPrefix("/v1/blobs/") })
        for size in Size.allCases {
            let file = try size.file(of: device.account)
            let request = try await requests(1, for: file, device, front)[0]
            #expect(request.status == 200 && request.version == version(speech, size))
            #expect(request.bytes == sealed(file.size))
        }
    }

    @Test(arguments: Speech.allCases, Size.allCases)
    func `open: killed in the middle of a blob, the next one asks for the rest`(
        speech: Speech, size: Size
    ) async throws {
        let (device, front) = try await restored(speech)
        let file = try size.file(of: device.account)
        let command = try device.start(["open", file.id, "--limit-rate", "\(size.rate)"])
        try await eventually { device.storedBytes > 0 }
        command.signal(SIGKILL)
        #expect(try await command.result().exit == nil)
        let kept = device.storedBytes
        #expect(kept < file.size)
        let opened = try await right(try await device.done("open", file.id, "--json"), file)
        #expect(opened["bytesFetched"] as? Int == file.size - kept)
        #expect(opened["requests"] as? Int == 1)
        // nginx logs an answer when it ends, so the one that was cut may come last.
        let part = try await requests(2, for: file, device, front).first { $0.range != nil }
        #expect(part?.range == rest(of: file, after: kept))
        #expect(part?.status == 206 && part?.version == version(speech, size))
    }

    @Test(arguments: Speech.allCases, Size.allCases)
    func `open: cut off by the server, it asks for the rest of what had that entity tag`(
        speech: Speech, size: Size
    ) async throws {
        let (device, front) = try await restored(speech, rate: size.rate)
        let file = try size.file(of: device.account)
        let command = try device.start(["open", file.id, "--json"])
        try await eventually { device.storedBytes > 0 }
        try front.cut()
        _ = try await right(try await command.result(), file)
        // nginx does not log an answer with which it ends.
        let part = try await requests(1, for: file, device, front)[0]
        #expect(part.etag?.hasPrefix("\"") == true && part.ifRange == part.etag)
        #expect(part.range != nil && part.status == 206)
        #expect(part.version == version(speech, size))
    }

    @Test(arguments: Speech.allCases, Size.allCases)
    func `open: cut off and then another entity tag, it takes the whole answer for what it is`(
        speech: Speech, size: Size
    ) async throws {
        let (device, front) = try await restored(speech, rate: size.rate)
        let file = try size.file(of: device.account)
        let blob = front.blob(try await device.record(of: file))
        let command = try device.start(["open", file.id, "--json"])
        try await eventually { device.storedBytes > 0 }
        // The same bytes, written anew.
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1_000_000_000)],
            ofItemAtPath: blob.path)
        try front.cut()
        let opened = try await right(try await command.result(), file)
        #expect(opened["bytesFetched"] as? Int == file.size)
        let whole = try await requests(1, for: file, device, front)[0]
        #expect(whole.ifRange?.hasPrefix("\"") == true && whole.ifRange != whole.etag)
        #expect(whole.range != nil && whole.status == 200)
    }

    @Test(arguments: Speech.allCases, Size.allCases)
    func `open: a record that was cut short is wrongSize after a 416, until it is whole again`(
        speech: Speech, size: Size
    ) async throws {
        let (device, front) = try await restored(speech)
        let file = try size.file(of: device.account)
        let blob = front.blob(try await device.record(of: file))
        let whole = try Data(contentsOf: blob)
        let kept = 2 * 65536
        try whole.prefix(40 + 2 * 65552).write(to: blob)
        let opened = try await device.sync("open", file.id)
        #expect(opened.exit == 4, "\(opened)")
        #expect(opened.error.hasPrefix("sync: error: wrongSize: "), "\(opened)")
        let both = try await requests(2, for: file, device, front)
        #expect(both.map(\.status) == [200, 416])
        #expect(both[1].range == rest(of: file, after: kept))
        #expect(!device.files.contains { $0.contains("/content") })

        try whole.write(to: blob)
        let retried = try await device.done("retry", file.id, "--json").object
        #expect(retried["state"] as? String == "here")
        #expect(try await sha256([device.done("open", file.id).line]) == [file.sha256])
        let last = try await requests(3, for: file, device, front)[2]
        #expect(last.range == rest(of: file, after: kept) && last.status == 206)
    }

    @Test(arguments: Speech.allCases, Size.allCases)
    func `open: some bytes cost one request of the chunks that hold them`(
        speech: Speech, size: Size
    ) async throws {
        let (device, front) = try await restored(speech)
        let file = try size.file(of: device.account)
        let part = try await device.sync("open", file.id, "--range", "70000-199999")
        #expect(part.exit == 0 && part.output.count == 130_000, "\(part.error)")
        let request = try await requests(1, for: file, device, front)[0]
        #expect(request.status == 206 && request.version == version(speech, size))
        // From the beginning of the second chunk to the end of the fourth.
        #expect(request.range == "bytes=\(40 + 65552)-\(40 + 4 * 65552 - 1)")
        let whole = try Data(
            contentsOf: URL(filePath: try await device.done("open", file.id).line))
        #expect(part.output == [UInt8](whole[70_000..<200_000]))
    }
}
