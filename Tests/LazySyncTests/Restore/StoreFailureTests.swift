import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// A3: a restore whose store fails, or that is killed, anywhere.
@Suite struct StoreFailureTests {
    private static let entries = 50
    private static let page = 10

    private static func account() -> (TestAccount, [TestItem]) {
        let account = TestAccount()
        let items = (0..<entries).map { number in
            account.add(
                "item \(number)", .photo("\(number).jpg", size: 300_000 + number, thumb: 99))
        }
        account.push()
        return (account, items)
    }

    private static func cut(_ home: TestHome, commit: Int = page) {
        home.configuration.paging = .init(pageEntries: page, commitEntries: commit)
    }

    /// Everything is here, each thumbnail was asked for once, and no page more than it had to be.
    private static func expectWhole(
        _ home: TestHome, _ report: RestoreReport, _ items: [TestItem],
        location: SourceLocation = #_sourceLocation
    ) {
        #expect(report.isComplete && report.items == items.count, sourceLocation: location)
        #expect(report.thumbnailsHere == items.count, sourceLocation: location)
        let records = home.blobRequests.map(\.path)
        #expect(records.count == items.count, sourceLocation: location)
        #expect(Set(records).count == items.count, sourceLocation: location)
    }

    @Test(arguments: [1, 5, 10, 11, 25, 50])
    func `a store that fails at any row leaves whole pages with their cursor`(
        row: Int
    ) async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            Self.cut(home)
            let engine = try await home.login()
            try home.execute(
                """
                CREATE TRIGGER fail AFTER INSERT ON entry WHEN new.id = \(row)
                BEGIN SELECT RAISE(ABORT, 'the disk is full'); END
                """)
            let failure = await #expect(throws: SyncError.self) { try await engine.restore() }
            #expect(failure?.code == .storage)
            let whole = (row - 1) / Self.page * Self.page
            #expect(try home.number("SELECT count(*) FROM entry") == whole)
            #expect(try home.number("SELECT page IS NOT NULL FROM account") == (whole > 0 ? 1 : 0))
            try CatalogCheck(home.catalog()).run()
            // As a page of the list in between: it shows what is here.
            #expect(try await engine.items(limit: 100).count == whole)

            try home.execute("DROP TRIGGER fail")
            let before = home.manifestRequests.count
            let again = try await home.open()
            let report = try await again.restore()
            Self.expectWhole(home, report, items)
            let pages = home.manifestRequests.count - before
            #expect(pages == (Self.entries - whole) / Self.page)
        }
    }

    @Test func `pages after one that could not be stored are not stored either`() async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            Self.cut(home)
            let engine = try await home.login()
            // Only rows of the first page fail: the next ones would go in.
            let first = account.entries.values.sorted { $0.facts.id < $1.facts.id }[0]
            try home.execute(
                """
                CREATE TRIGGER fail AFTER INSERT ON entry WHEN new.entry_id = x'\(first.facts.id)'
                BEGIN SELECT RAISE(ABORT, 'the disk is full'); END
                """)
            await #expect(throws: SyncError.self) { try await engine.restore() }
            #expect(try home.number("SELECT count(*) FROM entry") == 0)
            try home.execute("DROP TRIGGER fail")
            Self.expectWhole(home, try await engine.restore(), items)
        }
    }

    @Test func `several pages in one transaction come and go together`() async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            Self.cut(home, commit: 30)
            let engine = try await home.login()
            try home.execute(
                """
                CREATE TRIGGER fail AFTER INSERT ON entry WHEN new.id = 45
                BEGIN SELECT RAISE(ABORT, 'the disk is full'); END
                """)
            await #expect(throws: SyncError.self) { try await engine.restore() }
            #expect(try home.number("SELECT count(*) FROM entry") == 30)
            try home.execute("DROP TRIGGER fail")
            let before = home.manifestRequests.count
            Self.expectWhole(home, try await engine.restore(), items)
            #expect(home.manifestRequests.count == before + 2)
        }
    }

    @Test func `changes of rows that are here fail and come whole too`() async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            Self.cut(home)
            let engine = try await home.login()
            _ = try await engine.restore()
            for item in items { account.change(item.id) { $0.title += " again" } }
            account.push()
            try home.execute(
                """
                CREATE TRIGGER fail AFTER UPDATE OF title ON entry WHEN new.id = 25
                BEGIN SELECT RAISE(ABORT, 'the disk is full'); END
                """)
            await #expect(throws: SyncError.self) { try await engine.restore() }
            #expect(
                try home.number("SELECT count(*) FROM entry WHERE version = 2") % Self.page == 0)
            try CatalogCheck(home.catalog()).run()
            try home.execute("DROP TRIGGER fail")
            Self.expectWhole(home, try await home.open().restore(), items)
            #expect(try home.number("SELECT count(*) FROM entry WHERE version = 2") == Self.entries)
        }
    }

    @Test(arguments: [10, 30, 50])
    func `a restore that is killed goes on where its last transaction was`(
        entries: Int
    ) async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            Self.cut(home)
            _ = try await home.login()
            let folder = home.folder.path
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [folder = folder as String, entries = entries as Int] in
                var configuration = EngineConfiguration(home: folder)
                configuration.paging = .init(pageEntries: 10, commitEntries: 10)
                let engine = try await SyncEngine.open(configuration)
                _ = try await engine.restore { progress in
                    if progress.done >= entries { kill(getpid(), SIGKILL) }
                }
            }
            #expect(try home.number("SELECT count(*) FROM entry") % Self.page == 0)
            try CatalogCheck(home.catalog()).run()
            let stored = try home.number("SELECT count(*) FROM entry")
            let before = home.manifestRequests.count
            Self.expectWhole(home, try await home.open().restore(), items)
            // The last page again at the most, never those before it.
            let pages = home.manifestRequests.count - before
            #expect(pages <= max(1, (Self.entries - stored) / Self.page))
        }
    }

    @Test func `a check of the head that could not be made costs one page the next time`()
        async throws
    {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            Self.cut(home)
            let engine = try await home.login()
            try home.execute(
                """
                CREATE TRIGGER fail BEFORE UPDATE OF verified_head ON account
                BEGIN SELECT RAISE(ABORT, 'the disk is full'); END
                """)
            await #expect(throws: SyncError.self) { try await engine.restore() }
            #expect(try home.number("SELECT count(*) FROM entry") == Self.entries)
            try home.execute("DROP TRIGGER fail")
            let before = home.manifestRequests.count
            Self.expectWhole(home, try await home.open().restore(), items)
            #expect(home.manifestRequests.count == before + 1)
        }
    }
}
