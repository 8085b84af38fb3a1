import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Copies and streams need no room in the cache, and leave no wrong word about it.
@Suite struct SaveAndStreamRoomTests {
    @Test func `more than the limit is saved in one go, each file right`() async throws {
        try await withSmallCache(files: 4) { cache in
            try await cache.limit(files: 1)
            let folder = cache.home.folder.path + "/saved"
            try Directory.make(folder)
            for (index, key) in cache.keys.enumerated() {
                let path = try await cache.engine.save(key, to: folder)
                #expect(try Whole(at: path) == Whole(known(cache.home.account?.content(key))))
                #expect(try await cache.engine.cacheUse().originals <= cache.cost, "\(index)")
            }
        }
    }

    @Test func `a file that is larger than the limit is saved while it comes`() async throws {
        try await withSmallCache(files: 1) { cache in
            try await cache.engine.setCacheLimit(cache.cost - 1)
            let path = cache.home.folder.path + "/one"
            #expect(try await cache.engine.save(cache.keys[0], to: path) == path)
            #expect(try Whole(at: path) == Whole(known(cache.home.account?.content(cache.keys[0]))))
            #expect(try await cache.engine.cacheUse().originals == 0)
            #expect(try await cache.engine.explain(cache.keys[0]).attachment.state == .remote)
        }
    }

    @Test func `no name is no place to save to`() async throws {
        try await withSmallCache(files: 1) { cache in
            let error = await #expect(throws: SyncError.self) {
                try await cache.engine.save(cache.keys[0], to: "")
            }
            #expect(error?.code == .invalidInput && cache.home.blobRequests.isEmpty)
        }
    }

    @Test(.enabled(if: SmallDisk.isAllowed, "mounting is not allowed here"))
    func `a cache that cannot be written holds up neither`() async throws {
        try await withOneFile(300_000) { file in
            let places = try file.home.accountPlaces
            try? FileManager.default.removeItem(atPath: places.cache)
            let disk = try #require(try SmallDisk(at: places.cache, kilobytes: 1_000))
            disk.setReadOnly(true)
            let written = Locked(0)
            _ = try await file.engine.stream(file.key) { bytes in
                let count = bytes.count
                written.withLock { $0 += count }
            }
            #expect(written.withLock { $0 } == file.content.count)
            let path = file.home.folder.path + "/one"
            #expect(try await file.engine.save(file.key, to: path) == path)
            #expect(try Whole(at: path) == Whole(file.content))
            disk.remove()
        }
    }

    @Test func `what a dead process reserved is not told as if it were here`() async throws {
        try await withSmallCache(files: 2) { cache in
            let (row, ref) = try await cache.engine.materializer.addressed(cache.keys[0])
            try await cache.engine.materializer.room.reserve(
                ref.recordName, row: row.row, bytes: cache.cost, whole: cache.cost)
            #expect(try await cache.engine.catalog.tallies()[.cacheBytes] == Int(cache.cost))
            #expect(try await cache.engine.cacheUse().originals == 0)
            #expect(try await cache.engine.status().cache.originals == 0)
        }
    }

    @Test(.enabled(if: Stubborn.isPossible, "needs chattr"))
    func `a mark goes before its file, so that what is killed in between claims nothing`()
        async throws
    {
        try await withSmallCache(files: 2) { cache in
            for index in 0..<2 { try await cache.open(index) }
            // The file stays, as it does when the process dies before it is removed.
            let stubborn = try Stubborn(in: cache.place(0).folder)
            defer { stubborn.relent() }
            let evicted = try await cache.engine.evictAll()
            #expect(evicted.files == 1 && evicted.inUse == 1)
            #expect(try await cache.engine.explain(cache.keys[0]).attachment.state == .remote)
            #expect(try await cache.engine.cacheUse().originals == cache.cost)
        }
    }
}
