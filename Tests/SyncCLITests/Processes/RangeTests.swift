import Foundation
import Testing

@testable import MockServer

/// `sync open --range` as a person runs it.
@Suite(.timeLimit(.minutes(10))) struct RangeTests {
    /// What the file must be: the whole, as the same command writes it elsewhere.
    private func whole(_ file: PlainAccount.File) async throws -> [UInt8] {
        let other = try await Device.restored()
        return try await other.done("open", file.id, "--stdout").output
    }

    @Test func `a range is written, and costs one request`() async throws {
        let device = try await Device.restored()
        let file = try device.account.large
        let right = try await whole(file)
        let middle = try await device.done("open", file.id, "--range", "2000000-2065535", "--json")
        #expect(middle.output == Array(right[2_000_000...2_065_535]))
        let object = try middle.errorObject
        #expect(object["id"] as? String == file.id && object["size"] as? Int == file.size)
        #expect(object["path"] is NSNull && object["state"] as? String == "remote")
        #expect(object["requests"] as? Int == 1)
        #expect(object["bytesFetched"] as? Int == 2 * 65_536)
        let log = try await device.requests(for: file)
        #expect(log.count == 1 && log[0].bytesSent == 2 * 65_552)

        // What it brought is here; the last bytes and the first are not.
        let again = try await device.done("open", file.id, "--range=2000010-2000019", "--json")
        #expect(again.output == Array(right[2_000_010...2_000_019]))
        #expect(try again.errorObject["requests"] as? Int == 0)
        let last = try await device.done("open", file.id, "--range=-10")
        #expect(last.output == Array(right.suffix(10)) && last.error.isEmpty)
        let rest = try await device.done("open", file.id, "--stdout", "--range", "100-")
        #expect(rest.output == Array(right[100...]))
        // Then all of it is here, and is only proved.
        let opened = try await device.done("open", file.id, "--json")
        #expect(try opened.object["requests"] as? Int == 0)
        let total = try await device.requests(for: file).map(\.bytesSent).reduce(0, +)
        #expect(total <= UInt64(file.size) + 80 * 16 + 40, "no chunk came twice")
    }

    @Test func `wrong ranges are exit 2 with one clear line, and ask for nothing`() async throws {
        let device = try await Device.restored()
        let file = try device.account.large
        for words in [
            ["--range", "x"], ["--range", "5-4"], ["--range"], ["--range", "0-1", "--view"],
            ["--range", "\(file.size)-"], ["--range", "\(file.size)-\(file.size + 5)"],
        ] {
            let result = try await device.sync(["open", file.id] + words)
            #expect(result.exit == 2 && result.output.isEmpty)
            #expect(result.error.split(separator: "\n").count == 2, "\(result)")
        }
        let beyond = try await device.sync("open", file.id, "--range", "\(file.size)-")
        #expect(beyond.error.contains("has \(file.size) bytes"))
        #expect(try await device.requests(for: file).isEmpty)
    }

    @Test func `a range of a file that is here needs no server`() async throws {
        let device = try await Device.restored()
        let file = try device.account.large
        let path = try await device.done("open", file.id).line
        let right = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        device.server.stop()
        let result = try await device.done("open", file.id, "--range", "65530-65540")
        #expect(result.output == Array(right[65_530...65_540]))
    }

    @Test func `what the cache has no room for goes to standard output all the same`() async throws
    {
        let device = try await Device.restored()
        let file = try device.account.large
        let right = try await whole(file)
        try await device.done("cache", "--limit", "1M")
        let refused = try await device.sync("open", file.id)
        #expect(refused.exit == 4 && refused.error.contains("tooLarge"))
        let all = try await device.done("open", file.id, "--stdout", "--json")
        #expect(all.output == right)
        let object = try all.errorObject
        #expect(object["path"] is NSNull && object["bytesFetched"] as? Int == file.size)
        let part = try await device.done("open", file.id, "--range", "3000000-3999999")
        #expect(part.output == Array(right[3_000_000...3_999_999]))
        #expect(!device.files.contains { $0.hasSuffix("/part") || $0.hasSuffix("/tags") })
    }

    @Test func `a range that cannot come says why, and writes nothing`() async throws {
        let device = try await Device.restored()
        let file = try device.account.large
        device.server.faults.add(
            try await device.match(file), .problem(403, code: "not-entitled"))
        let result = try await device.sync("open", file.id, "--range", "0-9", "--json")
        #expect(result.exit == 4 && result.output.isEmpty)
        #expect(result.error.contains(#""reason":"notEntitled""#))
    }

    /// Case B13.
    @Test func `killed in the middle of a range, what came is taken up`() async throws {
        let device = try await Device.restored()
        let file = try device.account.large
        let right = try await whole(file)
        let gate = FaultGate()
        device.server.faults.add(
            try await device.match(file), times: 1, .stall(at: .bytes(20 * 65_552 + 99), gate))
        let command = try device.start(["open", file.id, "--range", "655360-3932159"])
        try await gate.reached()
        try await eventually { command.output.count >= 16 * 65_536 }
        command.signal(SIGKILL)
        _ = try await command.result()
        gate.open()
        let result = try await device.done("open", file.id, "--stdout", "--json")
        #expect(result.output == right)
        let kept = try await device.requests(for: file).dropFirst().map(\.range)
        #expect(kept.count == 2, "before and behind what is here: \(kept)")
        #expect(try result.errorObject["bytesFetched"] as? Int ?? 0 <= file.size - 16 * 65_536)
    }
}
