import Foundation
import Testing

@testable import MockServer

@Suite struct PushTests {
    /// A server with five entries, and the head that follows its own.
    func server(entries: Int = 5) throws -> (test: TestServer, next: String) {
        let test = try TestServer(entries: entries)
        return (test, TestServer.head(after: test.seed.head, count: entries + 1))
    }

    @Test func `a push brings entries and a head, and they are read back`() async throws {
        let test = try TestServer(entries: 0)
        let head = TestServer.head(after: nil, count: 2)
        let body = TestServer.push(head, [(1, 1), (2, 1)])
        let answer = try await test.send("POST", "/v1/manifest", body)
        #expect(answer.status == 200 && answer.json == ["seq": "1"])
        let page = try await test.get("/v1/manifest?after=0")
        #expect(page.json["head"]?.string == head)
        let sent = try #require(body["entries"]?.array)
        let entries = try #require(page.json["entries"]?.array)
        #expect(entries.count == 2)
        for (entry, sent) in zip(entries, sent) {
            #expect(entry["sealed"] == sent["sealed"] && entry["id"] == sent["id"])
            #expect(entry["seq"] == "1" && entry["version"] == "1")
            #expect(entry["kind"] == 0 && entry["epoch"] == 1)
        }
    }

    @Test func `a change moves its entry to the new seq, and counts no other`() async throws {
        let (test, _) = try server()
        let head = TestServer.head(after: test.seed.head, count: 6)
        #expect(try await test.push(head, (0, 2), (9, 1)).status == 200)
        #expect(try await test.listed(3) == [TestServer.id(0): "2", TestServer.id(9): "1"])
        #expect(try await test.listed().count == 6)
        let next = TestServer.head(after: head, count: 6)
        #expect(try await test.push(next, (0, 3)).json == ["seq": "5"])
        let page = try await test.get("/v1/manifest?after=0")
        let ids = page.json["entries"]?.array?.compactMap { $0["id"]?.string }
        #expect(ids == [1, 2, 3, 4, 9, 0].map { TestServer.id($0) })
    }

    @Test func `a tombstone is an entry like others, and can live again`() async throws {
        let (test, _) = try server()
        var head = TestServer.head(after: test.seed.head, count: 5)
        for (kind, version) in [(1, 2), (0, 3)] {
            var entry = AccountSeed.Entry(
                id: TestServer.id(0), seq: 0, sealed: Base64URL.encode(TestServer.bytes(296)))
            (entry.kind, entry.version) = (kind, UInt64(version))
            let line = try JSONTree(parsing: Array(entry.line.utf8))
            let answer = try await test.send(
                "POST", "/v1/manifest", ["head": .string(head), "entries": [line]])
            #expect(answer.status == 200)
            let entries = try await test.get("/v1/manifest/entries?id=\(TestServer.id(0))")
            #expect(entries.json["entries"]?.array?.map { $0["kind"] } == [JSONTree(kind)])
            head = TestServer.head(after: head, count: 5)
        }
    }

    @Test func `a head that does not follow is head-moved, with the one that is there`()
        async throws
    {
        let (test, next) = try server()
        let stored = test.seed.head
        let wrong = [
            TestServer.head(after: nil, count: 6), TestServer.head(after: next, count: 6),
            // The right seq over another head before it.
            TestServer.head(
                after: TestServer.head(after: TestServer.head(seq: 1), count: 9), count: 6),
        ]
        for head in wrong {
            let answer = try await test.push(head, (9, 1))
            #expect(answer.status == 409 && answer.code == "head-moved")
            #expect(answer.json["head"] == JSONTree(stored))
        }
        #expect(try await test.head() == stored)
        #expect(try await test.listed().count == 5)
        let empty = try TestServer(entries: 0)
        let early = try await empty.push(next, (9, 1))
        #expect(early.code == "head-moved" && early.json["head"] == .null)
    }

    @Test func `the same push twice is one push`() async throws {
        let (test, next) = try server()
        let body = TestServer.push(next, [(9, 1)])
        for _ in 0..<3 {
            let answer = try await test.send("POST", "/v1/manifest", body)
            #expect(answer.status == 200 && answer.json == ["seq": "4"])
        }
        #expect(try await test.listed()[TestServer.id(9)] == "1")
        // Once another has followed, it is a push that comes too late.
        let after = TestServer.head(after: next, count: 6)
        #expect(try await test.push(after, (9, 2)).status == 200)
        let late = try await test.send("POST", "/v1/manifest", body)
        #expect(late.code == "head-moved" && late.json["head"]?.string == after)
    }

    @Test func `a push whose answer is lost has happened`() async throws {
        let (test, next) = try server()
        _ = try await test.token()
        test.server.faults.add(.post("/v1/manifest"), times: 1, .drop())
        let body = TestServer.push(next, [(9, 1)])
        #expect(try await test.send("POST", "/v1/manifest", body).status == 0)
        #expect(try await test.head() == next)
        #expect(try await test.send("POST", "/v1/manifest", body).status == 200)
    }

