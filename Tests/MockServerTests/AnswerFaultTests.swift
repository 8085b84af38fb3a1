import Testing

@testable import MockServer

/// Faults of status, headers, ranges, pages and addresses: what A4, A7, B3, B4, B7, B16, B17 need.
@Suite struct AnswerFaultTests {
    let bytes = TestServer.bytes(100_000)

    /// A server whose user is logged in before any fault is armed.
    func server() async throws -> TestServer {
        let test = try TestServer(blobs: ["blob": bytes])
        _ = try await test.token()
        return test
    }

    @Test func `the first fault that fits acts, for as many requests as it says`() async throws {
        let test = try await server()
        test.server.faults.add(.get("/v1/keys"), .answer(status: 599))
        test.server.faults.add(.get("/v1/blobs/"), skip: 1, times: 2, .answer(status: 500))
        test.server.faults.add(.get("/v1/blobs/"), .answer(status: 503))
        var statuses: [Int] = []
        for _ in 0..<5 { statuses.append(try await test.get("/v1/blobs/blob").status) }
        #expect(statuses == [503, 500, 500, 503, 503])
        test.server.faults.clear()
        #expect(try await test.get("/v1/blobs/blob").status == 200)
    }

    @Test func `a fault can be for ranges, a query or a pattern alone`() async throws {
        let test = try await server()
        test.server.faults.add(Fault.Match(range: true), .answer(status: 500))
        test.server.faults.add(Fault.Match(query: "after=7"), .answer(status: 501))
        test.server.faults.add(Fault.Match(regex: "^/v1/b.*b$"), .answer(status: 502))
        #expect(try await test.get("/v1/keys", "-r", "0-1").status == 500)
        #expect(try await test.get("/v1/manifest?limit=1&after=7").status == 501)
        #expect(try await test.get("/v1/blobs/blob").status == 502)
        #expect(try await test.get("/v1/manifest").status == 200)
    }

    @Test func `a status comes with a problem document, a bare body or HTML`() async throws {
        let test = try await server()
        test.server.faults.add(
            .all, times: 1,
            .problem(403, code: "not-entitled", headers: [Header("X-Why", "unpaid")]))
        let problem = try await test.get("/v1/keys")
        #expect(problem.status == 403 && problem.code == "not-entitled")
        #expect(problem.header("X-Why") == "unpaid" && problem.json["status"] == 403)

        test.server.faults.add(
            .all, times: 1, .answer(status: 503, headers: [Header("Retry-After", "7")]))
        let bare = try await test.get("/v1/keys")
        #expect(bare.status == 503 && bare.body.isEmpty && bare.header("Retry-After") == "7")

        for status in [200, 401, 404, 502] {
            test.server.faults.add(.all, times: 1, .html(status))
            let html = try await test.get("/v1/keys")
            #expect(html.status == status && html.code == nil && html.text.contains("<html>"))
        }
    }

    @Test func `a header is changed, added or taken away`() async throws {
        let test = try await server()
        test.server.faults.add(
            .all, times: 1, .header("ETag", nil), .header("Content-Encoding", "gzip"),
            .header("Date", "Thu, 01 Jan 2026 00:00:00 GMT"), .status(203))
        let answer = try await test.get("/v1/blobs/blob")
        #expect(answer.status == 203 && answer.body == bytes && answer.header("ETag") == nil)
        #expect(answer.header("Content-Encoding") == "gzip")
        #expect(answer.header("Date") == "Thu, 01 Jan 2026 00:00:00 GMT")
    }

    @Test func `an answer is delayed, and held until a gate opens`() async throws {
        let test = try await server()
        test.server.faults.add(.get("/v1/keys"), times: 1, .delay(0.2))
        #expect(try await test.get("/v1/keys").status == 200)
        try await test.server.log.settled()
        let took = try #require(test.server.log.entries.last?.took)
        #expect(took >= 0.2)

        let gate = FaultGate()
        test.server.faults.add(.get("/v1/keys"), times: 1, .hold(gate))
        let held = try await test.start("/v1/keys")
        try await gate.reached()
        #expect(test.server.log.entries.last?.status == 0)
        gate.open()
        #expect(try await held.result().status == 200)
    }

