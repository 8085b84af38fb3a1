import Foundation
import Testing

@testable import MockServer

/// Commands that are killed or interrupted, and the ones after them.
@Suite(.serialized, .timeLimit(.minutes(10))) struct `A command that is stopped` {
    /// Starts to open, and waits until the answer stands at `bytes` and so many chunks are stored.
    private func startOpening(
        _ device: Device, _ file: PlainAccount.File, until bytes: UInt64, chunks: Int
    ) async throws -> (Command, FaultGate) {
        let gate = FaultGate()
        device.server.faults.add(
            try await device.match(file), times: 1, .stall(at: .bytes(bytes), gate))
        let command = try device.start(["open", file.id])
        try await gate.reached()
        try await eventually { device.storedBytes >= chunks * 65536 }
        return (command, gate)
    }

    @Test(arguments: [0, 2_000_000, 4_000_000] as [UInt64])
    func `open: killed at any byte, the next one takes up the chunks that were verified`(
        bytes: UInt64
    ) async throws {
        let device = try await Device.restored()
        let file = try device.account.large
        let (command, gate) = try await startOpening(
            device, file, until: bytes, chunks: max(0, Int(bytes) - 40) / 65552)
        #expect(try await device.done("list", "--state", "pending").lines.count == 1)
        let kept = device.storedBytes
        command.signal(SIGKILL)
        #expect(try await command.result().exit == nil)
        gate.open()
        // Pending followed from the process.
        #expect(try await device.done("list", "--state", "pending").lines.isEmpty)
        let opened = try await device.done("open", file.id, "--json").object
        #expect(try await sha256([try #require(opened["path"] as? String)]) == [file.sha256])
        #expect(opened["bytesFetched"] as? Int == file.size - kept)
        let second = try #require(try await device.requests(for: file).last)
        #expect((second.range == nil) == (kept == 0))
        #expect(!device.files.contains { $0.hasSuffix("/part") })
    }

    @Test func `open: killed after the last byte, the next one needs no request`() async throws {
        let device = try await Device.restored()
        let file = try device.account.file("65537.bin")
        let path = try await device.done("open", file.id).line
        // As a kill between the last write and the mark leaves it: the mark is gone.
        let catalog = try device.file("catalog.sqlite").path
        try await run(
            "/usr/bin/sqlite3", [catalog, "UPDATE blob SET here_boot = NULL, here_inode = NULL"])
        let opened = try await device.done("open", file.id, "--json").object
        #expect(opened["requests"] as? Int == 0)
        #expect(opened["path"] as? String == path)
        #expect(try await sha256([path]) == [file.sha256])
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `open: interrupted, it says so and keeps what was verified`(signal: Int32) async throws {
        let device = try await Device.restored()
        let file = try device.account.large
        let (command, gate) = try await startOpening(device, file, until: 3_000_000, chunks: 45)
        command.signal(signal)
        let result = try await command.result(within: .seconds(20))
        #expect(result.exit == 130, "\(result)")
        #expect(
            result.error == """
                sync: error: interrupted
                sync: hint: what came is kept; the same command goes on from there

                """)
        gate.open()
        let opened = try await device.done("open", file.id, "--json").object
        // 45 whole chunks had come.
        #expect(opened["bytesFetched"] as? Int == file.size - 45 * 65536)
        #expect(try await sha256([try #require(opened["path"] as? String)]) == [file.sha256])
    }

    @Test func `open: another one meanwhile is not disturbed, and gets the bytes`() async throws {
        let device = try await Device.restored()
        let file = try device.account.large
        let (first, gate) = try await startOpening(device, file, until: 2_500_000, chunks: 16)
        let second = try device.start(["open", file.id, "--json"])
        first.signal(SIGKILL)
        _ = try await first.result()
        let opened = try await second.result()
        #expect(opened.exit == 0, "\(opened)")
        #expect(try #require(try opened.object["bytesFetched"] as? Int) < file.size)
        let path = try #require(try opened.object["path"] as? String)
        #expect(try await sha256([path]) == [file.sha256])
        gate.open()
    }

    @Test func `restore: killed between pages, the next one ends with the same`() async throws {
        let scratch = try Scratch()
        let files = scratch["files"]
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: false)
        for number in 0..<120 {
            try Data("file \(number)".utf8).write(to: files.appendingPathComponent("\(number).txt"))
        }
        let account = try await PlainAccount.make(of: files, in: scratch, "--items-of", "1")
        let whole = try await Device.restored(serving: account)
        let expected = try await whole.done("list", "--limit", "1000").text
        #expect(expected.split(separator: "\n").count == 120)

        // Pages of ten, so that there are places between them.
        let device = try Device(serving: account, options: ServerOptions(largestPage: 10))
        try await device.login()
        for _ in 0..<2 {
            let gate = FaultGate()
            let held = device.server.faults.add(.get("/v1/manifest"), skip: 4, .hold(gate))
            let command = try device.start(["restore"])
            try await gate.reached()
            command.signal(SIGKILL)
            #expect(try await command.result().exit == nil)
            device.server.faults.remove(held)
            gate.open()
        }
        try await device.restore()
        #expect(try await device.done("list", "--limit", "1000").text == expected)
        let report = try await device.done("restore", "--json").object
        #expect(report["attachments"] as? Int == 120 && report["verified"] as? Bool == true)
    }

    @Test(arguments: ["kdf", "sessions"])
    func `login: killed while the server thinks, nobody is logged in`(step: String) async throws {
        let device = try Device()
        let gate = FaultGate()
        device.server.faults.add(
            step == "kdf" ? .get("/v1/accounts/") : .post("/v1/sessions"), .hold(gate))
        let command = try device.start(device.loginWords())
        try await gate.reached()
        command.signal(SIGKILL)
        #expect(try await command.result().exit == nil)
        gate.open()
        let status = try await device.sync("status")
        #expect(status.exit == 6, "\(status)")
        try device.expectNothingOfTheAccount()
        device.server.faults.clear()
        try await device.login()
    }

    @Test func `login: killed at any moment after the answer, somebody is logged in or nobody is`()
        async throws
    {
        let device = try Device()
        var outcomes: Set<Int32> = []
        for milliseconds in stride(from: 0, to: 40, by: 4) {
            device.server.log.clear()
            let command = try device.start(device.loginWords())
            try await device.server.log.waitFor { entries in
                entries.contains { $0.path == "/v1/sessions" && $0.ending == .whole }
            }
            // Not to wait for something: to kill at another moment each time.
            try await Task.sleep(for: .milliseconds(milliseconds))
            command.signal(SIGKILL)
            _ = try await command.result()
            let status = try await device.sync("status")
            outcomes.insert(status.exit ?? -1)
            if status.exit == 0 {
                try await device.done("restore")
                try await device.done("logout")
            } else {
                #expect(status.exit == 6, "\(status)")
            }
            try device.expectNothingOfTheAccount()
        }
        #expect(outcomes.isSubset(of: [0, 6]))
    }

    @Test func `logout: killed while the server is told, the next start finishes it`() async throws
    {
        let device = try await Device.restored()
        try await device.done("open", try device.account.file("notes.md").id)
        let gate = FaultGate()
        device.server.faults.add(Fault.Match(method: "DELETE"), .hold(gate))
        let command = try device.start(["logout"])
        try await gate.reached()
        command.signal(SIGKILL)
        _ = try await command.result()
        gate.open()
        let list = try await device.sync("list")
        #expect(list.exit == 6, "\(list)")
        try device.expectNothingOfTheAccount()
    }
}
