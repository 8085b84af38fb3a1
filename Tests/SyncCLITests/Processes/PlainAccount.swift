import Foundation
import Testing

/// An account folder, and what a right client must show of it.
struct PlainAccount: Sendable {
    struct File: Sendable, Decodable {
        let id: String
        let name: String
        let type: String
        let size: Int
        let sha256: String
        let thumbSha256: String?
        /// Only in the edge cases' account: `here`, a reason, or `leftOut`.
        let expect: String?
        /// The same of the thumbnail; nil if there is none.
        let expectThumb: String?
    }

    struct Item: Sendable, Decodable {
        let id: String
        let title: String
        let attachments: [File]
    }

    private struct Facts: Decodable {
        let passphrase: String
        let recoveryKey: String
        let items: [Item]
    }

    private struct Served: Decodable {
        let name: String
        let accountId: String
    }

    let folder: URL
    let name: String
    let id: String
    let passphrase: String
    let recoveryKey: String
    let items: [Item]

    /// Reads a folder as the reference writes it.
    init(_ folder: URL) throws {
        self.folder = folder
        func read<Value: Decodable>(_ name: String) throws -> Value {
            let data = try Data(contentsOf: folder.appendingPathComponent(name))
            return try JSONDecoder().decode(Value.self, from: data)
        }
        let facts: Facts = try read("plain.json")
        let served: Served = try read("account.json")
        (name, id) = (served.name, served.accountId)
        (passphrase, recoveryKey, items) = (facts.passphrase, facts.recoveryKey, facts.items)
    }

    /// The account of 20 files of many kinds in `Fixtures`.
    static func small() throws -> PlainAccount {
        try PlainAccount(Repository.root.appendingPathComponent("Fixtures/accounts/small"))
    }

    /// The account of what no healthy first device would have written.
    static func edges() throws -> PlainAccount {
        try PlainAccount(Repository.root.appendingPathComponent("Fixtures/accounts/edges"))
    }

    /// Has the reference make an account out of a folder of files; more words go to the script.
    static func make(of files: URL, in scratch: Scratch, _ words: String...) async throws
        -> PlainAccount
    {
        let folder = scratch["account"]
        try await run(
            Repository.root.appendingPathComponent("scripts/make-account").path,
            [files.path, "--out", folder.path, "--name", "made"] + words)
        return try PlainAccount(folder)
    }

    var files: [File] { items.flatMap(\.attachments) }

    /// The file of a name.
    func file(_ name: String) throws -> File {
        try #require(files.first { $0.name == name })
    }

    /// Five megabytes, which are 80 chunks.
    var large: File {
        get throws { try file("5 MiB.bin") }
    }
}

/// The project's folder.
enum Repository {
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }
}
