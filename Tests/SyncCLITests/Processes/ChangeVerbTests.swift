import Foundation
import Testing

@testable import MockServer

/// Two homes of one account, made by the command itself.
private final class TwoHomes: Sendable {
    let scratch: Scratch
    let server: Server

    init(_ options: ServerOptions = .init()) async throws {
        scratch = try Scratch()
        server = try Server(serving: [], options: options)
        try server.start()
        try Data("some words\n".utf8).write(to: scratch["pass"])
        let login = [
            "--server", "\(server.url)", "--account", "mina", "--key-store", "file",
            "--passphrase-file", scratch["pass"].path,
        ]
        for (home, verb) in [("one", "create"), ("two", "login")] {
            let made = try await sync(home, [verb] + login + ["--device", home])
            try #require(made.exit == 0, "\(made)")
        }
    }

    deinit { server.stop() }

    func sync(_ home: String, _ words: [String], input: String = "") async throws -> CommandResult {
        // Before the words, which may end the options.
        let all = [words[0], "--home", scratch[home].path] + words.dropFirst()
        return try await Command(all, input: input).result()
    }

    func one(_ words: String..., input: String = "") async throws -> CommandResult {
        try await sync("one", words, input: input)
    }

    func two(_ words: String...) async throws -> CommandResult { try await sync("two", words) }

    func file(_ name: String, _ bytes: Data) throws -> String {
        try bytes.write(to: scratch[name])
        return scratch[name].path
    }

    /// The one word that a change prints.
    func word(_ words: String..., input: String = "") async throws -> String {
        let result = try await sync("one", words, input: input)
        try #require(result.exit == 0 && result.lines.count == 1, "\(result)")
        return result.line
    }
}

