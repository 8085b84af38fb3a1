import Foundation
import Testing

@testable import MockServer

/// A person without an account, at the command.
@Suite(.timeLimit(.minutes(5))) struct `A first device` {
    @Test func `makes an account, shows its recovery key once, and is logged in`() async throws {
        let server = try Server(serving: [])
        try server.start()
        defer { server.stop() }
        let scratch = try Scratch()
        let file = scratch["passphrase"]
        try Data("some words\n".utf8).write(to: file)
        func sync(_ home: String, _ words: String...) async throws -> CommandResult {
            try await Command(words + ["--home", scratch[home].path]).result()
        }
        let made = try await sync(
            "one", "create", "--server", "\(server.url)", "--account", "mina",
            "--passphrase-file", file.path, "--key-store", "file", "--json")
        #expect(made.exit == 0, "\(made)")
        let key = try #require(try made.object["recoveryKey"] as? String)
        #expect(try made.object["account"] as? String == "mina")
        #expect(try await sync("one", "restore").exit == 0)
        #expect(try await sync("one", "list").lines.isEmpty)

        // The key opens the account on the next device; a new one takes its place.
        let paper = scratch["recovery key"]
        try Data("\(key)\n".utf8).write(to: paper)
        func logIn(_ home: String) async throws -> Int32? {
            try await sync(
                home, "login", "--server", "\(server.url)", "--account", "mina",
                "--recovery-key-file", paper.path, "--key-store", "file"
            ).exit
        }
        #expect(try await logIn("two") == 0)
        let next = try await sync("two", "recovery-key", "--json")
        let new = try #require(try next.object["recoveryKey"] as? String)
        #expect(try await logIn("three") == 6)
        try Data(new.utf8).write(to: paper)
        #expect(try await logIn("three") == 0)

        try Data("other words".utf8).write(to: file)
        let changed = try await sync("two", "passphrase", "--passphrase-file", file.path)
        #expect(changed.exit == 0, "\(changed)")
        let again = try await sync(
            "four", "login", "--server", "\(server.url)", "--account", "mina",
            "--passphrase-file", file.path, "--key-store", "file")
        #expect(again.exit == 0, "\(again)")
        let taken = try await sync(
            "five", "create", "--server", "\(server.url)", "--account", "mina",
            "--passphrase-file", file.path, "--key-store", "file")
        #expect(taken.exit == 2 && taken.error.contains("taken"), "\(taken)")
    }
}