    @Test func `of pushes at once one is taken, and the others hear which`() async throws {
        let (test, _) = try server()
        _ = try await test.token()
        let heads = (0..<6).map { number in
            TestServer.head(after: test.seed.head, count: 6, salt: UInt8(number + 1))
        }
        let answers = try await withThrowingTaskGroup(of: CurlResult.self) { group in
            for (number, head) in heads.enumerated() {
                group.addTask { try await test.push(head, (20 + number, 1)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.map(\.status).sorted() == [200, 409, 409, 409, 409, 409])
        let stored = try #require(try await test.head())
        #expect(heads.contains(stored))
        for answer in answers where answer.status == 409 {
            #expect(answer.json["head"]?.string == stored)
        }
        #expect(try await test.listed().count == 6)
    }

    @Test func `a count or a version that does not fit is a bad push, and nothing of it stays`()
        async throws
    {
        let (test, next) = try server()
        let wrong: [(String, [(Int, Int)])] = [
            (next, []), (next, [(0, 2)]), (next, [(8, 1), (9, 1)]),
            (next, [(9, 2)]), (next, [(9, 0)]), (next, [(9, 1), (0, 1)]),
            (next, [(9, 1), (0, 3)]), (next, [(9, 1), (9, 1)]), (next, [(9, 1), (9, 2)]),
            (TestServer.head(after: test.seed.head, count: 6, account: TestServer.id(1)), [(9, 1)]),
            (TestServer.head(after: test.seed.head, count: 6, epoch: 0), [(9, 1)]),
        ]
        for (head, entries) in wrong {
            let answer = try await test.send(
                "POST", "/v1/manifest", TestServer.push(head, entries))
            #expect(answer.status == 422 && answer.code == "bad-push", "\(entries)")
        }
        #expect(try await test.head() == test.seed.head)
        #expect(try await test.listed().count == 5)
        #expect(try await test.push(next, (9, 1)).status == 200)
    }

    @Test func `an epoch never falls`() async throws {
        let (test, _) = try server()
        let second = TestServer.head(after: test.seed.head, count: 6, epoch: 2)
        #expect(try await test.push(second, (9, 1)).status == 200)
        let first = TestServer.head(after: second, count: 6, epoch: 1)
        #expect(try await test.push(first, (9, 2)).code == "bad-push")
    }

    @Test(arguments: [
        ("id", "\"xyz\""), ("id", "\"0000000000000000000000000000000A\""), ("version", "1"),
        ("version", "\"01\""), ("version", "\"-1\""), ("kind", "2"), ("kind", "\"0\""),
        ("epoch", "0"), ("epoch", "4294967296"), ("epoch", "\"1\""), ("sealed", "\"A\""),
        ("sealed", "\"AB==\""), ("sealed", "null"), ("sealed", ""),
    ])
    func `an entry that is not one is a bad request`(key: String, value: String) async throws {
        let (test, next) = try server()
        guard case .object(var members)? = TestServer.push(next, [(9, 1)])["entries"]?.array?.first
        else { return }
        members.removeAll { $0.key == key }
        if !value.isEmpty { members.append((key, try JSONTree(parsing: Array(value.utf8)))) }
        let body: JSONTree = ["head": .string(next), "entries": [.object(members)]]
        let answer = try await test.send("POST", "/v1/manifest", body)
        #expect(answer.status == 400 && answer.code == "bad-request")
        #expect(try await test.head() == test.seed.head)
    }

    @Test func `a body that is no push is a bad request`() async throws {
        let (test, next) = try server()
        let bodies = [
            "", "[]", "{}", #"{"head":"\#(next)"}"#, #"{"entries":[]}"#,
            #"{"head":"AAAA","entries":[]}"#, #"{"head":null,"entries":[]}"#,
            #"{"head":"\#(next)","entries":{}}"#,
            #"{"head":"\#(next)","head":"\#(next)","entries":[]}"#,
        ]
        for body in bodies {
            let answer = try await test.send("POST", "/v1/manifest", Array(body.utf8))
            #expect(answer.status == 400 && answer.code == "bad-request", "\(body)")
        }
    }

    @Test func `5,000 entries are a push and one more is too large`() async throws {
        let test = try TestServer(entries: 0)
        for count in [5_001, 5_000] {
            let head = TestServer.head(after: nil, count: count)
            let body = TestServer.push(head, (0..<count).map { ($0, 1) })
            let answer = try await test.send("POST", "/v1/manifest", body)
            #expect(answer.status == (count > 5_000 ? 413 : 200))
            #expect(answer.code == (count > 5_000 ? "too-large" : nil))
        }
        #expect(try await test.listed().count == 1_000)
    }

    @Test func `more than 64 MiB is too large, before it is sent`() async throws {
        let (test, _) = try server()
        let answer = try await test.get(
            "/v1/manifest", "-X", "POST", "-H", "Content-Length: \(64 << 20 + 1)", "-H",
            "Expect: 100-continue", "-d", "x")
        #expect(answer.status == 413 && answer.code == "too-large")
    }

    @Test func `who waits for a head gets it from another's push`() async throws {
        let (test, next) = try server()
        let wait = try await test.start("/v1/manifest/head?after=3&wait=25")
        try await test.server.log.waitFor { $0.path == "/v1/manifest/head" }
        #expect(try await test.push(next, (9, 1)).status == 200)
        let answer = try await wait.result()
        #expect(answer.status == 200 && answer.json["head"]?.string == next)
    }

    @Test func `a push needs a token, and has its own account's alone`() async throws {
        let (test, next) = try server()
        let body = TestServer.push(next, [(9, 1)])
        let answer = try await test.post("/v1/manifest", body)
        #expect(answer.status == 401 && answer.code == "session-ended")
        #expect(try await test.head() == test.seed.head)
    }
}