    @Test func `a range is ignored, and asked for by nobody`() async throws {
        let test = try await server()
        test.server.faults.add(Fault.Match(range: true), times: 1, .ignoreRange)
        let whole = try await test.get("/v1/blobs/blob", "-H", "Range: bytes=5-9")
        #expect(whole.status == 200 && whole.body == bytes && whole.header("Content-Range") == nil)
        test.server.faults.add(
            Fault.Match(range: false), times: 1, .unaskedRange(first: 5, last: 9))
        let part = try await test.get("/v1/blobs/blob")
        #expect(part.status == 206 && part.body == Array(bytes[5...9]))
        #expect(part.header("Content-Range") == "bytes 5-9/100000")
    }

    @Test func `another part comes, and Content-Range tells or lies`() async throws {
        let test = try await server()
        test.server.faults.add(.all, times: 1, .shiftRange(by: 100))
        let told = try await test.get("/v1/blobs/blob", "-H", "Range: bytes=50-59")
        #expect(told.status == 206 && told.body == Array(bytes[150...159]))
        #expect(told.header("Content-Range") == "bytes 150-159/100000")
        test.server.faults.add(.all, times: 1, .shiftRange(by: 100, isTold: false))
        let lied = try await test.get("/v1/blobs/blob", "-H", "Range: bytes=50-59")
        #expect(lied.body == Array(bytes[150...159]))
        #expect(lied.header("Content-Range") == "bytes 50-59/100000")
    }

    @Test func `a 206 lacks Content-Range, names another total, or a byte`() async throws {
        let test = try await server()
        test.server.faults.add(.all, times: 1, .header("Content-Range", nil))
        test.server.faults.add(.all, times: 1, .header("Content-Range", "bytes 0-9/99"))
        test.server.faults.add(.all, times: 1, .cut(at: .bytes(9)))
        let range = "Range: bytes=0-9"
        let none = try await test.get("/v1/blobs/blob", "-H", range)
        #expect(none.status == 206 && none.header("Content-Range") == nil)
        let total = try await test.get("/v1/blobs/blob", "-H", range)
        #expect(total.header("Content-Range") == "bytes 0-9/99")
        let short = try await test.get("/v1/blobs/blob", "-H", range)
        #expect(short.exit == 18 && short.body.count == 9 && short.header("Content-Length") == "10")
    }

    @Test func `a part comes as multipart`() async throws {
        let test = try await server()
        test.server.faults.add(.all, times: 1, .multipart)
        let answer = try await test.get("/v1/blobs/blob", "-H", "Range: bytes=0-9")
        #expect(answer.status == 206 && answer.header("Content-Range") == nil)
        #expect(answer.header("Content-Type")?.hasPrefix("multipart/byteranges; boundary=") == true)
        #expect(answer.body.count > 10 && answer.text.contains("Content-Range: bytes 0-9/100000"))
    }

    @Test func `a redirect leads anywhere`() async throws {
        let test = try await server()
        test.server.faults.add(.all, times: 1, .redirect(to: "http://localhost:1/x", status: 307))
        let answer = try await test.get("/v1/blobs/blob")
        #expect(answer.status == 307 && answer.header("Location") == "http://localhost:1/x")
    }

    @Test func `a presigned address works without a token until it expires`() async throws {
        let test = try await server()
        test.server.faults.add(.get("/v1/blobs/blob"), .redirectToSigned())
        let followed = try await test.get("/v1/blobs/blob", "-L")
        #expect(followed.status == 200 && followed.body == bytes)
        #expect(test.server.log.entries.last?.path.hasPrefix("/signed/") == true)

        let address = try #require(try await test.get("/v1/blobs/blob").header("Location"))
        #expect(address.hasPrefix("\(test.server.url)/signed/"))
        let part = try await curl("-r", "10-19", address)
        #expect(part.status == 206 && part.body == Array(bytes[10..<20]))
        test.server.expireSignedAddresses()
        let late = try await curl(address)
        #expect(late.status == 403 && late.header("Content-Type") == "application/xml")
        #expect(try await test.get("/v1/blobs/blob", "-L").status == 200)
    }

