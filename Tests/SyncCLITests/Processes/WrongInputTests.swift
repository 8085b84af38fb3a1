import Foundation
import Testing

@testable import MockServer

/// One clear line, the exit code that the help promises, and nothing half written.
@Suite(.serialized, .timeLimit(.minutes(10))) struct `Wrong input` {
    /// What a failure looks like: at most two lines, no result, the code.
    private func expect(
        _ result: CommandResult, exit: Int32, _ error: String? = nil, hint: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(result.exit == exit, "\(result)", sourceLocation: sourceLocation)
        #expect(result.output.isEmpty, "\(result)", sourceLocation: sourceLocation)
        let lines = result.error.split(separator: "\n")
        let isClear =
            (1...2).contains(lines.count) && lines[0].hasPrefix("sync: error: ")
            && lines.dropFirst().allSatisfy { $0.hasPrefix("sync: hint: ") }
            && error.map { lines[0].contains($0) } ?? true
            && hint.map { lines.count == 2 && lines[1].contains($0) } ?? true
        #expect(isClear, "\(result)", sourceLocation: sourceLocation)
    }

    // MARK: Logging in

    @Test func `a wrong passphrase or an unknown account is refused, and tells them not apart`()
        async throws
    {
        let device = try Device()
        try Data("correct horse battery stable\n".utf8).write(to: device.passphraseFile)
        let wrong = try await device.sync(device.loginWords())
        expect(wrong, exit: 6, "the server refused", hint: "check the account's name")
        try device.expectNothingOfTheAccount()
        let words = device.loginWords().map { $0 == "small" ? "nobody" : $0 }
        let unknown = try await device.sync(words)
        expect(unknown, exit: 6, "the server refused")
        #expect(unknown.error == wrong.error)
        try device.expectNothingOfTheAccount()
    }

    @Test func `a mistyped recovery key is found out before the server sees anything of it`()
        async throws
    {
        let device = try Device()
        let good = device.account.recoveryKey
        let mistyped = [
            String(good.dropLast()), good + "0", good.replacing("D", with: "E", maxReplacements: 1),
            String(good.prefix(9)) + String(good.dropFirst(9).prefix(2).reversed())
                + String(good.dropFirst(11)),
        ]
        for key in mistyped {
            let result = try await device.sync(
                [
                    "login", "--server", "\(device.server.url)", "--account", "small",
                    "--key-store", "file", "--recovery-key-file", "-",
                ], input: key)
            expect(result, exit: 2, "not a recovery key", hint: "mistyped")
        }
        #expect(!device.server.log.entries.contains { $0.method == "POST" })
        try device.expectNothingOfTheAccount()
    }

    @Test func `a server that is not there, or whose name is not`() async throws {
        let device = try Device()
        device.server.stop()
        expect(
            try await device.sync(device.loginWords()), exit: 3, "offline", hint: "connection")
        let nowhere = device.loginWords(server: "https://nowhere.invalid")
        expect(try await device.sync(nowhere), exit: 3, "offline", hint: "connection")
        try device.expectNothingOfTheAccount()
    }

    @Test(arguments: [
        "not a url", "notes.example", "ftp://notes.example", "http://", "",
        "http://192.0.2.1:8080", "http://notes.example", "https://notes.example/?a=b",
        "https://user:secret@notes.example", "http://127.0.0.1:99999",
    ])
    func `what is no address, or would send a login over an open line`(url: String) async throws {
        let device = try Device()
        let result = try await device.sync(device.loginWords(server: url))
        expect(result, exit: 2, "not a server's address", hint: "https://")
        #expect(!result.error.contains("secret"))
        try device.expectNothingOfTheAccount()
    }

    @Test func `words that do not fit are refused before anything happens`() async throws {
        let device = try Device()
        let login = device.loginWords()
        let wrong: [([String], String)] = [
            ([], "no verb"), (["frobnicate"], "unknown verb 'frobnicate'"),
            (["list", "--frob"], "unknown option '--frob'"), (["list", "--limit", "0"], "--limit"),
            (["list", "--limit", "many"], "--limit"), (["list", "--state", "gone"], "--state"),
            (["open"], "needs ID"), (["open", "a", "b"], "too many words"),
            (["retry"], "ID or --all"),
            (["save", "4f2a"], "--to"), (["restore", "--limit-rate", "fast"], "--limit-rate"),
            (login.map { $0 == "file" ? "safe" : $0 }, "--key-store is"),
            (["login", "--server", "x"], "--account"),
            (login + ["--recovery-key-file", "x"], "not both"),
            (login.map { $0 == device.passphraseFile.path ? "/nonexistent" : $0 }, "no such file"),
        ]
        for (words, error) in wrong {
            let result =
                words.isEmpty ? try await Command(words).result() : try await device.sync(words)
            expect(result, exit: 2, error)
        }
        try Data("\n".utf8).write(to: device.passphraseFile)
        expect(try await device.sync(login), exit: 2, "empty")
        #expect(device.server.log.entries.isEmpty)
        #expect(device.files.isEmpty)
    }

    @Test func `another account while one is open is told to log out first`() async throws {
        let device = try await Device.restored()
        let words = device.loginWords().map { $0 == "small" ? "other" : $0 }
        expect(try await device.sync(words), exit: 2, "small", hint: "sync logout")
        #expect(try await device.done("list").lines.count == 20)
    }

    @Test func `nobody is logged in`() async throws {
        let device = try Device()
        let verbs = [
            ["list"], ["items"], ["show", "4f2a"], ["open", "4f2a"], ["thumb", "4f2a"],
            ["explain", "4f2a"], ["retry", "--all"], ["status"], ["restore"], ["logout"],
            ["save", "4f2a", "--to", device.scratch.path],
        ]
        for words in verbs {
            expect(try await device.sync(words), exit: 6, "nobody is logged in", hint: "sync login")
        }
        #expect(device.files.isEmpty)
    }

    // MARK: Ids

    @Test func `an id that is not there, or that two have`() async throws {
        let device = try await Device.restored()
        let file = try device.account.file("notes.md")
        let wrong = file.id.hasPrefix("0") ? "1" : "0"
        let ids = ["open", "thumb", "explain", "retry"]
        for verb in ids {
            expect(
                try await device.sync(verb, wrong + file.id.dropFirst()), exit: 2, "no attachment")
            expect(try await device.sync(verb, "xyzzy"), exit: 2, "not an id", hint: "hex")
            expect(try await device.sync(verb, "4f2"), exit: 2, "not an id", hint: "hex")
            expect(try await device.sync(verb, file.id + "0"), exit: 2, "not an id")
        }
        expect(try await device.sync("show", wrong + file.id.dropFirst()), exit: 2, "no item")
        expect(
            try await device.sync("save", "xyzzy", "--to", device.scratch.path), exit: 2,
            "not an id")
    }

    @Test func `a beginning of two ids is answered with both`() async throws {
        // Of 150 attachments that are made from this seed, two begin with the same four digits.
        let scratch = try Scratch()
        let files = scratch["files"]
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: false)
        for number in 0..<150 {
            try Data("x".utf8).write(to: files.appendingPathComponent("\(number).txt"))
        }
        let account = try await PlainAccount.make(of: files, in: scratch, "--seed", "23")
        let device = try await Device.restored(serving: account)
        let groups = Dictionary(grouping: account.files.map(\.id)) { $0.prefix(4) }
        let twins = try #require(groups.values.first { $0.count > 1 })
        let result = try await device.sync("open", String(twins[0].prefix(4)))
        expect(result, exit: 2, "could be")
        for id in twins { #expect(result.error.contains(id)) }
    }

    // MARK: The home

    @Test func `a home that cannot be written is said, and nothing is sent`() async throws {
        let device = try Device()
        try Data().write(to: device.scratch["file"])
        for home in [device.scratch["file"].path + "/home", "/proc/nonexistent/home"] {
            let result = try await Command(device.loginWords() + ["--home", home]).result()
            expect(result, exit: 3, String(home.dropLast(5)), hint: "permissions")
        }
        #expect(device.server.log.entries.isEmpty)
    }

    @Test(.enabled(if: getuid() != 0, "root writes everywhere"))
    func `a home in a folder that is read-only is said`() async throws {
        let device = try Device()
        try FileManager.default.createDirectory(
            at: device.scratch["home"], withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o500])
        let result = try await device.sync(device.loginWords())
        expect(result, exit: 3, device.home, hint: "permissions")
        #expect(device.server.log.entries.isEmpty)
    }

    @Test(arguments: ["text", "empty", "another program's database", "damaged"])
    func `a file that is not a catalog is named, and stays as it is`(kind: String) async throws {
        let device = try await Device.restored()
        let catalog = try device.file("catalog.sqlite")
        for suffix in ["-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: catalog.path + suffix)
        }
        switch kind {
        case "text": try Data("this is not a database\n".utf8).write(to: catalog)
        case "empty": try Data().write(to: catalog)
        case "damaged":
            var bytes = try Data(contentsOf: catalog)
            for offset in 0..<64 { bytes[offset] = 0xAA }
            try bytes.write(to: catalog)
        default:
            try FileManager.default.removeItem(at: catalog)
            try await run(
                "/usr/bin/sqlite3", [catalog.path, "CREATE TABLE t(x); INSERT INTO t VALUES(1)"])
        }
        let before = try Data(contentsOf: catalog)
        for words in [["list"], ["restore"], ["open", "4f2a"], ["status"]] {
            expect(try await device.sync(words), exit: 2, catalog.path, hint: "log out")
        }
        #expect(try Data(contentsOf: catalog) == before)
        // What the hint says works.
        let logout = try await device.sync("logout")
        #expect(logout.exit == 0, "\(logout)")
        try device.expectNothingOfTheAccount()
    }

    @Test func `a catalog of a newer version is refused and not touched`() async throws {
        let device = try await Device.restored()
        let catalog = try device.file("catalog.sqlite")
        try await run("/usr/bin/sqlite3", [catalog.path, "PRAGMA user_version = 99"])
        func data() throws -> [String: Data] {
            let files = device.files.filter { $0.hasPrefix("data/") && !$0.contains("/locks/") }
            return Dictionary(
                uniqueKeysWithValues: try files.map { path in
                    (
                        path,
                        try Data(contentsOf: device.scratch["home"].appendingPathComponent(path))
                    )
                })
        }
        let before = try data()
        let id = try device.account.file("notes.md").id
        for words in [["list"], ["status"], ["restore"], ["open", id], device.loginWords()] {
            expect(try await device.sync(words), exit: 8, "version 99", hint: "update")
        }
        // Opening it to read its version may leave SQLite's own files beside it, without a byte in the log.
        let after = try data().filter { !$0.key.hasSuffix("-shm") && !$0.value.isEmpty }
        #expect(after == before)
    }

    @Test func `settings that are not ours are named`() async throws {
        let device = try await Device.restored()
        let settings = try device.file("settings.json")
        try Data("{\"version\":1".utf8).write(to: settings)
        expect(try await device.sync("list"), exit: 3, "settings.json", hint: "log in again")
        try Data("{\"version\":2}".utf8).write(to: settings)
        expect(try await device.sync("list"), exit: 8, "newer version")
        #expect(try Data(contentsOf: settings) == Data("{\"version\":2}".utf8))
    }
}
