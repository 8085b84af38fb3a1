import Foundation
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// A4 and A6: manifest pages that are odd, cut, expired, or change while they are read.
@Suite struct PagingTests {
    private static let entries = 50
    private static let page = 10

    private static func account() -> (TestAccount, [TestItem]) {
        let account = TestAccount()
        let items = (0..<entries).map { account.add("item \($0)", TestFile("f", "content \($0)")) }
        account.push()
        return (account, items)
    }

    private static func cut(_ home: TestHome, _ entries: Int = page) {
        home.configuration.paging = .init(pageEntries: entries, commitEntries: entries)
    }

    private static let pages = Fault.Match.get("/v1/manifest")

    // MARK: A4

    @Test func `pages without entries that go on are gone through`() async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            Self.cut(home)
            home.server.faults.add(Self.pages, times: 3, .page(.emptyWithNext))
            home.server.faults.add(Self.pages, skip: 2, times: 3, .page(.emptyWithNext))
            let report = try await home.login().restore()
            #expect(report.isComplete && report.items == items.count)
            #expect(home.manifestRequests.count == 5 + 6)
        }
    }

    @Test func `pages without entries that never end are an error, and soon`() async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            let fault = home.server.faults.add(Self.pages, .page(.emptyWithNext))
            let engine = try await home.login()
            let failure = await #expect(throws: SyncError.self) { try await engine.restore() }
            #expect(failure?.code == .unavailable(.serverError))
            #expect(home.manifestRequests.count <= 21)
            home.server.faults.remove(fault)
            #expect(try await engine.restore().items == items.count)
        }
    }

    @Test(arguments: [0, 1, 3])
    func `a next that was there before is an error and not a loop`(healthy: Int) async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            Self.cut(home)
            let fault = home.server.faults.add(Self.pages, skip: 1 + healthy, .page(.repeatedNext))
            let engine = try await home.login()
            let failure = await #expect(throws: SyncError.self) { try await engine.restore() }
            #expect(failure?.code == .unavailable(.serverError))
            #expect(home.manifestRequests.count <= 2 + healthy + 2)
            // And not when the run is taken up again either.
            await #expect(throws: SyncError.self) { try await engine.restore() }
            home.server.faults.remove(fault)
            let report = try await engine.restore()
            #expect(report.isComplete && report.items == items.count)
        }
    }

    @Test(arguments: [
        [FaultAction.cut(at: .fraction(0.6))], [.cut(at: .fraction(0.6), .reset)],
        [.cut(at: .fraction(0.6)), .framing(.chunked)],
        [.cut(at: .fraction(0.6)), .framing(.untilClose)], [.drop()], [.html(502)],
    ])
    func `a page whose body is cut is asked for again`(actions: [FaultAction]) async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            Self.cut(home)
            let fault = home.server.faults.add(
                Fault(Self.pages, skip: 2, times: 1, actions: actions))
            let report = try await home.login().restore()
            #expect(report.isComplete && report.items == items.count)
            #expect(home.server.faults.hits(fault) == 1)
            #expect(home.manifestRequests.count == 6)
        }
    }

    @Test func `a page that is malformed each time is an error, and mended by the next run`()
        async throws
    {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            Self.cut(home)
            let fault = home.server.faults.add(
                Self.pages, skip: 2, .answer(status: 200, body: Array(#"{"entries":[{}]}"#.utf8)))
            let engine = try await home.login()
            let failure = await #expect(throws: SyncError.self) { try await engine.restore() }
            #expect(failure?.code == .unavailable(.serverError))
            #expect(try await engine.items(limit: 100).count == 2 * Self.page)
            home.server.faults.remove(fault)
            #expect(try await engine.restore().items == items.count)
        }
    }

    @Test func `a next that the server does not know begins the run anew`() async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            Self.cut(home)
            home.server.faults.add(
                Self.pages, skip: 1, times: 1, .page(PageEdit(next: .text("nonsense"))))
            let report = try await home.login().restore()
            #expect(report.isComplete && report.items == items.count)
        }
    }

    @Test func `a cursor that expires after three pages starts over and loses nothing`()
        async throws
    {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            Self.cut(home)
            let engine = try await home.login()
            _ = try await engine.restore()
            let file = try await engine.materialize(items[7].key())
            for item in items { account.change(item.id) { $0.title += " again" } }
            account.remove(items[49].id)
            account.push()
            let before = home.manifestRequests.count
            home.server.faults.add(
                Self.pages, skip: 3, times: 1, .problem(410, code: "cursor-expired"))
            let report = try await engine.restore()
            #expect(report.isComplete && report.items == Self.entries - 1)
            let asked = home.manifestRequests.dropFirst(before).map(\.query)
            #expect(asked.filter { $0.hasPrefix("after=1&") }.count == 4)
            #expect(asked.filter { $0.hasPrefix("after=0&") }.count == 5)
            home.server.stop()
            #expect(try await engine.materialize(items[7].key()).path == file.path)
        }
    }

    @Test func `a first restore whose cursor expires starts over too`() async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            Self.cut(home)
            home.server.faults.add(
                Self.pages, skip: 3, times: 1, .problem(410, code: "cursor-expired"))
            let report = try await home.login().restore()
            #expect(report.isComplete && report.items == items.count)
            #expect(home.manifestRequests.count == 4 + 5)
        }
    }

    @Test func `a run that had to start over goes on where it was`() async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            Self.cut(home)
            let engine = try await home.login()
            _ = try await engine.restore()
            account.change(items[0].id) { $0.title = "again" }
            account.push()
            home.server.expireCursors()
            let fault = home.server.faults.add(
                Fault.Match(method: "GET", path: "/v1/manifest", query: "after=0"), skip: 3,
                .problem(500, code: "broken"))
            await #expect(throws: SyncError.self) { try await engine.restore() }
            home.server.faults.remove(fault)
            let before = home.manifestRequests.count
            let report = try await home.open().restore()
            #expect(report.isComplete && report.head == 2)
            #expect(home.manifestRequests.count == before + 2)
        }
    }

    @Test func `a page's token that expired between two runs starts over`() async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            Self.cut(home)
            let engine = try await home.login()
            let fault = home.server.faults.add(Self.pages, skip: 3, .problem(500, code: "broken"))
            await #expect(throws: SyncError.self) { try await engine.restore() }
            home.server.faults.remove(fault)
            home.server.expireCursors()
            let report = try await home.open().restore()
            #expect(report.isComplete && report.items == items.count)
        }
    }

    // MARK: A6

    /// What the newer of two versions is.
    enum Newer: CaseIterable { case live, tombstone, unreadable }

    @Test(arguments: Newer.allCases, [false, true])
    func `the newer of two versions wins, whichever page it is on`(
        newer: Newer, comesFirst: Bool
    ) async throws {
        let account = TestAccount()
        let item = account.add("old", TestFile("f", "content"))
        for number in 0..<3 { account.add("item \(number)") }
        account.push()
        let old = try #require(account.entries[item.id])
        switch newer {
        case .live: account.change(item.id) { $0.title = "new" }
        case .tombstone: account.remove(item.id)
        case .unreadable:
            account.change(item.id) { $0.title = "new" }
            account.misseal(item.id)
        }
        let head = account.push()
        try await withHome(account) { home in
            Self.cut(home, 1)
            // A server that shows both, as one that copied its rows might.
            var both = Array(account.entries.values) + [old]
            if comesFirst {
                for index in both.indices where both[index].facts.id == item.id {
                    both[index].seq = 3 - both[index].seq
                }
            }
            both.sort { $0.seq < $1.seq }
            for (number, entry) in both.enumerated() {
                let next = number + 1 < both.count ? "page-\(number + 1)" : nil
                let body = account.pageBody([entry], head: head, next: next)
                home.server.faults.add(
                    Fault.Match(
                        method: "GET", path: "/v1/manifest",
                        query: number == 0 ? "after=0&limit=1" : "page=page-\(number)"),
                    times: 1, .answer(status: 200, body: body))
            }
            let engine = try await home.login()
            let report = try await engine.restore()
            #expect(report.verified && report.head == 2)
            switch newer {
            case .live: #expect(try await engine.item(item.id).title == "new")
            case .tombstone: #expect(report.items == 3)
            case .unreadable: #expect(report.unreadable == [item.id])
            }
        }
    }

    @Test func `an item that changes while pages are read comes in its new form`() async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            Self.cut(home)
            let gate = home.server.faults.gate("page")
            home.server.faults.add(Self.pages, skip: 1, times: 1, .hold(gate))
            let engine = try await home.login()
            async let report = engine.restore()
            try await gate.reached()
            for item in items.prefix(30) { account.change(item.id) { $0.title = "changed" } }
            account.remove(items[40].id)
            account.push()
            gate.open()
            let done = try await report
            #expect(done.isComplete && done.head == 2 && done.items == Self.entries - 1)
            for item in items.prefix(30) {
                #expect(try await engine.item(item.id).title == "changed")
            }
        }
    }
}
