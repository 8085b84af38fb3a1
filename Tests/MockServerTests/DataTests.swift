import Foundation
import Testing

@testable import MockServer

/// What `--data` keeps, over ends of the server that are not announced.
@Suite struct DataTests {
    /// An account folder and a folder for `--data`, which go with this value.
    final class Folders {
        let root = FileManager.default.temporaryDirectory
            .appendingPathComponent("data-\(UUID().uuidString)")
        var account: URL { root.appendingPathComponent("account") }
        var data: String { root.appendingPathComponent("data").path }

        /// The account has entries 1 and 2 under a head of seq 1, and the blob "old".
        init() throws {
            let blobs = account.appendingPathComponent("blobs")
            try FileManager.default.createDirectory(at: blobs, withIntermediateDirectories: true)
            try Data([1, 2, 3]).write(to: blobs.appendingPathComponent("old"))
            let lines = [TestServer.entry(1, seq: 1).line, TestServer.entry(2, seq: 1).line]
            try Data(lines.joined(separator: "\n").utf8).write(
                to: account.appendingPathComponent("entries.jsonl"))
            let description: JSONTree = [
                "name": "demo", "accountId": .string(TestServer.id(5)), "epoch": 1,
                "kdf": [
                    "kdf": "argon2id13", "ops": 3, "mem": "67108864",
                    "salt": .string(Base64URL.encode([UInt8](repeating: 1, count: 16))),
                ],
                "authKeyHash": .string(Service.blake2b(TestServer.authKey).hex),
                "keyRecord": .string(TestServer.record(2)), "head": .string(Self.head),
            ]
            try Data(description.text.utf8).write(
                to: account.appendingPathComponent("account.json"))
        }

        deinit { try? FileManager.default.removeItem(at: root) }

        /// A head of seq 1 over two entries.
        static let head = TestServer.head(after: nil, count: 2, account: TestServer.id(5))

        /// Opens the account as a server that begins would.
        func open(_ disk: Disk = Disk()) throws -> ServedAccount {
            try AccountFolder.open(account, data: DataFolder(data, disk: disk))
        }

        /// Names and bytes of all files of the account folder.
        func untouched() throws -> [String: Data] {
            var files: [String: Data] = [:]
            let names = try FileManager.default.subpathsOfDirectory(atPath: account.path)
            for name in names {
                files[name] = FileManager.default.contents(atPath: account.path + "/" + name)
            }
            return files
        }
    }

    /// Entries and their versions, and the head's seq.
    static func entries(_ account: ServedAccount) -> [String: UInt64] {
        account.read { state in
            Dictionary(
                state.truth.entries.newest.map { ($0.id.hex, $0.version) },
                uniquingKeysWith: { _, _ in 0 })
        }
    }

    static func push(
        _ head: String, _ entries: [(number: Int, version: Int)]
    ) throws -> Push {
        try Push(TestServer.push(head, entries), account: TestServer.id(5))
    }

    static func head(after old: String, count: Int) -> String {
        TestServer.head(after: old, count: count, account: TestServer.id(5))
    }

    static func upload(_ bytes: [UInt8], _ account: ServedAccount, _ hold: UploadBook.Hold) throws {
        let sink = UploadSink(account, hold) { 0 }
        try bytes.withUnsafeBytes { piece in
            try Result { () throws(BodyEnd) in try sink.take(piece) }.get()
        }
    }

    static func put(_ name: String, _ bytes: [UInt8], _ account: ServedAccount) throws {
        let space = try account.beginPut(name, length: UInt64(bytes.count), .init())
        let sink = PutSink(account, name, space, largest: .max) { 0 }
        try bytes.withUnsafeBytes { piece in
            try Result { () throws(BodyEnd) in try sink.take(piece) }.get()
        }
        _ = try sink.finish()
    }

