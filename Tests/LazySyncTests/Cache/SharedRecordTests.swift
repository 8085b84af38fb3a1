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

    // MARK: What was dropped

    private func thumbnailFiles(_ home: TestHome) throws -> Int {
        let folder = try home.accountPlaces.thumbnails
        let names = FileManager.default.enumerator(atPath: folder)?.allObjects ?? []
        return names.filter { "\($0)".hasSuffix(".jpg") }.count
    }

    @Test func `a thumbnail that another attachment still has stays when one changes`() async throws
    {
        let account = TestAccount()
        let item = account.add("One", .photo("a.jpg"))
        var twin = account.add("Other", .photo("b.jpg"))
        twin = account.change(twin.id) { twin in
            var thumb = known(item.attachments[0].thumb)
            thumb.ref = account.rewrap(thumb.ref, from: item.key(), to: twin.key(), as: .thumbnail)
            twin.attachments[0].thumb = thumb
        }
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            #expect(try await engine.restore().thumbnailsHere == 2)
            #expect(try thumbnailFiles(home) == 1)
            account.change(item.id) {
                $0.attachments[0] = account.attach(
                    .photo("c.jpg", thumb: 500), to: item.id, id: item.attachments[0].id)
            }
            account.push()
            #expect(try await engine.restore().thumbnailsHere == 2)
            #expect(try thumbnailFiles(home) == 2)
            #expect(try await engine.thumbnail(twin.key()).requests == 0)
            #expect(try home.number("SELECT count(*) FROM dropped") == 0)
            // With the last one that has it, it goes.
            account.remove(twin.id)
            account.push()
            _ = try await engine.restore()
            #expect(try thumbnailFiles(home) == 1)
        }
    }

    @Test func `a thumbnail that was dropped while somebody used it, and came again, stays`()
        async throws
    {
        let account = TestAccount()
        let item = account.add("Photo", .photo("a.jpg"))
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore()
            let record = known(item.thumbRecord())
            let old = item.attachments
            var held = try TransferLocks(home.accountPlaces).tryLock(record)
            #expect(held != nil)
            account.change(item.id) {
                $0.attachments[0] = account.attach(
                    .photo("b.jpg", thumb: 500), to: item.id, id: item.attachments[0].id)
            }
            account.push()
            _ = try await engine.restore()
            #expect(try home.number("SELECT count(*) FROM dropped") == 1)
            // What it was before, by another device.
            account.change(item.id) { $0.attachments = old }
            account.push()
            #expect(try await engine.restore().thumbnailsHere == 1)
            #expect(try home.number("SELECT count(*) FROM dropped") > 0)
            withExtendedLifetime(held) {}
            held = nil
            #expect(try await engine.restore().isComplete)
            #expect(try thumbnailFiles(home) == 1)
            #expect(try await engine.thumbnail(item.key()).requests == 0)
            #expect(try home.number("SELECT count(*) FROM dropped") == 0)
        }
    }

    @Test func `the file of a thumbnail that was not noted goes when its item changes`()
        async throws
    {
        let account = TestAccount()
        let item = account.add("Photo", .photo("a.jpg"))
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore(thumbnails: false)
            // As a process leaves it that is killed before the end of its batch.
            let record = known(item.thumbRecord())
            let store = ThumbnailStore(folder: try home.accountPlaces.thumbnails)
            let content = known(account.contents[record])
            try home.accountPlaces.makeCacheFolders()
            try store.write(content.span, to: store.path(record, type: "image/jpeg"))
            account.change(item.id) {
                $0.attachments[0] = account.attach(
                    .photo("b.jpg", thumb: 500), to: item.id, id: item.attachments[0].id)
            }
            account.push()
            #expect(try await engine.restore().thumbnailsHere == 1)
            #expect(try thumbnailFiles(home) == 1)
        }
    }
}
