import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Entries that cannot be read: a faulty client's, or a server's that lies.
@Suite struct UnreadableTests {
    private static let entries = 2_500

    /// An account of 2,500 items on one page, two of which a faulty client wrote.
    private static func faulty() -> (
        TestAccount, wrongVersion: LazySync.EntryID, notJSON: LazySync.EntryID
    ) {
        let account = TestAccount()
        var items: [TestItem] = []
        for number in 0..<entries { items.append(account.add("item \(number)")) }
        account.misseal(items[100].id)
        account.put(Array("not JSON".utf8), for: items[2_400].id)
        account.push()
        return (account, items[100].id, items[2_400].id)
    }

    private static func page(_ home: TestHome) {
        home.configuration.paging.pageEntries = entries
    }

    // MARK: A2

    @Test func `two unreadable entries are kept aside and named, and the others come`() async throws
    {
        let (account, wrongVersion, notJSON) = Self.faulty()
        try await withHome(account) { home in
            Self.page(home)
            let engine = try await home.login()
            let report = try await engine.restore()
            #expect(report.items == Self.entries - 2)
            #expect(Set(report.unreadable) == [wrongVersion, notJSON])
            #expect(report.verified && !report.isComplete)
            // A head that fits says that the bytes are the client's own: nothing is asked again.
            #expect(home.manifestRequests.count == 1)
            #expect(try await engine.status().flags == [])
        }
    }

    @Test func `newer versions of unreadable entries mend them and cost one small page`()
        async throws
    {
        let (account, wrongVersion, notJSON) = Self.faulty()
        try await withHome(account) { home in
            Self.page(home)
            let engine = try await home.login()
            _ = try await engine.restore()
            for id in [wrongVersion, notJSON] { account.change(id) { $0.title = "mended" } }
            account.push()
            let before = home.manifestRequests.count
            let report = try await engine.restore()
            #expect(report.items == Self.entries && report.isComplete)
            #expect(report.bytes < 4_096)
            #expect(home.manifestRequests.count == before + 1)
            #expect(try await engine.item(notJSON).title == "mended")
        }
    }

    @Test
    func `entries that the server changed are asked for once more, and then it is a mismatch`()
        async throws
    {
        let account = TestAccount()
        var items: [TestItem] = []
        for number in 0..<50 { items.append(account.add("item \(number)", TestFile("f", "x"))) }
        account.push()
        let honest = account.entries
        account.flip(items[3].id)
        account.flip(items[40].id)
        try await withHome(account) { home in
            let engine = try await home.login()
            let failure = await #expect(throws: SyncError.self) { try await engine.restore() }
            #expect(failure?.code == .mismatch)
            let again = home.manifestRequests.filter { $0.path == "/v1/manifest/entries" }
            #expect(again.count == 1)
            #expect(again.first?.query.contains("\(items[3].id)") == true)
            #expect(again.first?.query.contains("\(items[40].id)") == true)
            #expect(again.first?.query.components("id=") == 2)
            // What is authentic by itself is here all the same, and can be opened.
            #expect(try await engine.items().count == 48)
            _ = try await engine.materialize(items[0].key())
            let status = try await engine.status()
            #expect(status.flags == ["headMismatch"] && !status.verified)
            account.restore(honest)
            let report = try await engine.restore()
            #expect(report.isComplete && report.items == 50)
            #expect(try await engine.status().flags == [])
        }
    }

    @Test func `an entry that came damaged once is right the second time`() async throws {
        let account = TestAccount()
        let items = (0..<5).map { account.add("item \($0)") }
        let head = account.push()
        try await withHome(account) { home in
            var damaged = Array(account.entries.values)
            damaged[2].sealed[50] ^= 1
            home.server.faults.add(
                .get("/v1/manifest"), times: 1,
                .answer(status: 200, body: account.pageBody(damaged, head: head)))
            let report = try await home.login().restore()
            #expect(report.isComplete && report.items == items.count)
        }
    }

    @Test func `an entry that moved on while it was asked for again is pulled with its head`()
        async throws
    {
        let account = TestAccount()
        let items = (0..<5).map { account.add("item \($0)") }
        let head = account.push()
        try await withHome(account) { home in
            var damaged = Array(account.entries.values)
            let index = try #require(damaged.firstIndex { $0.facts.id == items[2].id })
            damaged[index].sealed[50] ^= 1
            home.server.faults.add(
                .get("/v1/manifest"), times: 1,
                .answer(status: 200, body: account.pageBody(damaged, head: head)))
            // The server is further on already, which the page that was answered did not know.
            account.change(items[2].id) { $0.title = "moved on" }
            account.add("new")
            account.push()
            let engine = try await home.login()
            let report = try await engine.restore()
            #expect(report.isComplete && report.items == 6 && report.head == 2)
            #expect(try await engine.item(items[2].id).title == "moved on")
        }
    }

    @Test func `asking again survives an answer that fails once`() async throws {
        let account = TestAccount()
        _ = (0..<3).map { account.add("item \($0)") }
        let head = account.push()
        try await withHome(account) { home in
            var damaged = Array(account.entries.values)
            damaged[0].sealed[50] ^= 1
            home.server.faults.add(
                .get("/v1/manifest/entries"), times: 1, .html(502))
            home.server.faults.add(
                .get("/v1/manifest"), times: 1,
                .answer(status: 200, body: account.pageBody(damaged, head: head)))
            let report = try await home.login().restore()
            #expect(report.isComplete && report.items == 3)
        }
    }

    @Test func `an unreadable newer version leaves the older one in place`() async throws {
        let account = TestAccount()
        let item = account.add("readable", TestFile("f", "content"))
        account.push()
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore()
            account.change(item.id) { $0.title = "not to be read" }
            account.misseal(item.id)
            account.push()
            let report = try await engine.restore()
            #expect(report.unreadable == [item.id] && report.items == 1)
            #expect(try await engine.item(item.id).title == "readable")
            _ = try await engine.materialize(item.key())
            account.remove(item.id)
            account.push()
            #expect(try await engine.restore().items == 0)
        }
    }
}

extension String {
    /// How often a text stands in this one.
    fileprivate func components(_ text: String) -> Int {
        ranges(of: text).count
    }
}
