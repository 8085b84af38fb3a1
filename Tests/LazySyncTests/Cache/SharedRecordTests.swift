import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Records that are named more than once, or again after they were dropped.
@Suite(.timeLimit(.minutes(10))) struct SharedRecordTests {
    /// A device with two small photos of one record, each its own thumbnail, and all of it here.
    private func withTwins(
        _ body: (TestHome, SyncEngine, [AttachmentKey]) async throws -> Void
    ) async throws {
        let account = TestAccount()
        let item = account.add("One", TestFile("a.png", size: 9_000, type: "image/png"))
        var twin = account.add("Other", TestFile("b.png", size: 10, type: "image/png"))
        let ref = account.copy(item.key(), to: twin.id, twin.attachments[0].id)
        twin = account.change(twin.id) { item in
            item.attachments[0].size = 9_000
            item.attachments[0].ref = ref
        }
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            #expect(try await engine.restore().thumbnailsHere == 2)
            #expect(home.blobRequests.count == 1)
            try await body(home, engine, [item.key(), twin.key()])
        }
    }

    /// The states of both photos and of their thumbnails.
    private func expect(
        _ state: BlobState, _ engine: SyncEngine, _ keys: [AttachmentKey],
        location: SourceLocation = #_sourceLocation
    ) async throws {
        for key in keys {
            let attachment = try await engine.explain(key).attachment
            #expect(attachment.state == state, sourceLocation: location)
            #expect(attachment.thumbnail == state, sourceLocation: location)
        }
    }

    @Test(arguments: [0, 1])
    func `two small photos of one record say the same after it went and came again`(
        which: Int
    ) async throws {
        try await withTwins { home, engine, keys in
            try await expect(.here, engine, keys)
            _ = try await engine.evict(keys[which])
            try await expect(.remote, engine, keys)
            _ = try await engine.materialize(keys[1 - which])
            try await expect(.here, engine, keys)
            home.clock.advance(by: CacheRoom.safeSeconds)
            #expect(try await engine.evictAll().files == 1)
            try await expect(.remote, engine, keys)
            _ = try await engine.thumbnail(keys[which])
            try await expect(.here, engine, keys)
        }
    }

    @Test func `two small photos of one record are both gone with a purge, and both come again`()
        async throws
    {
        try await withTwins { home, engine, keys in
            try Directory.removeTree(home.accountPlaces.cache)
            _ = try await engine.attachments()
            try await expect(.remote, engine, keys)
            #expect(try await engine.restore().isComplete)
            try await expect(.here, engine, keys)
        }
    }

    @Test func `two small photos of one record are both not here while it is damaged`()
        async throws
    {
        try await withTwins { home, engine, keys in
            let path = try await engine.materialize(keys[0]).path
            try FileSystem.setMode(path, 0o600)
            try File(path, for: .readWriteOrCreate).write([0, 1, 2].span, at: 5)
            _ = try await engine.verify(VerifyOptions(sample: 100, repair: true))
            try await expect(.remote, engine, keys)
            #expect(try await engine.thumbnail(keys[1]).size == 9_000)
            try await expect(.here, engine, keys)
        }
    }
}
