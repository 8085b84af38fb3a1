import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// What makes room, in which order, and what never does.
@Suite(.timeLimit(.minutes(10))) struct EvictionTests {
    @Test func `what was opened least recently makes room`() async throws {
        try await withSmallCache(files: 5) { cache in
            try await cache.limit(files: 3)
            for index in [0, 1, 2] { try await cache.open(index) }
            // Opened again, it is the newest.
            try await cache.open(0)
            cache.waitUntilNothingIsSafe()
            try await cache.open(3)
            #expect(try await cache.here() == [0, 2, 3])
            cache.waitUntilNothingIsSafe()
            try await cache.open(4)
            #expect(try await cache.here() == [0, 3, 4])
            // What went is as if nobody had asked for it, and comes again when it is opened.
            #expect(try await cache.engine.explain(cache.keys[1]).attachment.state == .remote)
            cache.waitUntilNothingIsSafe()
            #expect(try await cache.open(1).requests == 1)
        }
    }

    @Test func `the order is that of the openings, whatever the clock says`() async throws {
        try await withSmallCache(files: 4) { cache in
            try await cache.limit(files: 3)
            for index in [0, 1, 2] {
                try await cache.open(index)
                cache.home.clock.advance(by: -100_000)
            }
            try await cache.open(3)
            #expect(try await cache.here() == [1, 2, 3])
        }
    }

    /// Case C8.
    @Test func `a path that was handed out is safe for ten minutes, and no longer`() async throws {
        try await withSmallCache(files: 3) { cache in
            try await cache.limit(files: 2)
            try await cache.open(0)
            try await cache.open(1)
            cache.home.clock.advance(by: 600)
            let error = await #expect(throws: SyncError.self) { try await cache.open(2) }
            #expect(error?.code == .unavailable(.diskFull))
            #expect(try await cache.here() == [0, 1])
            #expect(cache.home.blobRequests.count == 2, "nothing was asked for in vain")
            cache.home.clock.advance(by: 61)
            try await cache.open(2)
            #expect(try await cache.here() == [1, 2])
        }
    }

    @Test func `opening again makes the time begin again`() async throws {
        try await withSmallCache(files: 2) { cache in
            try await cache.limit(files: 1)
            for _ in 0..<8 {
                try await cache.open(0)
                cache.home.clock.advance(by: 599)
                await #expect(throws: SyncError.self) { try await cache.open(1) }
            }
        }
    }

    /// Case C8.
    @Test func `a file that somebody saved into is proved and fetched again`() async throws {
        try await withSmallCache(files: 1) { cache in
            let opened = try await cache.open(0)
            try FileSystem.setMode(opened.path, 0o600)
            let file = try File(opened.path, for: .readWrite)
            try file.write([1, 2, 3].span, at: 65_536)
            #expect(try await cache.open(0).bytesFetched == 65_536, "one chunk")
        }
    }

    /// Case C2.
    @Test func `what another process uses keeps its bytes`() async throws {
        try await withSmallCache(files: 3) { cache in
            try await cache.limit(files: 2)
            try await cache.open(0)
            try await cache.open(1)
            cache.waitUntilNothingIsSafe()
            let use = try BlobUses(cache.home.accountPlaces).share(cache.record(0))
            try await cache.open(2)
            #expect(try await cache.here() == [0, 2])
            withExtendedLifetime(use) {}
        }
    }

    @Test func `nothing is evicted when it would not be enough`() async throws {
        try await withSmallCache(files: 4) { cache in
            try await cache.limit(files: 3)
            for index in [0, 1] { try await cache.open(index) }
            cache.waitUntilNothingIsSafe()
            try await cache.open(2)
            let use = try BlobUses(cache.home.accountPlaces).share(cache.record(1))
            let limit = 2 * cache.cost - 1
            try await cache.engine.catalog.setCacheLimit(limit)
            // Only the first could go, and two would have to.
            await #expect(throws: SyncError.self) { try await cache.open(3) }
            #expect(try await cache.here() == [0, 1, 2])
            withExtendedLifetime(use) {}
        }
    }

    @Test func `what could never fit is too large, before anything is asked for`() async throws {
        try await withSmallCache(files: 3) { cache in
            try await cache.engine.setCacheLimit(cache.cost - 1)
            let error = await #expect(throws: SyncError.self) { try await cache.open(0) }
            #expect(error?.code == .unavailable(.tooLarge))
            #expect(cache.home.blobRequests.isEmpty)
            #expect(
                try await cache.engine.explain(cache.keys[0]).attachment.state
                    == .unavailable(.tooLarge))
            // Nor does it with what is pinned, however much could go.
            try await cache.limit(files: 1)
            _ = try await cache.engine.pin(cache.keys[1])
            cache.waitUntilNothingIsSafe()
            let other = await #expect(throws: SyncError.self) { try await cache.open(0) }
            #expect(other?.code == .unavailable(.tooLarge))
            try await cache.engine.unpin(cache.keys[1])
            try await cache.open(0)
        }
    }

    @Test func `a lower limit lets go at once of what is not safe`() async throws {
        try await withSmallCache(files: 4) { cache in
            for index in 0..<4 { try await cache.open(index) }
            cache.waitUntilNothingIsSafe()
            try await cache.open(0)
            try await cache.limit(files: 2)
            #expect(try await cache.here() == [0, 3])
            let use = try await cache.engine.cacheUse()
            #expect(use.originals == 2 * cache.cost && use.isLimitChosen)
            try await cache.engine.setCacheLimit(nil)
            #expect(try await cache.engine.cacheUse().isLimitChosen == false)
        }
    }

    @Test func `a lower limit lets go of what it can, though it is not enough`() async throws {
        try await withSmallCache(files: 3) { cache in
            for index in 0..<3 { try await cache.open(index) }
            cache.waitUntilNothingIsSafe()
            try await cache.open(0)
            _ = try await cache.engine.pin(cache.keys[2])
            try await cache.engine.setCacheLimit(0)
            #expect(try await cache.here() == [0, 2])
        }
    }

    @Test func `what an item no longer has stays while somebody reads it, and goes then`()
        async throws
    {
        try await withSmallCache(files: 2) { cache in
            try await cache.open(0)
            let (place, record) = (try cache.place(0), cache.record(0))
            var use: FileLock.Token? = try BlobUses(cache.home.accountPlaces).share(record)
            let account = known(cache.home.account)
            account.remove(cache.keys[0].item)
            account.push()
            _ = try await cache.engine.restore()
            #expect(try place.contentPath() != nil && use != nil)
            use = nil
            _ = try await cache.engine.restore()
            #expect(try place.contentPath() == nil)
        }
    }

    @Test(.enabled(if: Stubborn.isPossible, "needs chattr"))
    func `a file that cannot be removed stays on the account`() async throws {
        try await withSmallCache(files: 3) { cache in
            try await cache.limit(files: 2)
            try await cache.open(0)
            try await cache.open(1)
            cache.waitUntilNothingIsSafe()
            let stubborn = try Stubborn(in: cache.place(0).folder)
            try await cache.open(2)
            #expect(try await cache.here() == [0, 2])
            #expect(try await cache.engine.cacheUse().originals == 2 * cache.cost)
            stubborn.relent()
            try await cache.open(1)
            #expect(try await cache.here() == [1, 2])
        }
    }

    @Test(.enabled(if: Stubborn.isPossible, "needs chattr"))
    func `what went is noted, though it was not enough`() async throws {
        try await withSmallCache(files: 3) { cache in
            try await cache.open(0)
            try await cache.open(1)
            cache.waitUntilNothingIsSafe()
            let stubborn = try Stubborn(in: cache.place(0).folder)
            // Both would have to go, and the first does not.
            try await cache.engine.catalog.setCacheLimit(cache.cost + 100)
            let error = await #expect(throws: SyncError.self) { try await cache.open(2) }
            #expect(error?.code == .unavailable(.diskFull))
            #expect(try await cache.here() == [0])
            #expect(try await cache.engine.cacheUse().originals == cache.cost)
            stubborn.relent()
            try await cache.open(2)
            #expect(try await cache.here() == [2])
        }
    }

    @Test func `a failure of one does not take back what another brought`() async throws {
        try await withSmallCache(files: 1) { cache in
            let row = try #require(try await cache.engine.catalog.attachment(cache.keys[0]))
            try await cache.open(0)
            // Whoever saw nothing here when it began, and comes late with its failure.
            try await cache.engine.catalog.markFailed(
                cache.record(0), through: row.row, seen: row.blob?.mark, .corrupt, Evidence())
            #expect(try await cache.here() == [0])
        }
    }

    @Test func `what is being fetched anew is not shown as here`() async throws {
        try await withSmallCache(files: 1) { cache in
            let opened = try await cache.open(0)
            try FileSystem.setMode(opened.path, 0o600)
            let file = try File(opened.path, for: .readWrite)
            try file.write([1, 2, 3].span, at: 65_536)
            let gate = FaultGate()
            cache.home.server.faults.add(.get("/v1/blobs/"), times: 1, .hold(gate))
            let (engine, key) = (cache.engine, cache.keys[0])
            let again = Task { try await engine.materialize(key) }
            try await gate.reached()
            #expect(try await engine.explain(key).attachment.state == .pending)
            gate.open()
            _ = try await again.value
            #expect(try await cache.here() == [0])
        }
    }

    /// Case C5.
    @Test func `evicting everything gives the disk back, and ends at once on an empty cache`()
        async throws
    {
        try await withSmallCache(files: 4) { cache in
            let before = try cache.onDisk()
            for index in 0..<4 { try await cache.open(index) }
            #expect(try cache.onDisk() > before)
            let report = try await cache.engine.evictAll()
            #expect(report.files == 4 && report.bytes == 4 * cache.cost)
            #expect(try cache.onDisk() == before)
            #expect(
                try Directory.list(cache.home.accountPlaces.blobs) == [AccountPlaces.marker])
            #expect(try await cache.here().isEmpty)
            #expect(try await cache.engine.evictAll() == EvictionReport())
            try await cache.open(2)
        }
    }

    @Test func `evicting one by word does not ask how long ago it was opened`() async throws {
        try await withSmallCache(files: 2) { cache in
            try await cache.open(0)
            #expect(try await cache.engine.evict(cache.keys[0]) == cache.cost)
            #expect(try await cache.engine.evict(cache.keys[0]) == 0)
            #expect(try await cache.engine.evict(cache.keys[1]) == 0)
            let use = try BlobUses(cache.home.accountPlaces).share(cache.record(0))
            try await cache.open(0)
            let error = await #expect(throws: SyncError.self) {
                try await cache.engine.evict(cache.keys[0])
            }
            #expect(error?.code == .busy)
            withExtendedLifetime(use) {}
        }
    }

    @Test func `what a killed process had reserved is room as soon as somebody needs it`()
        async throws
    {
        try await withSmallCache(files: 3) { cache in
            try await cache.limit(files: 2)
            try await cache.open(0)
            // It reserved the whole, and died before a byte came.
            let row = try #require(try await cache.engine.catalog.attachment(cache.keys[1]))
            try await cache.engine.materializer.room.reserve(
                cache.record(1), row: row.row, bytes: cache.cost, whole: cache.cost)
            #expect(try await cache.engine.catalog.tallies()[.cacheBytes] == Int(2 * cache.cost))
            try await cache.open(2)
            #expect(try await cache.here() == [0, 2])
            #expect(try await cache.engine.cacheUse().originals == 2 * cache.cost)
        }
    }

    @Test(arguments: [1, 2])
    func `what a killed process had reserved for a pinned file is room, and no byte of it goes`(
        whole: Int
    ) async throws {
        try await withSmallCache(files: 3, of: 20 * 65_536) { cache in
            let (engine, faults) = (cache.engine, cache.home.server.faults)
            try await engine.setCacheLimit(Int64(whole) * cache.cost + 3 * 65_536)
            let row = try #require(try await engine.catalog.attachment(cache.keys[1]))
            try await engine.catalog.pin(row: row.row, true)
            faults.add(.get("/v1/blobs/"), times: 1, .cut(at: .bytes(65_552 + 40 + 100)))
            faults.add(.get("/v1/blobs/"), .problem(403, code: "not-entitled"))
            await #expect(throws: SyncError.self) { try await cache.open(1) }
            faults.clear()
            // Another program wanted the rest of it, and died.
            try await engine.materializer.room.reserve(
                cache.record(1), row: row.row, bytes: cache.cost, whole: cache.cost)
            if whole == 2 { try await cache.open(0) }
            try await cache.open(2)
            #expect(try await cache.here() == (whole == 2 ? [0, 2] : [2]))
            let part = try cache.place(1).onDisk()
            #expect(part > 65_536)
            #expect(try await engine.cacheUse().originals == Int64(whole) * cache.cost + part)
            // Its chunk is still right.
            try await engine.setCacheLimit(4 * cache.cost)
            #expect(try await cache.open(1).bytesFetched == Int64(19 * 65_536))
        }
    }

    @Test func `what is reserved for a pinned file that comes just now is no room`() async throws {
        try await withSmallCache(files: 2) { cache in
            try await cache.limit(files: 1)
            let row = try #require(try await cache.engine.catalog.attachment(cache.keys[1]))
            try await cache.engine.catalog.pin(row: row.row, true)
            let use = try BlobUses(cache.home.accountPlaces).share(cache.record(1))
            try await cache.engine.materializer.room.reserve(
                cache.record(1), row: row.row, bytes: cache.cost, whole: cache.cost)
            let error = await #expect(throws: SyncError.self) { try await cache.open(0) }
            #expect(error?.code == .unavailable(.tooLarge))
            #expect(try await cache.engine.cacheUse().originals == cache.cost)
            withExtendedLifetime(use) {}
        }
    }

    @Test func `an interrupted transfer holds no more than its chunks`() async throws {
        try await withSmallCache(files: 1, of: 40 * 65_536) { cache in
            cache.home.server.faults.add(
                .get("/v1/blobs/"), times: 1, .cut(at: .bytes(10 * 65_552 + 40 + 100)))
            cache.home.server.faults.add(.get("/v1/blobs/"), .problem(403, code: "not-entitled"))
            await #expect(throws: SyncError.self) { try await cache.open(0) }
            let held = try await cache.engine.cacheUse().originals
            #expect(held == (try cache.place(0).onDisk()))
            let least = Int64(10 * 65_536)
            #expect(held >= least && held <= least + 65_536 + 3 * 4_096)
        }
    }
}
