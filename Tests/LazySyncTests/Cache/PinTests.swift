import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// What a person wants to have on the device whatever happens.
@Suite(.timeLimit(.minutes(10))) struct PinTests {
    @Test func `what is pinned comes at once and never makes room`() async throws {
        try await withSmallCache(files: 4) { cache in
            try await cache.limit(files: 2)
            #expect(try await cache.engine.pin(cache.keys[0]).requests == 1)
            cache.waitUntilNothingIsSafe()
            for index in [1, 2, 3] {
                try await cache.open(index)
                cache.waitUntilNothingIsSafe()
            }
            #expect(try await cache.here() == [0, 3])
            #expect(try await cache.engine.cacheUse().pinned == cache.cost)
            let error = await #expect(throws: SyncError.self) {
                try await cache.engine.evict(cache.keys[0])
            }
            #expect(error?.code == .pinned)
            #expect(try await cache.engine.evictAll().pinned == 1)
            #expect(try await cache.here() == [0])
            try await cache.engine.unpin(cache.keys[0])
            #expect(try await cache.engine.evictAll().files == 1)
        }
    }

    @Test func `a list says what is pinned`() async throws {
        try await withSmallCache(files: 2) { cache in
            _ = try await cache.engine.pin(cache.keys[0])
            let list = try await cache.engine.attachments()
            #expect(list.filter(\.isPinned).map(\.key) == [cache.keys[0]])
        }
    }

    @Test func `everything pinned is everything here, and what comes later too`() async throws {
        try await withSmallCache(files: 5) { cache in
            try await cache.engine.setAllPinned(true)
            let report = try await cache.engine.keepPinned()
            #expect(report.fetched == 5 && report.missing.isEmpty)
            #expect(report.bytes == Int64(5 * cache.size))
            #expect(try await cache.engine.keepPinned().fetched == 0)
            let account = known(cache.home.account)
            let late = account.add("A late item", TestFile("late", size: 70_000))
            account.push()
            _ = try await cache.engine.restore()
            #expect(try await cache.engine.keepPinned().fetched == 1)
            #expect(try await cache.engine.explain(late.key()).attachment.isPinned)
            try await cache.engine.setAllPinned(false)
            #expect(try await cache.engine.evictAll().files == 6)
            let later = account.add("A later item", TestFile("later", size: 70_000))
            account.push()
            _ = try await cache.engine.restore()
            #expect(try await cache.engine.explain(later.key()).attachment.isPinned == false)
        }
    }

    @Test func `a pinned attachment that does not come stops no other, and is asked for again`()
        async throws
    {
        try await withSmallCache(files: 3) { cache in
            cache.home.server.faults.add(
                .get("/v1/blobs/\(cache.record(1))"), .problem(403, code: "not-entitled"))
            try await cache.engine.setAllPinned(true)
            let report = try await cache.engine.keepPinned()
            #expect(report.fetched == 2)
            #expect(report.missing == [cache.keys[1]: .notEntitled])
            cache.home.server.faults.clear()
            #expect(try await cache.engine.keepPinned().fetched == 1)
        }
    }

    @Test func `a pinned attachment without an address is missing, and said why`() async throws {
        let account = TestAccount()
        let whole = account.add("Whole", TestFile("a", size: 70_000))
        let bare = account.add(
            "Bare", TestFile("b", size: 70_000), TestFile("c", size: 70_000))
        account.change(bare.id) {
            $0.attachments[0].ref = .absent
            $0.attachments[1].ref = .null
        }
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore()
            try await engine.setAllPinned(true)
            let seen = Locked<[PinProgress]>([])
            let report = try await engine.keepPinned { progress in
                seen.withLock { $0.append(progress) }
            }
            #expect(report.fetched == 1)
            #expect(
                report.missing == [bare.key(0): .addressMissing, bare.key(1): .addressMissing])
            #expect(try await engine.explain(whole.key()).attachment.state == .here)
            #expect(try await engine.cacheUse().pinsAll)
            let last = try #require(seen.withLock { $0.last })
            #expect(
                last
                    == PinProgress(done: 3, fetched: 1, total: 3, bytes: 70_000, totalBytes: 70_000)
            )
            try await engine.setAllPinned(false)
            #expect(try await !engine.cacheUse().pinsAll)
        }
    }

    @Test func `a pin stays when its item changes`() async throws {
        let account = TestAccount()
        let item = account.add("Before", TestFile("a", size: 70_000), TestFile("b", size: 70_000))
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore()
            _ = try await engine.pin(item.key(1))
            account.change(item.id) { $0.title = "After" }
            account.push()
            _ = try await engine.restore()
            let list = try await engine.attachments()
            #expect(list.map(\.itemTitle) == ["After", "After"])
            #expect(list.filter(\.isPinned).map(\.key) == [item.key(1)])
        }
    }
}
