import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Changes, looks and ends that come in between two steps of something longer.
@Suite struct InBetweenTests {
    @Test func `what is added to an item while others' blobs are sent goes with the next push`()
        async throws
    {
        try await withHome(TestAccount()) { home in
            home.addsFiles = true
            let engine = try await home.login()
            let item = try await engine.add(title: "x").items[0]
            _ = try await engine.push()
            try await engine.edit(item, ItemEdit(title: "y"))
            _ = try await engine.add(files: [try home.file("large", TestHome.bytes(90_000))])
            let gate = FaultGate()
            home.server.faults.add(.put("/v1/blobs/"), times: 1, .hold(gate))
            let pushing = Task { try await engine.push() }
            try await gate.reached()
            let late = TestHome.bytes(70_000, seed: 9)
            let added = try await engine.add(files: [try home.file("late", late)], to: item)
            gate.open()
            let first = try await pushing.value
            #expect(first.items == 1 && first.waiting == 1)
            let key = added.attachments[0]
            let here = try await engine.materialize(key)
            #expect(try Data(contentsOf: URL(filePath: here.path)) == Data(late))
            #expect(try await engine.push().isComplete)
            let other = try TestHome(beside: home)
            other.addsFiles = true
            let second = try await other.login()
            _ = try await second.restore()
            let there = try await second.materialize(key)
            #expect(try Data(contentsOf: URL(filePath: there.path)) == Data(late))
            try other.check()
        }
    }

    @Test func `bytes that were brought back survive a sweep that comes before them`()
        async throws
    {
        try await withHome(TestAccount()) { home in
            home.addsFiles = true
            let engine = try await home.login()
            let bytes = TestHome.bytes(80_000)
            let added = try await engine.add(files: [try home.file("a", bytes)])
            let (item, key) = (added.items[0], added.attachments[0])
            _ = try await engine.push()
            _ = try await engine.materialize(key)
            try await engine.remove(item)
            _ = try await engine.push()
            // As one who is killed after the commit.
            try await engine.change("untrash") { store in
                let trashed = try #require(try store.connection.trashed(item, nil))
                let draft = try ItemDraft(trashed.payload, using: store.decoder)
                try store.change(item, over: trashed.payload) { _ in draft }
                try store.forgetTrash(item, nil)
            }
            _ = try await engine.restore()
            home.server.faults.add(.get("/v1/blobs/"), .drop(.reset))
            let file = try await engine.materialize(key)
            #expect(try Data(contentsOf: URL(filePath: file.path)) == Data(bytes))
        }
    }