    @Test func `pushes, keys, blobs, deletions and unfinished uploads outlive the server`() throws {
        let folders = try Folders()
        let before = try folders.untouched()
        let bytes = TestServer.bytes(70_000)
        let heads = [
            Self.head(after: Folders.head, count: 3),
            Self.head(after: Self.head(after: Folders.head, count: 3), count: 3),
        ]
        do {
            let account = try folders.open()
            try account.take(Self.push(heads[0], [(3, 1), (1, 2)]), from: nil)
            try account.take(Self.push(heads[1], [(3, 2)]), from: nil)
            try Self.put("new", bytes, account)
            try Self.put("brief", bytes, account)
            for name in ["brief", "old"] { try account.delete(name) }
            let hold = try account.resume("half", length: 100, offset: 0, .init(), now: 1e12)
            try Self.upload(Array(bytes.prefix(60)), account, hold)
            _ = try account.replaceKeys(
                by: [.init(epoch: 1, record: TestServer.record(2, ops: 5))],
                authKeys: ["passphrase": TestServer.recoveryKey], ifMatch: "\"keys-1\"")
        }
        let account = try folders.open()
        #expect(
            Self.entries(account)
                == [TestServer.id(1): 2, TestServer.id(2): 1, TestServer.id(3): 2])
        try account.read { state throws in
            #expect(state.truth.head == heads[1] && state.truth.headSeq == 3)
            #expect(try state.blobs.blob("new").bytes.bytes() == bytes)
            #expect(state.blobs.names() == ["new"])
            #expect(state.blobs.isTaken("brief") && state.blobs.isTaken("old"))
            #expect(state.keys.kdf.ops == 5 && state.keys.etag == "\"keys-2\"")
            let hash = Service.blake2b(TestServer.recoveryKey).hex
            #expect(state.keys.credentials["passphrase"]?.authKeyHash == hash)
        }
        let hold = try #require(account.uploads.takeOver("half", now: 0))
        #expect(hold.offset == 60 && hold.upload.length == 100)
        try Self.upload(Array(bytes[60..<100]), account, hold)
        #expect(try account.pause(hold, now: 0))
        #expect(
            try account.read { try $0.blobs.blob("half").bytes.bytes() } == Array(bytes[..<100]))
        // The old heads are known as well, for lies.
        try account.tell(.rolledBack(2))
        #expect(account.read { $0.manifest(for: nil).head } == heads[0])
        #expect(try folders.untouched() == before)
    }

    @Test func `an account that was created is there again, beside those of folders`() throws {
        let folders = try Folders()
        let seed = try #require(
            AccountFolder.seed([
                "name": "new", "accountId": .string(TestServer.id(77)), "epoch": 1,
                "kdf": [
                    "kdf": "argon2id13", "ops": 3, "mem": "67108864",
                    "salt": .string(Base64URL.encode([UInt8](repeating: 1, count: 16))),
                ],
                "authKeyHash": "00", "keyRecord": .string(TestServer.record(2)),
            ]))
        let head = TestServer.head(after: nil, count: 1, account: TestServer.id(77))
        do {
            let data = try DataFolder(folders.data)
            let server = try Server(accounts: [folders.account], data: data)
            try server.service.registry.create(seed)
            let account = try #require(server.account("new"))
            try account.take(
                Push(TestServer.push(head, [(1, 1)]), account: TestServer.id(77)), from: nil)
        }
        let data = try DataFolder(folders.data)
        let server = try Server(accounts: [folders.account], data: data)
        #expect(server.service.accounts.map(\.name).sorted() == ["demo", "new"])
        let account = try #require(server.account("new"))
        #expect(account.read { $0.truth.head } == head)
        #expect(throws: Refusal.self) { try server.service.registry.create(seed) }
    }

    @Test func `who is logged in stays so, and who has logged out does too`() async throws {
        let folders = try Folders()
        var tokens: [String] = []
        var refreshes: [String] = []
        let login: JSONTree = [
            "account": "demo", "authKey": .string(Base64URL.encode(TestServer.authKey)),
            "device": "phone", "with": "passphrase",
        ]
        let call = { (server: Server, words: [String]) in
            try await Curl(words.dropLast() + ["\(server.url)\(words.last ?? "")"]).result()
        }
        do {
            let server = try Server(
                accounts: [folders.account], data: DataFolder(folders.data))
            try server.start()
            for _ in 0..<3 {
                let answer = try await call(server, ["-d", login.text, "/v1/sessions"]).json
                tokens.append(answer["token"]?.string ?? "")
                refreshes.append(answer["refresh"]?.string ?? "")
            }
            let gone = try await call(
                server,
                [
                    "-X", "DELETE", "-H", "Authorization: Bearer \(tokens[1])",
                    "/v1/sessions/current",
                ])
            #expect(gone.status == 204)
            // The answer to this one gets lost.
            let body = JSONTree.object([("refresh", .string(refreshes[2]))]).text
            _ = try await call(server, ["-d", body, "/v1/sessions/refresh"])
            server.stop()
        }
        let server = try Server(accounts: [folders.account], data: DataFolder(folders.data))
        try server.start()
        for (token, status) in zip(tokens, [200, 401, 200]) {
            let bearer = "Authorization: Bearer \(token)"
            #expect(try await call(server, ["-H", bearer, "/v1/keys"]).status == status)
        }
        for (refresh, status) in zip(refreshes, [200, 401, 200]) {
            let body = JSONTree.object([("refresh", .string(refresh))]).text
            let answer = try await call(server, ["-d", body, "/v1/sessions/refresh"])
            #expect(answer.status == status)
        }
        try #require(server.account("demo")).tell(.neverUsed, to: .device("phone"))
        let bearer = "Authorization: Bearer \(tokens[0])"
        #expect(try await call(server, ["-H", bearer, "/v1/manifest"]).json["head"] == .null)
    }

    @Test func `one server at a time has the folder`() throws {
        let folders = try Folders()
        let first = try DataFolder(folders.data)
        #expect(throws: SetupError.self) { try DataFolder(folders.data, patience: 0) }
        withExtendedLifetime(first) {}
    }

    @Test func `pushes that do not follow the account folder are refused at the start`() throws {
        let folders = try Folders()
        try folders.open().take(
            Self.push(Self.head(after: Folders.head, count: 3), [(3, 1)]), from: nil)
        let file = folders.account.appendingPathComponent("account.json")
        let text = try String(contentsOf: file, encoding: .utf8)
        let other = Self.head(after: Self.head(after: Folders.head, count: 9), count: 9)
        try Data(text.replacingOccurrences(of: Folders.head, with: other).utf8).write(to: file)
        #expect(throws: SetupError.self) { try folders.open() }
    }

    @Test func `a kill between any two writes leaves the old state or the new one`() throws {
        let bytes = TestServer.bytes(50_000)
        let head = Self.head(after: Folders.head, count: 3)
        let after = Self.head(after: head, count: 3)
        let newKeys = [KeyRing.Record(epoch: 1, record: TestServer.record(2, ops: 5))]
        /// What clients ask for, one after the other.
        let requests: [@Sendable (ServedAccount) throws -> Void] = [
            { try $0.take(Self.push(head, [(3, 1), (1, 2)]), from: nil) },
            { try Self.put("new", bytes, $0) },
            { account in
                let hold = try account.resume("half", length: 60, offset: 0, .init(), now: 1e12)
                try Self.upload(Array(bytes[..<40]), account, hold)
                _ = try account.pause(hold, now: 1e12)
            },
            { account in
                let hold = try account.resume("half", length: 60, offset: 40, .init(), now: 1e12)
                try Self.upload(Array(bytes[40..<60]), account, hold)
                _ = try account.pause(hold, now: 1e12)
            },
            { account in
                _ = try account.replaceKeys(
                    by: newKeys, authKeys: ["passphrase": TestServer.recoveryKey],
                    ifMatch: "\"keys-1\"")
            },
            { try $0.delete("new") }, { try $0.delete("old") },
            { try $0.take(Self.push(after, [(3, 2)]), from: nil) },
        ]
        var last = 0
        var isDone = false
        while !isDone, last < 500 {
            let folders = try Folders()
            let before = try folders.untouched()
            // How many requests were answered well before the end.
            var answered = 0
            do {
                // The steps that any start takes come before those of the requests.
                let account = try folders.open(
                    Disk(end: .freeze(after: last + Self.stepsToOpen(folders))))
                for request in requests {
                    guard (try? request(account)) != nil else { break }
                    answered += 1
                }
                isDone = answered == requests.count
            }
            try Self.check(try folders.open(), answered, bytes, [Folders.head, head, after], last)
            #expect(try folders.untouched() == before)
            last += 1
        }
        #expect(isDone && last > 25)
    }

    private static func stepsToOpen(_ folders: Folders) throws -> Int {
        let disk = Disk()
        _ = try folders.open(disk)
        return disk.steps
    }

    /// All that was answered is there; what was being done is there whole or not at all.
    private static func check(
        _ account: ServedAccount, _ answered: Int, _ bytes: [UInt8], _ heads: [String], _ last: Int
    ) throws {
        let comment = Comment("frozen after \(last) steps, \(answered) answered")
        let entries = entries(account)
        account.read { state in
            let seq = Int(state.truth.headSeq)
            #expect(state.truth.head == heads[seq - 1], comment)
            #expect(seq >= (answered >= 8 ? 3 : answered >= 1 ? 2 : 1), comment)
            #expect(seq <= (answered >= 7 ? 3 : 2), comment)
            #expect(entries[TestServer.id(3)] == [nil, nil, 1, 2][seq], comment)
            #expect(entries[TestServer.id(1)] == (seq > 1 ? 2 : 1), comment)
            #expect(state.truth.entries.count == (seq > 1 ? 3 : 2), comment)

            let new = try? state.blobs.blob("new").bytes.bytes()
            #expect(new == nil || new == bytes, comment)
            if (2..<6).contains(answered), answered != 5 { #expect(new == bytes, comment) }
            if answered >= 6 { #expect(new == nil && state.blobs.isTaken("new"), comment) }
            let half = try? state.blobs.blob("half").bytes.bytes()
            #expect(half == nil || half == Array(bytes[..<60]), comment)
            if answered >= 4 { #expect(half != nil, comment) }
            if answered == 3, half == nil {
                let hold = account.uploads.takeOver("half", now: 0)
                #expect([40, 60].contains(hold?.offset), comment)
            }
            let isNew = state.keys.etag == "\"keys-2\""
            #expect(isNew == (state.keys.kdf.ops == 5), comment)
            if answered >= 5 { #expect(isNew, comment) }
            if answered < 4 { #expect(!isNew, comment) }
            if answered < 6 { #expect((try? state.blobs.blob("old")) != nil, comment) }
            if answered >= 7 { #expect((try? state.blobs.blob("old")) == nil, comment) }
            let listed = state.blobs.names()
            #expect(listed.contains("new") == (new != nil), comment)
        }
    }
}
