import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Thumbnails have a share of the cache of their own, and the newest of them stay.
@Suite(.timeLimit(.minutes(10))) struct ThumbnailShareTests {
    /// A device with photos of which each thumbnail takes three blocks.
    private struct Photos {
        let home: TestHome
        let engine: SyncEngine
        let items: [TestItem]

        static let size = 10_000
        static let cost = DiskCost.file(10_000)

        /// Sets the limit so that this many thumbnails are a quarter of it.
        func limit(thumbnails count: Int) async throws {
            try await engine.setCacheLimit(4 * Int64(count) * Self.cost)
        }

        /// Restores, and answers what the thumbnails took on the disk at the most.
        func restore() async throws -> (report: RestoreReport, peak: Int64) {
            let folder = try home.accountPlaces.thumbnails
            let peak = Locked(Int64(0))
            let report = try await engine.restore { _ in
                let now = (try? SmallCache.onDisk(folder)) ?? 0
                peak.withLock { $0 = max($0, now) }
            }
            return (report, peak.withLock { $0 })
        }

        func onDisk() throws -> Int64 { try SmallCache.onDisk(home.accountPlaces.thumbnails) }

        /// The items whose thumbnails are here, by their number.
        func here(_ more: [TestItem] = []) async throws -> [Int] {
            var found: [Int] = []
            for (number, item) in (items + more).enumerated() {
                let attachment = try await engine.explain(item.key()).attachment
                #expect(attachment.thumbnail == .here || attachment.thumbnail == .remote)
                if attachment.thumbnail == .here { found.append(number) }
            }
            return found
        }
    }

    private func withPhotos(
        _ count: Int, _ body: (Photos) async throws -> Void
    ) async throws {
        let account = TestAccount()
        let items = (0..<count).map {
            account.add("Photo \($0)", .photo("\($0).jpg", size: 300_000, thumb: Photos.size))
        }
        account.push()
        try await withHome(account) { home in
            try await body(Photos(home: home, engine: try await home.enter(), items: items))
        }
    }

    @Test func `they never take more than their share, and the newest are those that stay`()
        async throws
    {
        try await withPhotos(50) { photos in
            try await photos.limit(thumbnails: 20)
            let share = 20 * Photos.cost
            let first = try await photos.restore()
            // What does not fit is no failure.
            #expect(first.report.isComplete && first.report.thumbnailsHere == 20)
            #expect(first.peak > share / 2 && first.peak <= share)
            #expect(photos.home.blobRequests.count == 20, "nothing came in vain")
            #expect(try await photos.here() == Array(30..<50))
            let account = known(photos.home.account)
            let late = (0..<8).map {
                account.add("Late \($0)", .photo("late \($0).jpg", thumb: Photos.size))
            }
            account.push()
            let second = try await photos.restore()
            #expect(second.report.isComplete && second.peak <= share)
            #expect(try await photos.here(late) == Array(38..<58))
            #expect(try photos.onDisk() == share)
            #expect(try await photos.engine.cacheUse().thumbnails == share)
            let third = try await photos.restore()
            #expect(third.report.isComplete && photos.home.blobRequests.count == 28)
        }
    }

    @Test func `older ones do not push out newer ones`() async throws {
        try await withPhotos(6) { photos in
            try await photos.limit(thumbnails: 6)
            _ = try await photos.restore()
            let old = known(photos.home.account).add(
                "Old", .photo("old.jpg", thumb: Photos.size), created: "2001-01-01T00:00:00Z")
            known(photos.home.account).push()
            #expect(try await photos.restore().report.isComplete)
            #expect(try await photos.here([old]) == Array(0..<6))
        }
    }

    @Test func `one that did not fit comes when it is asked for, and the oldest make room`()
        async throws
    {
        try await withPhotos(8) { photos in
            try await photos.limit(thumbnails: 4)
            _ = try await photos.restore()
            #expect(try await photos.here() == [4, 5, 6, 7])
            let file = try await photos.engine.thumbnail(photos.items[0].key())
            #expect(file.size == Int64(Photos.size) && file.requests == 1)
            #expect(try await photos.here() == [0, 5, 6, 7])
            #expect(try photos.onDisk() == 4 * Photos.cost)
        }
    }

    @Test func `those that a person looks at do not push each other out`() async throws {
        try await withPhotos(12) { photos in
            try await photos.limit(thumbnails: 4)
            _ = try await photos.restore()
            let asked = photos.home.blobRequests.count
            // Back and forth in an old part of the list.
            for number in [0, 1, 2, 0, 1, 2, 1] {
                _ = try await photos.engine.thumbnail(photos.items[number].key())
            }
            #expect(photos.home.blobRequests.count == asked + 3, "each came once")
            #expect(try await photos.here() == [0, 1, 2, 11])
            // When nothing else is left, the one goes that was looked at least recently.
            for number in [3, 4] {
                _ = try await photos.engine.thumbnail(photos.items[number].key())
            }
            #expect(try await photos.here() == [1, 2, 3, 4])
            #expect(try photos.onDisk() == 4 * Photos.cost)
            _ = try await photos.engine.thumbnail(photos.items[2].key())
            _ = try await photos.engine.thumbnail(photos.items[5].key())
            #expect(try await photos.here() == [2, 3, 4, 5])
        }
    }

    @Test func `newer ones push out what somebody looked at last of all`() async throws {
        try await withPhotos(6) { photos in
            try await photos.limit(thumbnails: 4)
            _ = try await photos.restore()
            _ = try await photos.engine.thumbnail(photos.items[0].key())
            #expect(try await photos.here() == [0, 3, 4, 5])
            let account = known(photos.home.account)
            var late: [TestItem] = []
            for (count, here) in [(2, [0, 5, 6, 7]), (2, [0, 7, 8, 9]), (4, [10, 11, 12, 13])] {
                for _ in 0..<count {
                    late.append(account.add("Late", .photo("late.jpg", thumb: Photos.size)))
                }
                account.push()
                #expect(try await photos.restore().report.isComplete)
                #expect(try await photos.here(late) == here)
            }
        }
    }

    @Test func `one that is larger than the whole share is too large`() async throws {
        try await withPhotos(2) { photos in
            try await photos.limit(thumbnails: 1)
            try await photos.engine.setCacheLimit(4 * Photos.cost - 1)
            #expect(try await photos.restore().report.isComplete)
            let error = await #expect(throws: SyncError.self) {
                try await photos.engine.thumbnail(photos.items[0].key())
            }
            #expect(error?.code == .unavailable(.tooLarge))
        }
    }

    @Test func `a lower limit lets the oldest go, a higher one brings them back`() async throws {
        try await withPhotos(10) { photos in
            try await photos.limit(thumbnails: 20)
            _ = try await photos.restore()
            try await photos.limit(thumbnails: 3)
            #expect(try await photos.here() == [7, 8, 9])
            #expect(try photos.onDisk() == 3 * Photos.cost)
            try await photos.limit(thumbnails: 5)
            let report = try await photos.restore().report
            #expect(report.isComplete && report.thumbnailsHere == 5)
            #expect(try await photos.here() == Array(5..<10))
        }
    }

    @Test func `originals make room for them, but not those that are pinned or in use`()
        async throws
    {
        try await withPhotos(6) { photos in
            _ = try await photos.engine.restore(thumbnails: false)
            let original = DiskCost.blob(300_000)
            try await photos.engine.setCacheLimit(3 * original + 100)
            for item in photos.items.prefix(3) {
                _ = try await photos.engine.materialize(item.key())
            }
            photos.home.clock.advance(by: CacheRoom.safeSeconds)
            #expect(try await photos.restore().report.thumbnailsHere == 6)
            let use = try await photos.engine.cacheUse()
            #expect(use.bytes <= use.limit && use.originals == 2 * original)
            // Pinned up to the limit, nothing is left for newer thumbnails but in place of old ones.
            for item in photos.items[1..<3] { _ = try await photos.engine.pin(item.key()) }
            try await photos.engine.setCacheLimit(2 * original + 6 * Photos.cost)
            let account = known(photos.home.account)
            let late = account.add("Late", .photo("late.jpg", thumb: Photos.size))
            account.push()
            #expect(try await photos.restore().report.isComplete)
            #expect(try await photos.here([late]) == [1, 2, 3, 4, 5, 6])
            #expect(try await photos.engine.cacheUse().originals == 2 * original)
        }
    }

    @Test func `one that a person asks for is kept while others are being fetched`() async throws {
        try await withPhotos(12) { photos in
            _ = try await photos.engine.restore(thumbnails: false)
            try await photos.limit(thumbnails: 6)
            let gate = photos.home.server.faults.gate("hold")
            let newest = known(photos.items[11].thumbRecord())
            photos.home.server.faults.add(.get("/v1/blobs/\(newest)"), .hold(gate))
            let (engine, other) = (photos.engine, try await photos.home.open())
            let restore = Task { try await engine.restore() }
            try await gate.reached()
            // All of the share is promised, so it waits until some of it is on the account.
            let key = photos.items[0].key()
            let thumb = Task { try await other.thumbnail(key) }
            while !photos.home.clock.waits.contains(.milliseconds(50)) {
                try await Task.sleep(for: .milliseconds(1))
            }
            gate.open()
            #expect(try await restore.value.isComplete)
            #expect(try await thumb.value.size == Int64(Photos.size))
            #expect(try await photos.here() == [0, 7, 8, 9, 10, 11])
            #expect(try photos.onDisk() == 6 * Photos.cost)
        }
    }

    @Test func `small photos do not push each other out`() async throws {
        let account = TestAccount()
        let items = (0..<8).map {
            account.add("\($0)", TestFile("\($0).png", size: 50_000, type: "image/png"))
        }
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            try await engine.setCacheLimit(5 * DiskCost.blob(50_000) + 100)
            #expect(try await engine.restore().isComplete)
            #expect(home.blobRequests.count == 5)
            for (number, item) in items.enumerated() {
                let state = try await engine.explain(item.key()).attachment.thumbnail
                #expect(state == (number < 3 ? .remote : .here))
            }
        }
    }
}
