import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// What a change names although nothing else holds it at the store.
@Suite struct BorrowedTests {
    private func removeAtStore(_ record: String, _ home: TestHome) async throws {
        let engine = try #require(home.livingEngines.first)
        try await engine.opened.writer().delete(record)
    }

    @Test func `an item that was brought back is sealed again where the store has let it go`()
        async throws
    {
        try await withHome(TestAccount()) { home in
            home.addsFiles = true
            let engine = try await home.login()
            let bytes = TestHome.bytes(150_000)
            let added = try await engine.add(files: [try home.file("a.bin", bytes)])
            let (item, key) = (added.items[0], added.attachments[0])
            _ = try await engine.push()
            let record = try #require(try await engine.explain(key).recordName)
            _ = try await engine.materialize(key)
            try await engine.remove(item)
            _ = try await engine.push()
            try await removeAtStore(record, home)
            try await engine.untrash(item)
            let push = try await engine.push()
            #expect(push.isComplete && push.blobs == 1)
            #expect(try await engine.explain(key).recordName != record)
            let other = try TestHome(beside: home)
            other.addsFiles = true
            let second = try await other.login()
            _ = try await second.restore()
            let file = try await second.materialize(key)
            #expect(try Data(contentsOf: URL(filePath: file.path)) == Data(bytes))
            try other.check()
        }
    }

    @Test func `where its bytes are nowhere it waits, and others go`() async throws {
        try await withHome(TestAccount()) { home in
            home.addsFiles = true
            let engine = try await home.login()
            let added = try await engine.add(files: [try home.file("a.bin", [1, 2, 3])])
            let (item, key) = (added.items[0], added.attachments[0])
            _ = try await engine.push()
            let record = try #require(try await engine.explain(key).recordName)
            try await engine.remove(item)
            _ = try await engine.push()
            try await removeAtStore(record, home)
            try await engine.untrash(item)
            _ = try await engine.add(title: "a note")
            let push = try await engine.push()
            #expect(push.items == 1 && push.waiting == 1)
            #expect(push.refused.map(\.reason) == [.notFound] && push.refused[0].key == key)
            // Without it, the item goes.
            try await engine.remove(key)
            #expect(try await engine.push().isComplete)
        }
    }

    @Test func `an edit asks for nothing that the server's version names`() async throws {
        try await withHome(TestAccount()) { home in
            home.addsFiles = true
            let engine = try await home.login()
            let added = try await engine.add(files: [try home.file("a.bin", [1, 2, 3])])
            _ = try await engine.push()
            home.server.log.clear()
            try await engine.edit(added.items[0], ItemEdit(title: "b"))
            _ = try await engine.push()
            #expect(!home.server.log.entries.contains { $0.method == "HEAD" })
        }
    }
}
