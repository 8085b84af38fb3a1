import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// What a device leaves on the server is the format's, to whoever has only its page and a passphrase.
@Suite(.timeLimit(.minutes(10))) struct ReferenceReadsTests {
    private static let passphrase = "zwölf Wörter, and no more"

    @Test func `the reference reads everything that two devices pushed, with the passphrase alone`()
        async throws
    {
        let server = try Server(serving: [])
        try server.start()
        defer { server.stop() }
        let folder = try freshFolder()
        defer { removeFolder(folder) }
        func configuration(_ name: String, _ seed: UInt64) -> EngineConfiguration {
            var made = EngineConfiguration(home: folder.path + "/" + name)
            made.clock = TestClock()
            made.random = SeededRandom(seed: seed)
            made.thumbnail = { $0.path.hasSuffix(".jpg") ? Array("a small picture".utf8) : nil }
            return made
        }
        let request = LoginRequest(
            server: "\(server.url)", account: "mina", device: "one",
            secret: .passphrase(Array(Self.passphrase.utf8)), keyStore: .file)
        _ = try await SyncEngine.createAccount(request, configuration("one", 1))
        let one = try await SyncEngine.login(request, configuration("one", 1))
        let two = try await SyncEngine.login(request, configuration("two", 2))

        // Files at each edge, one that goes in parts, a note.
        let sizes = [0, 1, 65_535, 65_536, 65_537, 300_000, 9 << 20]
        var sums: [String: String] = [:]
        var paths: [String] = []
        for size in sizes {
            let name = size == 300_000 ? "photo.jpg" : "\(size).bin"
            let path = folder.appending(path: name).path
            let bytes = Data(SeededRandom(seed: UInt64(size) + 1).bytes(size))
            try bytes.write(to: URL(filePath: path))
            sums[name] = try sha256(ofFile: path)
            paths.append(path)
        }
        _ = try await one.add(files: paths)
        let note = try await one.note("a note", "line one\nline two 🌊")
        let gone = try await one.note("to be removed")
        let together = try await one.add(title: "two files", files: Array(paths[1...2]))
        _ = try await one.push()
        let first = try Self.read(server)
        #expect(first.head.seq == 1 && first.head.count == sizes.count + 3)
        #expect(first.head.prev == String(repeating: "0", count: 64))

        // An edit, a removal, and a conflict of two devices.
        _ = try await two.restore()
        try await one.edit(note, ItemEdit(title: "renamed"))
        try await one.remove(gone)
        try await two.edit(note, ItemEdit(title: "named otherwise"))
        _ = try await one.push()
        let second = try Self.read(server)
        #expect(second.head.seq == 2 && second.head.prev == first.head.hash)
        _ = try await two.push()
        let third = try Self.read(server)
        #expect(third.head.seq == 3 && third.head.prev == second.head.hash)
        #expect(third.head.count == sizes.count + 4)
        #expect(third.unnamed == [])

        // What it read is what the devices show.
        let titles = Set(sums.keys).union([
            "two files", "named otherwise", "renamed (conflict copy)",
        ])
        #expect(Set(third.items.map(\.title)) == titles)
        #expect(third.items.count == titles.count)
        #expect(third.tombstones.map(\.id) == ["\(gone)"])
        let noted = try #require(third.items.first { $0.id == "\(note)" })
        #expect(noted.text == "line one\nline two 🌊" && noted.version == 3)
        var files = 0
        for item in third.items {
            for file in item.files {
                #expect(file.sha256 == sums[file.name], "\(file.name)")
                #expect((file.thumbSHA256 != nil) == (file.name == "photo.jpg"))
                files += 1
            }
        }
        #expect(files == sizes.count + 2)
        let both = try #require(third.items.first { $0.title == "two files" })
        #expect(both.files.map(\.id) == together.attachments.map { "\($0.id)" })
        _ = try await one.restore()
        #expect(try await Shown(one) == Shown(two))
        #expect(try await Set(Shown(one).items.keys.map { "\($0)" }) == Set(third.items.map(\.id)))
        #expect(try await one.status().head == third.head.seq)
    }

    // MARK: The reference

    private struct Account: Decodable {
        struct Head: Decodable {
            let seq: UInt64
            let count: Int
            let prev, hash: String
        }
        struct File: Decodable {
            let id, name, sha256: String
            let thumbSHA256: String?
        }
        struct Item: Decodable {
            let id, title: String
            let text: String?
            let version: Int
            let files: [File]
        }
        struct Tombstone: Decodable {
            let id: String
        }
        let head: Head
        let items: [Item]
        let tombstones: [Tombstone]
        let unnamed: [String]
    }

    private static func read(_ server: Server) throws -> Account {
        let script = Fixtures.folder.appending(path: "reference/read_account.py").path
        let out = try run(
            "/usr/bin/python3", ["-B", script, "127.0.0.1:\(server.port)", "mina"],
            input: passphrase + "\n")
        return try JSONDecoder().decode(Account.self, from: out)
    }

    /// What a program prints; it has to end well.
    private static func run(
        _ path: String, _ arguments: [String], input: String = ""
    ) throws -> Data {
        let process = Process()
        let (input, output) = (Data(input.utf8), (Pipe(), Pipe()))
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.standardInput = output.0
        process.standardOutput = output.1
        try process.run()
        try output.0.fileHandleForWriting.write(contentsOf: input)
        try output.0.fileHandleForWriting.close()
        let data = try output.1.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return data
    }
}