    @Test func `a presigned address can have another origin`() async throws {
        let test = try await server()
        let origin = "http://localhost:\(test.server.port)"
        test.server.faults.add(.get("/v1/blobs/blob"), .redirectToSigned(origin: origin))
        let answer = try await test.get("/v1/blobs/blob", "-L", "-4")
        #expect(answer.body == bytes)
        // curl keeps its token from another origin, as a client has to.
        #expect(test.server.log.entries.last?.isAuthorized == false)
    }

    @Test func `the token expires at 70 percent of a transfer`() async throws {
        let test = try await server()
        test.server.faults.add(
            .get("/v1/blobs/"), times: 1, .cut(at: .fraction(0.7)), .then(.expireTokens))
        #expect(try await test.get("/v1/blobs/blob").body.count == 70_000)
        #expect(try await test.get("/v1/blobs/blob").code == "token-expired")
    }

    @Test func `a page has a next and no entries, and the run goes on`() async throws {
        let test = try TestServer(entries: 4)
        test.server.faults.add(.get("/v1/manifest"), skip: 1, times: 2, .page(.emptyWithNext))
        var page = try await test.get("/v1/manifest?limit=2")
        var counts: [Int?] = []
        var tokens: Set<String> = []
        while let next = page.json["next"]?.string {
            tokens.insert(next)
            counts.append(page.json["entries"]?.array?.count)
            page = try await test.get("/v1/manifest?limit=2&page=\(next)")
        }
        counts.append(page.json["entries"]?.array?.count)
        #expect(counts == [2, 0, 0, 2] && tokens.count == 3)
    }

    @Test func `a page repeats its own next`() async throws {
        let test = try TestServer(entries: 6)
        let first = try #require(try await test.get("/v1/manifest?limit=2").json["next"]?.string)
        test.server.faults.add(.get("/v1/manifest"), .page(.repeatedNext))
        let page = try await test.get("/v1/manifest?limit=2&page=\(first)")
        #expect(page.json["next"]?.string == first)
    }

    @Test func `an account looks empty, or has a lower head`() async throws {
        let test = try TestServer(entries: 6)
        test.server.faults.add(.get("/v1/manifest"), times: 1, .page(.emptyAccount))
        let empty = try await test.get("/v1/manifest?after=3")
        #expect(empty.text == #"{"entries":[],"next":null,"head":null}"#)
        let lower = TestServer.head(seq: 1)
        test.server.faults.add(.get("/v1/manifest"), times: 1, .page(PageEdit(head: .text(lower))))
        let page = try await test.get("/v1/manifest")
        #expect(page.json["head"]?.string == lower && page.json["entries"]?.array?.count == 6)
    }

    @Test func `a page's body is cut`() async throws {
        let test = try TestServer(entries: 6)
        test.server.faults.add(.get("/v1/manifest"), times: 1, .cut(at: .fraction(0.5)))
        let page = try await test.get("/v1/manifest")
        #expect(page.exit == 18 && page.json == .null)
        #expect(try await test.get("/v1/manifest").json["entries"]?.array?.count == 6)
    }

    @Test func `a cursor expires after three pages`() async throws {
        let test = try TestServer(entries: 10)
        test.server.faults.add(
            .get("/v1/manifest"), skip: 3, times: 1, .problem(410, code: "cursor-expired"))
        var page = try await test.get("/v1/manifest?limit=2")
        var count = 1
        while let next = page.json["next"]?.string {
            page = try await test.get("/v1/manifest?limit=2&page=\(next)")
            count += 1
        }
        #expect(count == 4 && page.code == "cursor-expired")
    }

    @Test func `a server goes down and comes back at the same address`() async throws {
        let test = try await server()
        let token = try await test.token()
        test.server.stop()
        #expect(try await test.get("/v1/keys").exit == 7)
        try test.server.start()
        #expect(try await test.get("/v1/keys").status == 200)
        #expect(try await test.token() == token)
    }
}
