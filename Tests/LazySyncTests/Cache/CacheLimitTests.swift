import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// The limit as a value, and that it holds at every moment.
@Suite(.timeLimit(.minutes(10))) struct CacheLimitTests {
    @Test func `the usual limit is two gibibytes or a tenth of the disk`() {
        #expect(CacheLimit(chosen: nil, diskBytes: 1 << 40).bytes == 2 << 30)
        #expect(CacheLimit(chosen: nil, diskBytes: 10 << 30).bytes == 1 << 30)
        #expect(CacheLimit(chosen: 5, diskBytes: 10 << 30).bytes == 5)
    }

    @Test func `what is over the limit or the disk has to go, whichever is more`() {
        let limit = CacheLimit(chosen: 1_000, diskBytes: 20_000)
        #expect(limit.keptFree == 1_000)
        let roomy = CacheLimit.Use(originals: 600, thumbnails: 100, free: 10_000)
        #expect(limit.excess(roomy, need: 300) == 0)
        #expect(limit.excess(roomy, need: 301) == 1)
        let full = CacheLimit.Use(originals: 0, thumbnails: 0, free: 1_100)
        #expect(limit.excess(full, need: 100) == 0)
        #expect(limit.excess(full, need: 150) == 50)
    }

    @Test(arguments: [0, 1, 4_095, 4_096, 4_097, 65_536, 65_537, 5 << 20])
    func `what a file takes on the disk is at most what is counted`(size: Int) async throws {
        try await withSmallCache(files: 1, of: size) { cache in
            try await cache.open(0)
            #expect(try cache.onDisk() <= cache.cost)
            #expect(try await cache.engine.cacheUse().originals == cache.cost)
        }
    }

    /// Case C1, a tenth of the size.
    @Test func `the disk use stays below the limit while six workers open forty times as much`()
        async throws
    {
        let size = 8 * 65_536
        try await withSmallCache(files: 120, of: size) { cache in
            let limit = 20 * cache.cost
            try await cache.engine.setCacheLimit(limit)
            let pinned = cache.keys[7]
            _ = try await cache.engine.pin(pinned)
            let peak = Locked(Int64(0))
            let (keys, clock) = (cache.keys, cache.home.clock)
            let blobs = try cache.home.accountPlaces.blobs
            var engines: [SyncEngine] = []
            for _ in 0..<6 { engines.append(try await cache.home.open()) }
            try await withThrowingTaskGroup { group in
                for (worker, engine) in engines.enumerated() {
                    group.addTask {
                        for index in stride(from: worker, to: keys.count, by: 6) {
                            _ = try await engine.materialize(keys[index]) { _, _ in
                                let now = (try? SmallCache.onDisk(blobs)) ?? 0
                                peak.withLock { $0 = max($0, now) }
                            }
                            // Time goes on, so that what was opened is not safe for ever.
                            clock.advance(by: 60)
                        }
                    }
                }
                try await group.waitForAll()
            }
            let highest = peak.withLock { $0 }
            #expect(highest > limit / 2 && highest <= limit, "peak \(highest) of \(limit)")
            #expect(try await cache.engine.explain(pinned).attachment.state == .here)
        }
    }

    @Test func `two programs cannot promise the same room`() async throws {
        try await withSmallCache(files: 8) { cache in
            try await cache.limit(files: 3)
            let engines = [cache.engine, try await cache.home.open()]
            await withTaskGroup { group in
                for (index, key) in cache.keys.enumerated() {
                    let engine = engines[index % 2]
                    group.addTask { _ = try? await engine.materialize(key) }
                }
            }
            #expect(try await cache.here().count == 3)
            #expect(try cache.onDisk() <= 3 * cache.cost)
        }
    }
}
