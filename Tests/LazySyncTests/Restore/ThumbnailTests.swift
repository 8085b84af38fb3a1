import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// A8: thumbnails come newest first, many at a time, and each ends in a state of its own.
@Suite struct ThumbnailTests {
    private static func photos(_ count: Int) -> (TestAccount, [TestItem]) {
        let account = TestAccount()
        let items = (0..<count).map { number in
            account.add("photo \(number)", .photo("\(number).jpg", size: 10, thumb: 200))
        }
        account.push()
        return (account, items)
    }

    private static func match(_ item: TestItem) -> Fault.Match {
        .get("/v1/blobs/\(item.thumbRecord() ?? "none")")
    }

    /// The states of all thumbnails by their word or reason.
    private static func states(_ engine: SyncEngine) async throws -> [String: Int] {
        let states = try await engine.attachments(AttachmentQuery(limit: 1_000)).map(\.thumbnail)
        return Dictionary(grouping: states) { state in
            state?.reason?.rawValue ?? state?.name ?? "none"
        }
        .mapValues(\.count)
    }

    @Test(.timeLimit(.minutes(2)))
    func `five hundred thumbnails end here or with their reason, whatever goes wrong with some`()
        async throws
    {
        let (account, items) = Self.photos(500)
        try await withHome(account) { home in
            home.configuration.stallSeconds = 2
            let faults = home.server.faults
            let gate = faults.gate("stall")
            // The newest come first: they are the ones that could clog the way.
            for (number, item) in items.reversed().prefix(40).enumerated() {
                let match = Self.match(item)
                switch number % 5 {
                case 0: faults.add(match, .problem(404, code: "no-such-blob"))
                case 1: faults.add(match, .stall(at: .bytes(50), gate))
                case 2: faults.add(match, .cut(at: .bytes(50), .reset))
                case 3: faults.add(match, .html(200))
                default: faults.add(match, .flip(at: 100))
                }
            }
            let engine = try await home.login()
            let report = try await engine.restore()
            gate.open()
            #expect(report.thumbnailsHere == 460 && report.thumbnailsFailed == 40)
            #expect(!report.isComplete && report.addressesComplete == 500)
            #expect(
                try await Self.states(engine) == [
                    "here": 460, "notFound": 8, "offline": 16, "wrongSize": 8, "corrupt": 8,
                ])
            // No slot leaked, and nothing that is here is asked for again.
            faults.clear()
            let before = home.blobRequests.count
            let again = try await engine.restore()
            #expect(again.isComplete && again.thumbnailsHere == 500)
            #expect(home.blobRequests.count == before + 40)
        }
    }

    @Test func `a restore that is cancelled among its thumbnails leaves no slot behind`()
        async throws
    {
        let (account, items) = Self.photos(60)
        try await withHome(account) { home in
            let gate = home.server.faults.gate("hold")
            for item in items.suffix(20) { home.server.faults.add(Self.match(item), .hold(gate)) }
            let engine = try await home.login()
            let restore = Task { try await engine.restore() }
            try await gate.reached(by: 16)
            restore.cancel()
            let failure = await #expect(throws: SyncError.self) { try await restore.value }
            #expect(failure?.code == .cancelled)
            gate.open()
            try CatalogCheck(home.catalog()).run()
            #expect(try await Self.states(engine)["pending"] == nil)
            #expect(try await engine.restore().thumbnailsHere == 60)
        }
    }

    @Test func `thumbnails that a lost server kept from coming are missing, not failed for good`()
        async throws
    {
        let (account, _) = Self.photos(40)
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore(thumbnails: false)
            #expect(try await Self.states(engine) == ["remote": 40])
            home.server.faults.add(
                .get("/v1/blobs/"),
                .problem(
                    429, code: "slow-down",
                    headers: [
                        Header("Retry-After", "600")
                    ]))
            let report = try await engine.restore()
            #expect(report.thumbnailsHere == 0 && report.thumbnailsFailed == 40)
            #expect(!report.isComplete)
            #expect(try await Self.states(engine) == ["throttled": 40])
            home.server.faults.clear()
            // Before the time that the host named, nothing is sent.
            let before = home.server.log.entries.count
            let error = await #expect(throws: SyncError.self) { try await engine.restore() }
            #expect(error?.code == .unavailable(.throttled))
            #expect(home.server.log.entries.count == before)
            home.clock.advance(by: 600)
            #expect(try await engine.restore().isComplete)
            #expect(try await Self.states(engine) == ["here": 40])
        }
    }

    @Test func `the newest thumbnails come first`() async throws {
        let (account, items) = Self.photos(40)
        try await withHome(account) { home in
            let engine = try await home.login()
            let slots = TransferQueue.Limits().slots[TransferQueue.Priority.thumbnail.rawValue]
            let gate = FaultGate()
            home.server.faults.add(.get("/v1/blobs/"), times: slots, .hold(gate))
            let restore = Task { try await engine.restore() }
            try await gate.reached(by: slots)
            let asked = home.blobRequests.compactMap {
                $0.path.split(separator: "/").last.map(String.init)
            }
            #expect(Set(asked) == Set(items.suffix(slots).compactMap { $0.thumbRecord() }))
            gate.open()
            #expect(try await restore.value.thumbnailsHere == 40)
        }
    }

    @Test func `a large thumbnail waits until somebody wants it`() async throws {
        let account = TestAccount()
        let item = account.add("large", .photo("a.jpg", size: 10, thumb: 262_145))
        account.push()
        try await withHome(account) { home in
            let engine = try await home.login()
            #expect(try await engine.restore().isComplete)
            #expect(home.blobRequests.isEmpty)
            #expect(try await Self.states(engine) == ["remote": 1])
            #expect(try await engine.thumbnail(item.key()).size == 262_145)
            #expect(try await Self.states(engine) == ["here": 1])
        }
    }

    @Test func `a thumbnail of an absurd size is too large, and nothing is asked for`() async throws
    {
        let account = TestAccount()
        let item = account.add("absurd", .photo("a.jpg", size: 10, thumb: 10))
        account.change(item.id) { $0.attachments[0].thumb?.size = 1 << 48 }
        account.push()
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore()
            let failure = await #expect(throws: SyncError.self) {
                try await engine.thumbnail(item.key())
            }
            #expect(failure?.code == .unavailable(.tooLarge))
            #expect(home.blobRequests.isEmpty)
        }
    }

    @Test func `a small photo without a thumbnail is fetched whole, and is both`() async throws {
        let account = TestAccount()
        let photo = account.add("small", TestFile("a.png", size: 262_144, type: "image/png"))
        account.add("not small", TestFile("b.png", size: 262_145, type: "image/png"))
        account.add("no photo", TestFile("c.bin", size: 100))
        account.push()
        try await withHome(account) { home in
            let engine = try await home.login()
            let report = try await engine.restore()
            #expect(report.isComplete && report.thumbnailsHere == 1)
            #expect(home.blobRequests.count == 1)
            #expect(try await engine.materialize(photo.key()).requests == 0)
            #expect(try await engine.thumbnail(photo.key()).size == 262_144)
        }
    }

    @Test func `a small photo that does not come fails with its reason`() async throws {
        let account = TestAccount()
        account.add("small", TestFile("a.png", size: 100, type: "image/png"))
        account.push()
        try await withHome(account) { home in
            let fault = home.server.faults.add(
                .get("/v1/blobs/"), .problem(404, code: "no-such-blob"))
            let engine = try await home.login()
            #expect(try await engine.restore().thumbnailsFailed == 1)
            #expect(try await Self.states(engine) == ["notFound": 1])
            home.server.faults.remove(fault)
            #expect(try await engine.restore().isComplete)
            #expect(try await engine.attachments()[0].state == .here)
        }
    }

    // MARK: What changes meanwhile

    @Test func `a thumbnail that comes for an item that has changed leaves no mark`() async throws {
        let account = TestAccount()
        let item = account.add("photo", .photo("a.jpg", size: 10, thumb: 200))
        account.push()
        let store = try TestCatalog(account)
        try await store.apply()
        let work = try await store.catalog.dueThumbnails(after: nil, limit: 10)
        #expect(work.count == 1)
        let old = try #require(item.thumbRecord())
        let new = account.change(item.id) {
            $0.attachments[0] = account.attach(
                .photo("b.jpg", size: 10, thumb: 300), to: item.id, id: item.attachments[0].id)
        }
        account.push()
        try await store.apply()
        try await store.catalog.save([ThumbnailResult(work: work[0], state: .here, tags: [1])])
        let due = try await store.catalog.dueThumbnails(after: nil, limit: 10)
        #expect(due.map { $0.ref?.recordName } == [new.thumbRecord()])
        // Its file is to go.
        #expect(try await store.catalog.dropped(after: "", limit: 10) == [old])
        try CatalogCheck(store.connection()).run()
    }

    @Test func `a thumbnail that comes twice counts once`() async throws {
        let account = TestAccount()
        account.add("photo", .photo("a.jpg", size: 10, thumb: 200))
        account.push()
        let store = try TestCatalog(account)
        try await store.apply()
        let work = try await store.catalog.dueThumbnails(after: nil, limit: 10)[0]
        for state in [ThumbnailState.here, .here, .failed, .failed, .here] {
            let result = ThumbnailResult(
                work: work, state: state, tags: [1], reason: state == .failed ? .corrupt : nil)
            try await store.catalog.save([result])
            try CatalogCheck(store.connection()).run()
        }
        #expect(try await store.catalog.tallies()[.thumbnailsHere] == 1)
    }

    @Test func `bytes that come for an attachment that is gone leave no mark`() async throws {
        let account = TestAccount()
        let item = account.add("file", TestFile("f", "content"))
        account.push()
        let store = try TestCatalog(account)
        try await store.apply()
        _ = try await store.verify(seq: 1)
        let row = try #require(try await store.catalog.attachment(item.key()))
        let record = try #require(item.record())
        #expect(
            try await store.catalog.write("ask for it") { try $0.want(record, through: row.row) })
        account.remove(item.id)
        account.push()
        try await store.apply()
        _ = try await store.verify(seq: 2)
        let mark = HereMark(boot: "boot", inode: 1, size: 7, mtime: 1, ctime: 1)
        try await store.catalog.markHere(
            record, through: row.row, mark, handedAt: nil, clearing: [])
        try await store.catalog.markFailed(record, through: row.row, .corrupt, Evidence())
        #expect(try await store.catalog.wantedBlobs().isEmpty)
        #expect(try await store.catalog.tallies()[.blobsHere] == 0)
        #expect(try await store.catalog.dropped(after: "", limit: 10) == [record])
        try CatalogCheck(store.connection()).run()
    }
}
