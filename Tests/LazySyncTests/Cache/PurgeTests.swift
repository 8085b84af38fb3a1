import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Case C3: somebody else empties the cache, or a part of it.
@Suite(.timeLimit(.minutes(10))) struct PurgeTests {
    /// A device with six photos, of which three originals and all thumbnails are here, and a small
    /// photo that is its own thumbnail.
    private func withPhotos(
        _ body: (TestHome, SyncEngine, [TestItem]) async throws -> Void
    ) async throws {
        let account = TestAccount()
        var items = (0..<6).map {
            account.add("Photo \($0)", .photo("\($0).jpg", size: 100_000, thumb: 5_000))
        }
        items.append(account.add("Small", TestFile("small.png", size: 900, type: "image/png")))
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            #expect(try await engine.restore().isComplete)
            for item in items.prefix(3) { _ = try await engine.materialize(item.key()) }
            try await body(home, engine, items)
        }
    }

    private func empty(_ folder: String) throws {
        for name in try Directory.list(folder) { try Directory.removeTree("\(folder)/\(name)") }
    }

    private func states(_ engine: SyncEngine) async throws -> [String: Int] {
        let list = try await engine.attachments()
        return Dictionary(grouping: list) { "\($0.state.name) \($0.thumbnail?.name ?? "none")" }
            .mapValues(\.count)
    }

    @Test(arguments: ["", "/blobs and /thumbnails"])
    func `an emptied cache is noticed by whoever looks, and comes again`(part: String) async throws
    {
        try await withPhotos { home, engine, items in
            #expect(try await states(engine) == ["here here": 4, "remote here": 3])
            let places = try home.accountPlaces
            if part.isEmpty {
                try Directory.removeTree(places.cache)
            } else {
                try empty(places.blobs)
                try empty(places.thumbnails)
            }
            #expect(try await states(engine) == ["remote remote": 7])
            let use = try await engine.cacheUse()
            #expect(use.bytes == 0)
            #expect(try await engine.status().states["here"] == 0)
            try CatalogCheck(home.catalog()).run()
            let before = home.blobRequests.count
            #expect(try await engine.materialize(items[0].key()).requests == 1)
            // The thumbnails are made again.
            #expect(try await engine.restore().isComplete)
            #expect(try await states(engine) == ["here here": 2, "remote here": 5])
            #expect(home.blobRequests.count == before + 8)
        }
    }

    @Test func `purged thumbnails come with the next restore, and originals stay`() async throws {
        try await withPhotos { home, engine, _ in
            try Directory.removeTree(home.accountPlaces.thumbnails)
            #expect(try await engine.restore().isComplete)
            #expect(try await states(engine) == ["here here": 4, "remote here": 3])
            #expect(try await engine.cacheUse().thumbnails == 6 * DiskCost.file(5_000))
        }
    }

    @Test func `a marker alone that is gone costs one look at the files`() async throws {
        try await withPhotos { home, engine, _ in
            for folder in [try home.accountPlaces.blobs, try home.accountPlaces.thumbnails] {
                #expect(try FileSystem.remove(folder + "/" + AccountPlaces.marker))
            }
            #expect(try await states(engine) == ["here here": 4, "remote here": 3])
            for folder in [try home.accountPlaces.blobs, try home.accountPlaces.thumbnails] {
                #expect(try FileSystem.facts(folder + "/" + AccountPlaces.marker) != nil)
            }
        }
    }

    @Test func `room that a purge gave back is there when it is needed`() async throws {
        try await withSmallCache(files: 4) { cache in
            try await cache.limit(files: 3)
            for index in 0..<3 { try await cache.open(index) }
            // All of them were just handed out, so none may go; and all of them are gone.
            try empty(cache.home.accountPlaces.blobs)
            try await cache.open(3)
            #expect(try await cache.here() == [3])
            #expect(try await cache.engine.cacheUse().originals == cache.cost)
        }
    }

    @Test func `what is pinned comes again after a purge`() async throws {
        try await withSmallCache(files: 3) { cache in
            _ = try await cache.engine.pin(cache.keys[1])
            try Directory.removeTree(cache.home.accountPlaces.cache)
            #expect(try await cache.engine.cacheUse().pinned == 0)
            #expect(try await cache.engine.keepPinned().fetched == 1)
            #expect(try await cache.here() == [1])
        }
    }

    @Test func `a cache that is emptied in the middle of a transfer is no trouble`() async throws {
        try await withOneFile { file in
            let gate = file.server.faults.gate("middle")
            file.server.faults.add(
                file.request, times: 1, .stall(at: file.fraction(chunks: 4), gate))
            let (engine, key) = (file.engine, file.key)
            let opening = Task { try await engine.materialize(key) }
            try await gate.reached()
            try Directory.removeTree(file.home.accountPlaces.cache)
            gate.open()
            #expect(try await opening.value.size == Int64(file.content.count))
            try await file.open(requests: 0)
        }
    }

    @Test func `a thumbnail that somebody removed comes when it is asked for`() async throws {
        try await withPhotos { home, engine, items in
            let path = try await engine.thumbnail(items[2].key()).path
            try FileSystem.remove(path)
            #expect(try await engine.thumbnail(items[2].key()).requests == 1)
            #expect(try await engine.cacheUse().thumbnails == 6 * DiskCost.file(5_000))
            #expect(try FileSystem.facts(path) != nil)
        }
    }
}