/// Changes at the command: what is printed, and how it ends.
@Suite(.serialized, .timeLimit(.minutes(5))) struct `The verbs that change` {
    private func expect(
        _ result: CommandResult, exit: Int32, _ error: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(result.exit == exit, "\(result)", sourceLocation: sourceLocation)
        #expect(result.output.isEmpty, "\(result)", sourceLocation: sourceLocation)
        #expect(result.error.contains(error), "\(result)", sourceLocation: sourceLocation)
    }

    @Test func `files of any name and kind are added, pushed, and the same elsewhere`() async throws
    {
        let homes = try await TwoHomes()
        let long = String(repeating: "x", count: 255)
        let names = ["a b.txt", "new\nline\u{1B}[2J.txt", "😀.txt", "0.bin", long, "-dash"]
        var files: [String] = []
        for (index, name) in names.enumerated() {
            let bytes = Data(repeating: UInt8(index), count: name == "0.bin" ? 0 : 1_000 + index)
            files.append(try homes.file(name, bytes))
        }
        let link = homes.scratch["link"]
        try FileManager.default.createSymbolicLink(
            at: link, withDestinationURL: homes.scratch[names[0]])
        // The same one twice is two items.
        files += [files[0], link.path]
        let added = try await homes.sync("one", ["add", "--"] + files)
        #expect(added.exit == 0 && added.lines.count == files.count, "\(added)")
        #expect(Set(added.lines).count == files.count)
        #expect(added.lines.allSatisfy { $0.utf8.count == 65 })

        let waiting = try await homes.one("list", "--json").objects
        #expect(waiting.count == files.count)
        #expect(waiting.allSatisfy { $0["upload"] as? String == "waiting" })
        #expect(try await homes.one("list").text.contains(#"new\nline\u{1B}[2J.txt"#))
        #expect(try await homes.one("list").lines.allSatisfy { $0.hasSuffix("\twaiting") })
        let status = try await homes.one("status", "--json").object
        #expect(status["outbox"] as? Int == files.count)

        let pushed = try await homes.one("push", "--json")
        let report = try pushed.object
        #expect(pushed.exit == 0 && report["items"] as? Int == files.count, "\(pushed)")
        #expect(report["waiting"] as? Int == 0 && report["head"] as? Int == 1)
        #expect(try await homes.one("list", "--json").objects.allSatisfy { $0["upload"] is NSNull })

        #expect(try await homes.two("run").exit == 0)
        for (word, file) in zip(added.lines, files) {
            let opened = try await homes.two("open", word)
            #expect(opened.exit == 0, "\(opened)")
            #expect(
                FileManager.default.contents(atPath: opened.line)
                    == FileManager.default.contents(atPath: file))
        }
    }

    @Test func `what cannot be added is named, and nothing is`() async throws {
        let homes = try await TwoHomes()
        let good = try homes.file("good", Data("x".utf8))
        let fifo = homes.scratch["fifo"].path
        #expect(mkfifo(fifo, 0o600) == 0)
        for wrong in [fifo, homes.scratch.path, good + "x"] {
            expect(try await homes.one("add", good, wrong), exit: 2, "'\(wrong)'")
        }
        let bad = try homes.file("bad", Data([0x61, 0xFF]))
        let large = try homes.file("large", Data(repeating: 0x61, count: (1 << 20) + 1))
        expect(try await homes.one("add", "--title", "t", "--text-file", bad), exit: 2, "UTF-8")
        expect(try await homes.one("add", "--title", "t", "--text-file", large), exit: 2, "more")
        let most = try homes.file("most", Data(repeating: 0x61, count: 1 << 20))
        expect(try await homes.one("add", "--title", "t", "--text-file", most), exit: 2, "hold")
        expect(try await homes.one("add"), exit: 2, "needs FILE")
        expect(try await homes.one("add", good, "--to", "01234567"), exit: 2, "no item")
        #expect(try await homes.one("items").lines.isEmpty)
    }

    @Test func `notes and files of an item are added, edited, removed, and come back`() async throws
    {
        let homes = try await TwoHomes()
        let note = try await homes.word(
            "add", "--title", "A \u{1B} note", "--text-file", "-", input: "words\n")
        let file = try homes.file("f.txt", Data("x".utf8))
        let first = try await homes.word("add", "--to", note, file)
        #expect(first.hasPrefix(note + "/"))
        expect(try await homes.one("edit", note), exit: 2, "needs --title")
        expect(try await homes.one("edit", "0123", "--title", "x"), exit: 2, "no item")
        #expect(try await homes.word("edit", note, "--text-file", "-", input: "other") == note)
        let shown = try await homes.one("show", note, "--json").object
        #expect(shown["text"] as? String == "other" && shown["title"] as? String == "A \u{1B} note")
        #expect(try await homes.one("show", note).text.contains("\twaiting\n"))
        #expect(try await homes.one("explain", first).text.contains("\nupload        waiting\n"))

        #expect(try await homes.word("remove", first) == first)
        #expect(try await homes.one("list").lines.isEmpty)
        #expect(try await homes.one("trash").line.hasPrefix(first))
        #expect(try await homes.word("untrash", String(first.suffix(32).prefix(8))) == first)
        #expect(try await homes.one("trash").lines.isEmpty)
        #expect(try await homes.one("list").lines.count == 1)
        #expect(try await homes.word("remove", String(note.prefix(8))) == note)
        expect(try await homes.one("remove", note), exit: 2, "no item or attachment")
        #expect(try await homes.one("trash", "--json").objects.first?["id"] is NSNull)
        #expect(try await homes.word("untrash", note) == note)
        expect(try await homes.one("untrash", note), exit: 2, "in the trash")
        #expect(try await homes.one("push").exit == 0)
        #expect(try await homes.two("restore").exit == 0)
        let (here, there) = (
            try await homes.one("show", note), try await homes.two("show", note, "--json").object
        )
        #expect(here.exit == 0 && there["text"] as? String == "other")
    }

    @Test func `offline, a push is exit 3, and the change still waits`() async throws {
        let homes = try await TwoHomes()
        _ = try await homes.word("add", "--title", "x")
        homes.server.stop()
        expect(try await homes.one("push"), exit: 3, "what was not sent waits")
        expect(try await homes.one("run"), exit: 3, "offline")
        #expect(try await homes.one("status", "--json").object["outbox"] as? Int == 1)
        try homes.server.start()
        #expect(try await homes.one("run", "--json").exit == 0)
        #expect(try await homes.one("status", "--json").object["outbox"] as? Int == 0)
    }

    @Test func `what the server does not take is named, and the rest goes`() async throws {
        var options = ServerOptions()
        options.limits.blob = 10_000
        let homes = try await TwoHomes(options)
        let large = try await homes.word("add", try homes.file("l", Data(count: 20_000)))
        let none = try await homes.one("push")
        #expect(none.exit == 4 && none.error.contains("\(large): tooLarge"), "\(none)")
        #expect(none.error.contains("sync: hint: "), "\(none)")
        _ = try await homes.word("add", "--title", "x")
        let some = try await homes.one("push", "--json")
        #expect(some.exit == 5, "\(some)")
        let refused = try #require(try some.object["refused"] as? [[String: Any]])
        #expect(refused.count == 1 && refused[0]["reason"] as? String == "tooLarge")
        #expect(try some.object["waiting"] as? Int == 1)
        let row = try #require(try await homes.one("list", "--json").objects.first)
        #expect(row["upload"] as? String == "refused")
        #expect(row["uploadReason"] as? String == "tooLarge")
        #expect(try await homes.one("list").line.hasSuffix("\trefused(tooLarge)"))
    }

    @Test func `a server that rolls back is exit 7 until a person trusts it`() async throws {
        let homes = try await TwoHomes()
        let note = try await homes.word("add", "--title", "first")
        #expect(try await homes.one("push").exit == 0)
        _ = try await homes.word("edit", note, "--title", "second")
        #expect(try await homes.one("push").exit == 0)
        try #require(homes.server.account("mina")).tell(.rolledBack(1))
        _ = try await homes.word("add", "--title", "mine")
        expect(try await homes.one("push"), exit: 7, "sync trust")
        let status = try await homes.one("status", "--json").object
        #expect((status["flags"] as? [String])?.contains("headMismatch") == true)
        #expect(status["outbox"] as? Int == 1)
        expect(try await homes.one("trust", "--keep", "--deletions"), exit: 2, "give one")
        let trusted = try await homes.one("trust", "--json")
        #expect(trusted.exit == 0, "\(trusted)")
        #expect(try trusted.object["decision"] as? String == "server")
        #expect(try trusted.object["verified"] as? Bool == true)
        #expect(try await homes.one("push").exit == 0)
        #expect(try await homes.one("items").text.contains("mine"))
    }

    @Test func `who watches sees what others send, and ends with a signal`() async throws {
        let homes = try await TwoHomes()
        let watching = try Command(["watch", "--json", "--home", homes.scratch["two"].path])
        try await eventually { !watching.output.isEmpty }
        _ = try await homes.word("add", "--title", "seen by the other")
        #expect(try await homes.one("push").exit == 0)
        try await eventually { watching.output.count { $0 == UInt8(ascii: "\n") } > 1 }
        watching.signal(SIGTERM)
        let result = try await watching.result()
        #expect(result.exit == 0, "\(result)")
        #expect(try await homes.two("items").text.contains("seen by the other"))
    }
}
