import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// What a lack of room had to say is taken back when there is room again.
@Suite struct RoomAgainTests {
    private func state(_ cache: SmallCache, _ index: Int) async throws -> BlobState {
        try await cache.engine.explain(cache.keys[index]).attachment.state
    }

    @Test func `what was too large is not any more, once the limit is higher`() async throws {
        try await withSmallCache(files: 2) { cache in
            try await cache.engine.setCacheLimit(cache.cost - 1)
            await #expect(throws: SyncError.self) { try await cache.open(0) }
            #expect(try await state(cache, 0) == .unavailable(.tooLarge))
            #expect(try await cache.engine.status().states["unavailable"] == 1)
            try await cache.limit(files: 1)
            #expect(try await state(cache, 0) == .remote)
            #expect(try await cache.engine.status().states["unavailable"] == 0)
        }
    }

    @Test func `nor when what was pinned is not any more`() async throws {
        try await withSmallCache(files: 2) { cache in
            try await cache.limit(files: 1)
            _ = try await cache.engine.pin(cache.keys[1])
            await #expect(throws: SyncError.self) { try await cache.open(0) }
            #expect(try await state(cache, 0) == .unavailable(.tooLarge))
            try await cache.engine.unpin(cache.keys[1])
            #expect(try await state(cache, 0) == .remote)
        }
    }

    @Test func `what found the cache full does not say so when something was evicted`()
        async throws
    {
        try await withSmallCache(files: 2) { cache in
            try await cache.limit(files: 1)
            try await cache.open(1)
            let error = await #expect(throws: SyncError.self) { try await cache.open(0) }
            // It is not the disk that is full, and a person can do something else about it.
            #expect(error?.hint?.contains("the cache's limit") == true)
            #expect(try await state(cache, 0) == .unavailable(.diskFull))
            _ = try await cache.engine.evict(cache.keys[1])
            #expect(try await state(cache, 0) == .remote)
        }
    }

    @Test func `a pin is told to every list, and so is its end`() async throws {
        try await withSmallCache(files: 1) { cache in
            try await cache.open(0)
            var changes = cache.engine.changes().makeAsyncIterator()
            _ = try await cache.engine.pin(cache.keys[0])
            #expect(await changes.next() == .attachment(cache.keys[0], .here, bytes: 0))
            try await cache.engine.unpin(cache.keys[0])
            #expect(await changes.next() == .attachment(cache.keys[0], .here, bytes: 0))
        }
    }
}
