import Foundation
import Testing

@testable import MockServer
@testable import TestSupport

/// Disks without room, and disks that nobody may write to, under a whole home and under its cache.
@Suite(
    .serialized, .timeLimit(.minutes(5)),
    .enabled(if: SmallDisk.isAllowed, "mounting is not allowed here"))
struct `A disk` {
    private static let roomy = 64_000

    private func expectFull(
        _ result: CommandResult, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(result.exit == 3, "\(result)", sourceLocation: sourceLocation)
        #expect(
            result.error.hasPrefix("sync: error: diskFull: "), "\(result)",
            sourceLocation: sourceLocation)
    }

    /// The catalog with its log is whole; looked at beside it, since looking takes room too.
    private func expectWholeCatalog(
        _ device: Device, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let scratch = try Scratch()
        for path in device.files where path.contains("/catalog.sqlite") {
            try FileManager.default.copyItem(
                at: device.scratch["home"].appendingPathComponent(path),
                to: scratch[URL(filePath: path).lastPathComponent])
        }
        let found = try await run(
            "/usr/bin/sqlite3", [scratch["catalog.sqlite"].path, "PRAGMA integrity_check"])
        #expect(found == "ok\n", sourceLocation: sourceLocation)
    }

    /// Takes the room of a disk but for so many bytes.
    private func fill(_ disk: SmallDisk, butFor left: Int) throws -> URL {
        let filler = URL(filePath: disk.path).appending(path: "filler")
        let facts = try FileManager.default.attributesOfFileSystem(forPath: disk.path)
        let free = try #require(facts[.systemFreeSize] as? Int)
        try Data(count: max(0, free - left)).write(to: filler)
        return filler
    }

    /// Logs in and restores, with a cache that may fill the disk.
    private func restore(_ device: Device) async throws {
        try await device.login()
        try await device.done("cache", "--limit", "1G")
        try await device.restore()
    }

    @Test func `without room for the catalog is diskFull, and goes on when there is room`()
        async throws
    {
        let device = try Device()
        let template = device.scratch["template"]
        try await run(
            Command.path, device.loginWords() + ["--home", template.path])
        for left in [0, 4, 40, 80, 160].map({ $0 << 10 }) {
            let disk = try #require(try SmallDisk(at: device.home, kilobytes: Self.roomy))
            defer { disk.remove() }
            try await run("/bin/cp", ["-a", template.path + "/.", device.home])
            let filler = try fill(disk, butFor: left)
            let restore = try await device.sync("restore", "--no-thumbnails")
            if restore.exit != 0 || left == 0 { expectFull(restore) }
            try await expectWholeCatalog(device)
            try FileManager.default.removeItem(at: filler)
            try await device.restore()
            #expect(try await device.done("list").lines.count == 20)
            try await expectWholeCatalog(device)
        }
    }

    @Test func `without room for a file is known before anything is asked for`() async throws {
        let device = try Device()
        let disk = try #require(try SmallDisk(at: device.home + "/cache", kilobytes: 2_000))
        defer { disk.remove() }
        try await restore(device)
        let file = try device.account.large
        expectFull(try await device.sync("open", file.id))
        #expect(try await device.requests(for: file).isEmpty)
        try await expectWholeCatalog(device)
        let row = try await device.done("list", "--state", "unavailable", "--json").object
        #expect(row["id"] as? String == file.id && row["reason"] as? String == "diskFull")

        disk.resize(kilobytes: Self.roomy)
        #expect(try await sha256([device.done("open", file.id).line]) == [file.sha256])
        #expect(try await device.done("list", "--state", "unavailable").lines.isEmpty)
    }

    @Test(arguments: ["", "/cache"])
    func `that others fill in the middle of a file keeps what came, and takes the rest later`(
        place: String
    ) async throws {
        let device = try Device()
        let disk = try #require(try SmallDisk(at: device.home + place, kilobytes: Self.roomy))
        defer { disk.remove() }
        try await restore(device)
        let here = try device.account.file("notes.md")
        let path = try await device.done("open", here.id).line
        let file = try device.account.large
        let gate = FaultGate()
        device.server.faults.add(
            try await device.match(file), times: 1, .stall(at: .bytes(2_000_000), gate))
        let opening = try device.start(["open", file.id])
        try await gate.reached()
        try await eventually { device.storedBytes >= 20 * 65536 }
        let filler = try fill(disk, butFor: 1 << 20)
        gate.open()
        expectFull(try await opening.result())
        try await expectWholeCatalog(device)
        // What is here is still here, and nobody has to make room to see it.
        #expect(try await device.done("open", here.id).line == path)
        #expect(try await device.done("list").lines.count == 20)
        let kept = device.storedBytes
        #expect(kept >= 20 * 65536)

        try FileManager.default.removeItem(at: filler)
        let opened = try await device.done("open", file.id, "--json").object
        #expect(opened["bytesFetched"] as? Int == file.size - kept)
        let whole = try #require(opened["path"] as? String)
        #expect(try await sha256([whole]) == [file.sha256])
    }

    @Test func `without room for thumbnails leaves them due, and has them when there is room`()
        async throws
    {
        let device = try Device()
        let disk = try #require(try SmallDisk(at: device.home + "/cache", kilobytes: 40))
        defer { disk.remove() }
        try await restore(device)
        let restore = try await device.sync("restore")
        #expect(restore.exit == 5, "\(restore)")
        #expect(restore.error.contains("thumbnails failed: "), "\(restore)")
        try await expectWholeCatalog(device)
        #expect(try await device.done("list").lines.count == 20)

        disk.resize(kilobytes: Self.roomy)
        try await device.done("restore")
        let photos = device.account.files.filter { $0.thumbSha256 != nil }
        let thumbnails = try await photos.asyncMap { try await device.done("thumb", $0.id).line }
        #expect(try await sha256(thumbnails) == photos.map { $0.thumbSha256 })
    }

    @Test func `that is read only shows and opens what is here, and says so of the rest`()
        async throws
    {
        let device = try Device()
        let disk = try #require(try SmallDisk(at: device.home, kilobytes: Self.roomy))
        defer { disk.remove() }
        try await restore(device)
        try await device.done("restore")
        let here = try device.account.file("notes.md")
        let photo = try #require(device.account.files.first { $0.thumbSha256 != nil })
        let path = try await device.done("open", here.id).line
        let before = try await device.done("list").text

        let other = try device.account.large
        let range = ["open", other.id, "--range", "0-99"]
        let bytes = try await device.done(range).output

        disk.setReadOnly(true)
        #expect(try await device.done("list").text == before)
        // Of a part too, and then what it lacks.
        #expect(bytes.count == 100)
        #expect(try await device.done(range).output == bytes)
        #expect(
            try await device.done("open", other.id, "--range", "200000-200099").output.count == 100)
        #expect(try await device.done("open", here.id).line == path)
        #expect(try await device.done("open", here.id, "--stdout").output.count == here.size)
        #expect(
            try await sha256([device.done("thumb", photo.id).line]) == [photo.thumbSha256])
        for words in [["status"], ["items"], ["explain", here.id]] {
            try await device.done(words)
        }
        for words in [["open", other.id], ["restore"], ["logout"], device.loginWords()] {
            let result = try await device.sync(words)
            #expect(result.exit == 3, "\(result)")
        }

        disk.setReadOnly(false)
        try await device.done("restore")
        #expect(try await sha256([device.done("open", other.id).line]) == [other.sha256])
    }

    @Test func `that is read only under the cache alone opens what is here, and no more`()
        async throws
    {
        let device = try Device()
        let disk = try #require(try SmallDisk(at: device.home + "/cache", kilobytes: Self.roomy))
        defer { disk.remove() }
        try await restore(device)
        let here = try device.account.file("notes.md")
        let path = try await device.done("open", here.id).line
        disk.setReadOnly(true)
        #expect(try await device.done("open", here.id).line == path)
        try await device.restore()
        let other = try device.account.large
        let result = try await device.sync("open", other.id)
        #expect(result.exit == 3, "\(result)")
        disk.setReadOnly(false)
        #expect(try await sha256([device.done("open", other.id).line]) == [other.sha256])
    }
}
