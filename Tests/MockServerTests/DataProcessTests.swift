import Foundation
import Testing

@testable import MockServer

/// `--data` as a process has it, which is killed.
@Suite struct DataProcessTests {
    /// A `mock-server` with a folder for `--data`, started again and again.
    final class Command: Sendable {
        let data = FileManager.default.temporaryDirectory
            .appendingPathComponent("data-\(UUID().uuidString)").path
        private let process = Guarded<Process?>(nil)

        deinit {
            try? end(SIGKILL)
            try? FileManager.default.removeItem(atPath: data)
        }

        /// Starts it; answers its address.
        func start(_ words: String...) throws -> String {
            let process = Process()
            process.executableURL = CommandTests.command
            process.arguments = ["--data", data] + words
            let out = Pipe()
            process.standardOutput = out
            try process.run()
            self.process.with { $0 = process }
            let line = String(decoding: out.fileHandleForReading.availableData, as: UTF8.self)
            return line.dropFirst("listening on ".count).trimmingCharacters(
                in: .whitespacesAndNewlines)
        }

        /// Ends it by a signal, and waits until it has ended.
        func end(_ signal: Int32) throws {
            let process = process.with { process in
                defer { process = nil }
                return process
            }
            guard let process else { return }
            kill(process.processIdentifier, signal)
            process.waitUntilExit()
        }

        /// Waits until it has killed itself.
        func hasKilledItself() -> Bool {
            let process = process.with { $0 }
            process?.waitUntilExit()
            return process?.terminationReason == .uncaughtSignal
                && process?.terminationStatus == SIGKILL
        }
    }

    /// Creates the account at a fresh server, and logs in.
    func begin(_ url: String) async throws -> String {
        let members = TestServer.newAccount()
        let created = try await curl("-d", JSONTree.object(members).text, "\(url)/v1/accounts")
        #expect(created.status == 201)
        return try await login(url)
    }

    /// Logs in; answers a header.
    func login(_ url: String) async throws -> String {
        let body: JSONTree = [
            "account": "new", "authKey": .string(Base64URL.encode(TestServer.authKey)),
            "device": "test", "with": "passphrase",
        ]
        let answer = try await curl("-d", body.text, "\(url)/v1/sessions")
        return "Authorization: Bearer \(answer.json["token"]?.string ?? "")"
    }

    func file(_ bytes: [UInt8], in command: Command) throws -> String {
        let path = command.data + "-body-\(UUID().uuidString)"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    @Test func `an upload goes on after kill -9 where its bytes end`() async throws {
        let command = Command()
        let url = try command.start("--control")
        let bearer = try await begin(url)
        let bytes = TestServer.bytes(3 << 20)
        let body = try file(bytes, in: command)
        defer { try? FileManager.default.removeItem(atPath: body) }
        let fault = #"{"method":"PATCH","stallBody":{"bytes":1234567,"gate":"g"}}"#
        #expect(try await curl("-d", fault, "\(url)/_mock/faults").status == 200)
        let sending = try Curl(
            ["-X", "PATCH", "--data-binary", "@\(body)", "-H", bearer]
                + TestServer.place(0, bytes.count) + ["\(url)/v1/uploads/new"])
        // Asking takes over, so the file is looked at instead.
        let partial = "\(command.data)/\(TestServer.id(77))/uploads/new.\(bytes.count)"
        try await until { FileBytes(path: partial)?.count == 1_234_567 }
        try command.end(SIGKILL)
        #expect(try await sending.result().exit != 0)

        let second = try command.start()
        let again = try await login(second)
        let head = try await curl("-I", "-H", again, "\(second)/v1/uploads/new")
        #expect(head.header("Upload-Offset") == "1234567")
        #expect(head.header("Upload-Length") == "\(bytes.count)")
        #expect(try await curl("-H", again, "\(second)/v1/blobs/new").status == 404)
        let rest = try file(Array(bytes[1_234_567...]), in: command)
        defer { try? FileManager.default.removeItem(atPath: rest) }
        let last = try await Curl(
            ["-X", "PATCH", "--data-binary", "@\(rest)", "-H", again]
                + TestServer.place(1_234_567, bytes.count) + ["\(second)/v1/uploads/new"]
        ).result()
        #expect(last.status == 201)
        try command.end(SIGKILL)

        let third = try command.start()
        #expect(
            try await curl("-H", try await login(third), "\(third)/v1/blobs/new").body == bytes)
    }

    /// A push is four steps: a file, its two halves, its name.
    @Test(arguments: 0...3)
    func `a push that kill -9 interrupts has not happened, and can be made again`(
        step: Int
    ) async throws {
        let command = Command()
        let before = try command.start()
        _ = try await begin(before)
        try command.end(SIGTERM)
        // Every start makes the folders that are missing: one for all, and five of the account.
        let url = try command.start("--kill-after", "\(1 + 5 + step)")
        let head = TestServer.head(after: nil, count: 2, account: TestServer.id(77))
        let push = TestServer.push(head, [(1, 1), (2, 1)]).text
        let cut = try await curl("-H", try await login(url), "-d", push, "\(url)/v1/manifest")
        #expect(cut.status == 0 && command.hasKilledItself())

        let second = try command.start()
        let bearer = try await login(second)
        let page = try await curl("-H", bearer, "\(second)/v1/manifest")
        #expect(page.text == #"{"entries":[],"next":null,"head":null}"#)
        let made = try await curl("-H", bearer, "-d", push, "\(second)/v1/manifest")
        #expect(made.status == 200)
        try command.end(SIGKILL)

        let third = try command.start()
        let last = try await login(third)
        let again = try await curl("-H", last, "-d", push, "\(third)/v1/manifest")
        #expect(again.status == 200)
        let stored = try await curl("-H", last, "\(third)/v1/manifest")
        #expect(stored.json["entries"]?.array?.count == 2 && stored.json["head"] == .string(head))
    }

    @Test func `a put that kill -9 interrupts leaves nothing, and can be made again`() async throws
    {
        let command = Command()
        let url = try command.start("--control")
        let bearer = try await begin(url)
        let bytes = TestServer.bytes(1 << 20)
        let body = try file(bytes, in: command)
        defer { try? FileManager.default.removeItem(atPath: body) }
        let fault = #"{"method":"PUT","stallBody":{"bytes":500000,"gate":"g"}}"#
        #expect(try await curl("-d", fault, "\(url)/_mock/faults").status == 200)
        let put = { (url: String, bearer: String) in
            try Curl([
                "-X", "PUT", "--data-binary", "@\(body)", "-H", bearer, "-H", "If-None-Match: *",
                "\(url)/v1/blobs/new",
            ])
        }
        let sending = try put(url, bearer)
        let uploads = "\(command.data)/\(TestServer.id(77))/uploads"
        try await until {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: uploads)) ?? []
            return names.contains { FileBytes(path: "\(uploads)/\($0)")?.count == 500_000 }
        }
        try command.end(SIGKILL)
        _ = try await sending.result()

        let second = try command.start()
        let again = try await login(second)
        #expect(try FileManager.default.contentsOfDirectory(atPath: uploads) == [])
        #expect(try await curl("-H", again, "\(second)/v1/blobs").json["blobs"] == [])
        #expect(try await put(second, again).result().status == 201)
        #expect(try await curl("-H", again, "\(second)/v1/blobs/new").body == bytes)
    }

    /// Asks again and again, as nobody tells when another process has written.
    func until(_ condition: () throws -> Bool) async throws {
        for _ in 0..<3_000 {
            if try condition() { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        throw Watched<Int>.TimedOut()
    }
}
