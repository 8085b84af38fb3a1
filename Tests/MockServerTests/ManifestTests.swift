import Foundation
import Testing

@testable import MockServer

@Suite struct ManifestTests {
    /// Reads pages until there is no next, and returns them.
    func pages(
        _ test: TestServer, _ query: String, next token: (CurlResult) -> String? = { next($0) }
    ) async throws -> [CurlResult] {
        var pages = [try await test.get("/v1/manifest?\(query)")]
        while let page = pages.last.flatMap(token), pages.count < 50 {
            pages.append(try await test.get("/v1/manifest?\(query)&page=\(page)"))
        }
        return pages
    }

    static func next(_ page: CurlResult) -> String? { page.json["next"]?.string }

    func ids(_ page: CurlResult) -> [String] {
        page.json["entries"]?.array?.compactMap { $0["id"]?.string } ?? []
    }

    @Test func `a page carries entries as they are stored, next and head`() async throws {
        let test = try TestServer(entries: 3)
        let page = try await test.get("/v1/manifest?after=0")
        #expect(page.status == 200 && page.header("Link") == nil)
        let entry = test.seed.entries[0]
        #expect(
            page.json["entries"]?.array?.first == [
                "id": .string(entry.id), "version": "1", "kind": 0, "epoch": 1, "seq": "1",
                "sealed": .string(entry.sealed),
            ])
        #expect(page.json["next"] == .null)
        #expect(page.json["head"] == JSONTree(test.seed.head))
    }

    @Test func `pages follow each other in ascending order, each entry once`() async throws {
        let test = try TestServer(entries: 7)
        let pages = try await pages(test, "after=0&limit=3")
        #expect(pages.map { ids($0).count } == [3, 3, 1])
        #expect(pages.flatMap { ids($0) } == (0..<7).map { TestServer.id($0) })
        #expect(pages.allSatisfy { $0.json["head"] == JSONTree(test.seed.head) })
    }

    @Test func `the Link header leads to the next page with the same token`() async throws {
        let test = try TestServer(entries: 5)
        let page = try await test.get("/v1/manifest?after=1&limit=2")
        let token = try #require(Self.next(page))
        let address = "\(test.server.url)/v1/manifest?after=1&page=\(token)&limit=2"
        #expect(page.header("Link") == "<\(address)>; rel=\"next\"")
    }

    @Test func `only what changed after the cursor comes`() async throws {
        let test = try TestServer(entries: 6)
        #expect(
            ids(try await test.get("/v1/manifest?after=2")) == [TestServer.id(4), TestServer.id(5)])
        let none = try await test.get("/v1/manifest?after=3")
        #expect(ids(none).isEmpty && none.json["head"] == JSONTree(test.seed.head))
    }

    @Test func `a limit is 1,000 unless given and 5,000 at the most`() async throws {
        let test = try TestServer(entries: 5002)
        #expect(ids(try await test.get("/v1/manifest")).count == 1000)
        #expect(ids(try await test.get("/v1/manifest?limit=9999")).count == 5000)
    }

    @Test func `a page ends at 16 MiB but holds at least one entry`() async throws {
        let test = try TestServer(entries: 0)
        var large = (0..<3).map { TestServer.entry($0, seq: 1) }
        for index in large.indices { large[index].sealed = String(repeating: "A", count: 12 << 20) }
        try test.account.put(large, head: TestServer.head(seq: 1))
        var query = "after=0"
        for number in 0..<3 {
            // Foundation reads 12 MiB of JSON faster than the strict reader does in a debug build.
            let body = try await test.get("/v1/manifest?\(query)").body
            let page = try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]
            let entries = page?["entries"] as? [[String: Any]]
            #expect(entries?.map { $0["id"] as? String } == [TestServer.id(number)])
            query = "after=0&page=\(page?["next"] as? String ?? "none")"
        }
        #expect(query == "after=0&page=none")
    }

    @Test func `an empty account has no head`() async throws {
        let test = try TestServer(entries: 0)
        let page = try await test.get("/v1/manifest?after=0")
        #expect(page.text == #"{"entries":[],"next":null,"head":null}"#)
        #expect(try await test.get("/v1/manifest/head?after=0").status == 204)
    }

    @Test func `an entry that changes while pages are read comes later in the run`() async throws {
        let test = try TestServer(entries: 6)
        let first = try await test.get("/v1/manifest?after=0&limit=2")
        try test.account.put(
            [TestServer.entry(0, seq: 4, version: 2), TestServer.entry(3, seq: 4, version: 2)],
            head: TestServer.head(seq: 4))
        let token = try #require(Self.next(first))
        let rest = try await test.get("/v1/manifest?after=0&page=\(token)")
        #expect(ids(rest) == [2, 4, 5, 0, 3].map { TestServer.id($0) })
        #expect(rest.json["head"]?.string == TestServer.head(seq: 4))
    }

    @Test func `a page token is good at another process and for 24 hours`() async throws {
        let clock = ManualClock()
        let first = try TestServer(entries: 4, options: ServerOptions(clock: { clock.now }))
        let token = try #require(Self.next(try await first.get("/v1/manifest?limit=2")))
        let second = try TestServer(entries: 4, options: ServerOptions(clock: { clock.now }))
        let page = try await second.get("/v1/manifest?after=0&page=\(token)")
        #expect(ids(page) == [TestServer.id(2), TestServer.id(3)])
        clock.advance(by: 24 * 3600)
        second.server.setTokenLifetime(3600 * 48)
        let grant = try await second.login().json["token"]?.string ?? ""
        let late = try await curl(
            "-H", "Authorization: Bearer \(grant)",
            "\(second.server.url)/v1/manifest?after=0&page=\(token)")
        #expect(late.status == 410 && late.code == "cursor-expired")
    }

    @Test func `expired cursors are 410 until the client begins at 0 again`() async throws {
        let test = try TestServer(entries: 6)
        let token = try #require(Self.next(try await test.get("/v1/manifest?limit=2")))
        test.server.expireCursors()
        let page = try await test.get("/v1/manifest?after=0&page=\(token)")
        #expect(page.status == 410 && page.code == "cursor-expired")
        #expect(try await test.get("/v1/manifest?after=3").code == "cursor-expired")
        #expect(try await pages(test, "after=0&limit=2").flatMap { ids($0) }.count == 6)
        #expect(try await test.get("/v1/manifest?after=3").status == 200)
        #expect(try await test.get("/v1/manifest?after=0&page=\(token)").status == 410)
    }

    @Test(arguments: [
        "after=x", "after=-1", "after=01", "after=18446744073709551616", "limit=0", "limit=x",
        "page=x", "after=1&after=2",
    ])
    func `a query that is not one is a bad request`(query: String) async throws {
        let test = try TestServer()
        let answer = try await test.get("/v1/manifest?\(query)")
        #expect(answer.status == 400 && answer.code == "bad-request")
    }

    @Test func `a page token comes back with the after that it began with`() async throws {
        let test = try TestServer()
        let token = try #require(Self.next(try await test.get("/v1/manifest?after=0&limit=2")))
        #expect(try await test.get("/v1/manifest?after=1&page=\(token)").status == 400)
    }

    @Test func `entries come by their ids, and those that do not exist are left out`() async throws
    {
        let test = try TestServer()
        let query = [3, 99, 1].map { "id=\(TestServer.id($0))" }.joined(separator: "&")
        let answer = try await test.get("/v1/manifest/entries?\(query)")
        #expect(answer.status == 200 && Set(ids(answer)) == [TestServer.id(1), TestServer.id(3)])
        let none = try await test.get("/v1/manifest/entries?id=\(TestServer.id(99))")
        #expect(none.text == #"{"entries":[]}"#)
    }

    @Test func `at most 100 ids are asked for at once`() async throws {
        let test = try TestServer(entries: 101)
        let query = { (count: Int) in
            (0..<count).map { "id=\(TestServer.id($0))" }.joined(separator: "&")
        }
        #expect(ids(try await test.get("/v1/manifest/entries?\(query(100))")).count == 100)
        #expect(try await test.get("/v1/manifest/entries?\(query(101))").code == "bad-request")
        #expect(try await test.get("/v1/manifest/entries?id=xyz").code == "bad-request")
    }

    @Test func `the head comes at once when it is above the cursor, else 204`() async throws {
        let test = try TestServer(entries: 6)
        let above = try await test.get("/v1/manifest/head?after=2&wait=20")
        #expect(above.json["head"] == JSONTree(test.seed.head))
        let none = try await test.get("/v1/manifest/head?after=3")
        #expect(none.status == 204 && none.body.isEmpty)
    }

    @Test func `a wait for a head ends when the wait has run out`() async throws {
        let test = try TestServer(entries: 6)
        #expect(try await test.get("/v1/manifest/head?after=3&wait=1").status == 204)
        let took = try #require(test.server.log.entries.last?.took)
        #expect(took >= 1 && took < 20)
    }

    @Test func `who waits for a head gets it as soon as it is there`() async throws {
        let test = try TestServer(entries: 6)
        let wait = try await test.start("/v1/manifest/head?after=3&wait=25")
        try await test.server.log.waitFor { $0.path == "/v1/manifest/head" }
        try test.account.put([TestServer.entry(9, seq: 4)], head: TestServer.head(seq: 4))
        let answer = try await wait.result()
        #expect(answer.status == 200)
        #expect(answer.json["head"]?.string == TestServer.head(seq: 4))
    }

    @Test func `a faulty server can keep both versions of an item in the list`() async throws {
        let test = try TestServer(entries: 2)
        try test.account.put(
            [TestServer.entry(0, seq: 2, version: 2)], head: TestServer.head(seq: 2),
            keepingOld: true)
        let page = try await test.get("/v1/manifest")
        #expect(ids(page) == [0, 1, 0].map { TestServer.id($0) })
    }
}