    @Test func `trusting puts what the server has removed into the trash`() async throws {
        let account = TestAccount()
        let item = account.add("theirs", TestFile("a.bin", TestHome.bytes(30_000)))
        account.push()
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore()
            account.remove(item.id)
            account.push()
            _ = try await engine.trustServer()
            #expect(try await Shown(engine).titles == [])
            #expect(try await engine.trash().map(\.title) == ["theirs"])
        }
    }

    @Test func `a decision that cannot be carried out changes nothing`() async throws {
        try await withHome(TestAccount()) { home in
            let engine = try await home.login()
            _ = try await engine.add(title: "a")
            _ = try await engine.push()
            home.server.faults.add(.all, .drop(.reset))
            await #expect(throws: SyncError.self) { try await engine.trustServer() }
            let status = try await engine.status()
            #expect(status.head == 1 && status.verified && status.flags.isEmpty)
            home.server.faults.clear()
        }
    }

    @Test func `what is pinned stays here when its push is done`() async throws {
        try await withHome(TestAccount()) { home in
            home.addsFiles = true
            let engine = try await home.login()
            try await engine.setAllPinned(true)
            let bytes = TestHome.bytes(70_000)
            let key = try await engine.add(files: [try home.file("a", bytes)]).attachments[0]
            _ = try await engine.push()
            home.server.faults.add(.get("/v1/blobs/"), .drop(.reset))
            #expect(try await engine.attachments().map(\.state) == [.here])
            let file = try await engine.materialize(key)
            #expect(try Data(contentsOf: URL(filePath: file.path)) == Data(bytes))
        }
    }

    @Test func `a file that cannot be added leaves nothing in the spool`() async throws {
        try await withHome(TestAccount()) { home in
            home.addsFiles = true
            home.configuration.thumbnail = { file in
                // As somebody who writes into it all the time.
                try? File(file.path, for: .readWrite).write([1].span, at: Int64.random(in: 0...9))
                return nil
            }
            let engine = try await home.login()
            let path = try home.file("moving.jpg", TestHome.bytes(300_000))
            let error = await #expect(throws: SyncError.self) {
                try await engine.add(title: "x", files: [path])
            }
            #expect(error?.code == .invalidInput)
            #expect(try home.packs.isEmpty)
            #expect(try await engine.verify().isRight)
        }
    }

    @Test func `a push that adds up and is not taken is a mismatch, which status tells`()
        async throws
    {
        try await withHome(TestAccount()) { home in
            let engine = try await home.login()
            _ = try await engine.add(title: "a")
            home.server.faults.add(.post("/v1/manifest"), .problem(422, code: "bad-push"))
            let error = await #expect(throws: SyncError.self) { try await engine.push() }
            #expect(error?.code == .mismatch)
            #expect(try await engine.status().flags == ["headMismatch"])
            #expect(try await engine.status().outbox == 1)
        }
    }

    @Test func `a page that says 404 to a HEAD says nothing about a blob`() async throws {
        try await withHome(TestAccount()) { home in
            home.addsFiles = true
            let engine = try await home.login()
            _ = try await engine.add(files: [try home.file("a", [1, 2, 3])])
            home.server.faults.add(.head("/v1/blobs/"), .html(404))
            let push = try await engine.push()
            #expect(push.waiting == 1 && push.refused.map(\.reason) == [.serverError])
            #expect(push.blobs == 0 && home.server.log.entries.count { $0.method == "PUT" } == 1)
            home.server.faults.clear()
            #expect(try await engine.push().isComplete)
        }
    }

    @Test func `what others removed goes from the trash after 30 days where nobody pushes`()
        async throws
    {
        let account = TestAccount()
        let item = account.add("theirs", TestFile("a.bin", TestHome.bytes(3_000)))
        account.push()
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore()
            _ = try await engine.materialize(item.key(0))
            account.remove(item.id)
            account.push()
            _ = try await engine.restore()
            home.clock.advance(by: 29 * 86_400)
            _ = try await engine.restore()
            #expect(try await engine.trash().count == 1)
            home.clock.advance(by: 2 * 86_400)
            _ = try await engine.restore()
            #expect(try await engine.trash().isEmpty)
            let record = try #require(item.record(0))
            #expect(!TrashFolder(try home.accountPlaces).holds(record))
        }
    }

    @Test func `what a full store is not even asked for rests as long as what it refused`()
        async throws
    {
        try await withHome(TestAccount()) { home in
            home.addsFiles = true
            let engine = try await home.login()
            let files = try (0..<40).map { try home.file("\($0)", [1, 2, UInt8($0)]) }
            _ = try await engine.add(files: files)
            home.server.faults.add(.put("/v1/blobs/"), .problem(507, code: "store-full"))
            _ = try await engine.push()
            let next = try #require(try await engine.catalog.nextUpload())
            #expect(next == home.clock.now + 900)
            let uploads = try await engine.attachments().map(\.upload)
            #expect(uploads.allSatisfy { $0 == .refused(.storeFull) } && uploads.count == 40)
        }
    }

    @Test func `a server that waits for nobody is not asked without a pause`() async throws {
        try await withHome(TestAccount()) { home in
            let engine = try await home.login()
            home.server.faults.add(.get("/v1/manifest/head"), .answer(status: 204))
            let watching = Task { try await engine.watch() }
            while home.clock.waits.count(where: { $0 == .seconds(1) }) < 20 { await Task.yield() }
            watching.cancel()
            try await watching.value
            let asked = home.server.log.entries.count { $0.path.hasPrefix("/v1/manifest/head") }
            #expect(asked <= home.clock.waits.count(where: { $0 == .seconds(1) }) + 1)
        }
    }

    @Test func `adding ends when it is cancelled, and leaves nothing`() async throws {
        try await withHome(TestAccount()) { home in
            let engine = try await home.login()
            let path = try home.file("large", [])
            // A sparse file: as long as it takes to seal, and no longer to make.
            try File(path, for: .readWrite).truncate(to: 1 << 36)
            let adding = Task { try await engine.add(files: [path]) }
            while try home.packs.isEmpty { await Task.yield() }
            adding.cancel()
            let error = await #expect(throws: SyncError.self) { try await adding.value }
            #expect(error?.code == .cancelled)
            _ = try await engine.add(title: "a note")
            _ = try await engine.push()
            #expect(try home.packs.isEmpty)
            #expect(try await Shown(engine).titles == ["a note"])
        }
    }
}
