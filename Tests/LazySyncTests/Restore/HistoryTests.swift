import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// A7 and section 6 of the format: what a server may say about the past, and what may delete.
@Suite struct HistoryTests {
    private static func account(_ count: Int = 5) -> (TestAccount, [TestItem]) {
        let account = TestAccount()
        let items = (0..<count).map { account.add("item \($0)", TestFile("f", "content \($0)")) }
        account.push()
        return (account, items)
    }

    private static let pages = Fault.Match.get("/v1/manifest")

    /// Restores, and expects that the server is not believed and nothing is lost.
    private static func expectRefused(
        _ home: TestHome, _ engine: SyncEngine, items: Int, head: UInt64,
        location: SourceLocation = #_sourceLocation
    ) async throws {
        let failure = await #expect(throws: SyncError.self, sourceLocation: location) {
            try await engine.restore()
        }
        #expect(failure?.code == .mismatch, "\(failure?.detail ?? "")", sourceLocation: location)
        #expect(try await engine.items(limit: 100).count == items, sourceLocation: location)
        let status = try await engine.status()
        #expect(status.head == head && !status.verified, sourceLocation: location)
        #expect(status.flags == ["headMismatch"], sourceLocation: location)
    }

    // MARK: A7

    @Test func `without a server everything that is here opens`() async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore()
            _ = try await engine.materialize(items[0].key())
            home.server.stop()
            let again = try await home.open()
            let failure = await #expect(throws: SyncError.self) { try await again.restore() }
            #expect(failure?.code == .unavailable(.offline))
            #expect(failure?.isTransient == true)
            #expect(try await again.items().count == items.count)
            #expect(try await again.materialize(items[0].key()).requests == 0)
            #expect(try await again.attachments().count { $0.state == .here } == 1)
            try home.server.start()
            #expect(try await again.restore().isComplete)
        }
    }

    @Test func `a server that answers 500 is tried a few times and changes nothing`() async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore()
            _ = try await engine.materialize(items[0].key())
            let before = home.manifestRequests.count
            let fault = home.server.faults.add(Self.pages, .html(500))
            let failure = await #expect(throws: SyncError.self) { try await engine.restore() }
            #expect(failure?.code == .unavailable(.serverError))
            #expect(home.manifestRequests.count - before == Backoff().attempts)
            #expect(try await engine.items().count == items.count)
            #expect(try await engine.materialize(items[0].key()).requests == 0)
            home.server.faults.remove(fault)
            #expect(try await engine.restore().isComplete)
        }
    }

    @Test func `an account that is told to be empty is not believed`() async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore()
            _ = try await engine.materialize(items[0].key())
            let fault = home.server.faults.add(Self.pages, .page(.emptyAccount))
            try await Self.expectRefused(home, engine, items: items.count, head: 1)
            #expect(try await engine.materialize(items[0].key()).requests == 0)
            home.server.faults.remove(fault)
            #expect(try await engine.restore().isComplete)
            #expect(try await engine.status().verified)
        }
    }

    @Test func `no entries under a head that counts some are a mismatch`() async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            let engine = try await home.login()
            let fault = home.server.faults.add(
                Self.pages, .page(PageEdit(isEmpty: true, next: PageEdit.Next.none)))
            try await Self.expectRefused(home, engine, items: 0, head: 0)
            home.server.faults.remove(fault)
            #expect(try await engine.restore().items == items.count)
        }
    }

    @Test func `entries without a head are a mismatch`() async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            let engine = try await home.login()
            let fault = home.server.faults.add(
                Self.pages, .page(PageEdit(head: PageEdit.Head.none)))
            try await Self.expectRefused(home, engine, items: items.count, head: 0)
            home.server.faults.remove(fault)
            #expect(try await engine.restore().isComplete)
        }
    }

    @Test func `an account that was never used is empty, and no mismatch`() async throws {
        try await withHome(TestAccount()) { home in
            let engine = try await home.login()
            let report = try await engine.restore()
            #expect(report.isComplete && report.items == 0 && report.head == 0)
            home.account?.add("the first")
            home.account?.push()
            #expect(try await engine.restore().items == 1)
        }
    }

    // MARK: Heads

    @Test func `a server that went back is not believed`() async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            let old = account.entries
            let engine = try await home.login()
            account.change(items[0].id) { $0.title = "new" }
            account.push()
            let new = account.entries
            _ = try await engine.restore()
            account.restore(old)
            account.show(account.heads[0])
            try await Self.expectRefused(home, engine, items: items.count, head: 2)
            #expect(try await engine.item(items[0].id).title == "new")
            account.restore(new)
            account.show(account.heads[1])
            #expect(try await engine.restore().isComplete)
        }
    }

    @Test func `another head of the same number is a fork`() async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore()
            account.show(account.forgedHead(previous: [UInt8](repeating: 1, count: 32)))
            try await Self.expectRefused(home, engine, items: items.count, head: 1)
            account.show(account.head)
            #expect(try await engine.restore().isComplete)
        }
    }

    @Test func `a next head that does not follow the verified one is a fork`() async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore()
            account.add("new")
            account.push()
            account.show(account.forgedHead(previous: [UInt8](repeating: 1, count: 32)))
            try await Self.expectRefused(home, engine, items: items.count, head: 1)
            account.show(account.head)
            #expect(try await engine.restore().items == items.count + 1)
        }
    }

    @Test func `a withheld entry is a mismatch, and comes when it is shown again`() async throws {
        let (account, items) = Self.account()
        let all = account.entries
        account.drop(items[2].id)
        try await withHome(account) { home in
            let engine = try await home.login()
            try await Self.expectRefused(home, engine, items: items.count - 1, head: 0)
            account.restore(all)
            #expect(try await engine.restore().items == items.count)
        }
    }

    @Test func `a head with a wrong count, mac or account is a mismatch`() async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            let engine = try await home.login()
            account.show(account.forgedHead(count: 4))
            try await Self.expectRefused(home, engine, items: items.count, head: 0)
            account.show(account.forgedHead(digest: SetDigest()))
            try await Self.expectRefused(home, engine, items: items.count, head: 0)
            account.show(TestAccount(seed: 2).forgedHead())
            try await Self.expectRefused(home, engine, items: items.count, head: 0)
            account.show(account.head)
            #expect(try await engine.restore().isComplete)
        }
    }

    @Test func `a head of a key that is not here is keyMissing, and nothing of its page is taken`()
        async throws
    {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            let engine = try await home.login()
            account.show(account.forgedHead(epoch: 2))
            let failure = await #expect(throws: SyncError.self) { try await engine.restore() }
            #expect(failure?.code == .unavailable(.keyMissing))
            #expect(try await engine.items().isEmpty)
            #expect(try await engine.status().flags == [])
            account.show(account.head)
            #expect(try await engine.restore().items == items.count)
        }
    }

    @Test func `a catalog of before does not hide that the server went back`() async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            let old = account.entries
            let files = FileManager.default
            let catalog: String
            do {
                let engine = try await home.login()
                _ = try await engine.restore()
                catalog = try home.accountPlaces.catalog
                try files.copyItem(atPath: catalog, toPath: catalog + "-of-before")
                account.change(items[0].id) { $0.title = "new" }
                account.push()
                _ = try await engine.restore()
            }
            // Both are put back to where they were; only the key store remembers.
            for name in ["", "-wal", "-shm"] { try? files.removeItem(atPath: catalog + name) }
            try files.moveItem(atPath: catalog + "-of-before", toPath: catalog)
            let new = account.entries
            account.restore(old)
            account.show(account.heads[0])
            let engine = try await home.open()
            try await Self.expectRefused(home, engine, items: items.count, head: 1)
            account.restore(new)
            account.show(account.heads[1])
            #expect(try await engine.restore().isComplete)
        }
    }

    // MARK: Deletions

    @Test func `a tombstone deletes only under a head that adds up`() async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore()
            account.remove(items[1].id)
            account.push()
            account.show(account.forgedHead(digest: SetDigest()))
            try await Self.expectRefused(home, engine, items: items.count, head: 1)
            _ = try await engine.materialize(items[1].key())
            account.show(account.head)
            #expect(try await engine.restore().items == items.count - 1)
        }
    }

    @Test func `an item that is removed and written again lives`() async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore()
            account.remove(items[1].id)
            account.push()
            #expect(try await engine.restore().items == items.count - 1)
            account.write(items[1])
            account.push()
            #expect(try await engine.restore().items == items.count)
            _ = try await engine.materialize(items[1].key())
        }
    }

    @Test(arguments: [
        (deletions: 0, items: 0, holds: false), (9, 9, false), (10, 20, false), (11, 22, false),
        (10, 19, true), (11, 21, true), (10, 10, true), (1_000, 2_000, false),
        (1_000, 1_999, true), (1_000, 1_000_000, false), (1_001, 1_000_000, true),
    ])
    func `more than a thousand deletions, or more than half and at least ten, wait for a person`(
        deletions: Int, items: Int, holds: Bool
    ) {
        #expect(BulkGuard.holds(deletions: deletions, of: items) == holds)
    }

    @Test func `exactly half of the items are deleted`() async throws {
        let (account, items) = Self.account(20)
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore()
            for item in items.prefix(10) { account.remove(item.id) }
            account.push()
            #expect(try await engine.restore().items == 10)
        }
    }

    @Test func `more than half of the items are held, under a head that is verified`() async throws
    {
        let (account, items) = Self.account(20)
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore()
            for item in items.prefix(11) { account.remove(item.id) }
            account.push()
            let failure = await #expect(throws: SyncError.self) { try await engine.restore() }
            #expect(failure?.code == .tooManyDeletions)
            #expect(try await engine.items().count == 20)
            _ = try await engine.materialize(items[0].key())
            let status = try await engine.status()
            #expect(status.head == 2 && status.verified && status.flags == ["heldDeletions"])
            // What else changes comes all the same, and an item that lives again is not held.
            account.add("new")
            account.write(items[0])
            account.push()
            let report = try await engine.restore()
            #expect(report.isComplete && report.items == 11 && report.head == 3)
            #expect(try await engine.item(items[0].id).title == items[0].title)
        }
    }
}
