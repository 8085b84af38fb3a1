import Testing

@testable import MockServer

/// Faults of a blob's body: what B2, B5, B6, B8, B9 and A8 need.
@Suite struct BodyFaultTests {
    let bytes = TestServer.bytes(200_000)

    func server() throws -> TestServer { try TestServer(blobs: ["blob": bytes]) }

    /// curl's exit codes: what it thinks of how an answer ended.
    enum Exit {
        static let whole: Int32 = 0
        static let partial: Int32 = 18
        static let nothing: Int32 = 52
        static let reset: Int32 = 56
    }

    @Test(arguments: [
        (Delivery.Framing.length, Exit.partial), (.chunked, Exit.partial),
        (.untilClose, Exit.whole),
    ])
    func `a cut leaves 60 percent and a clean end, however the length is told`(
        framing: Delivery.Framing, exit: Int32
    ) async throws {
        let test = try server()
        test.server.faults.add(
            .get("/v1/blobs/"), times: 1, .framing(framing), .cut(at: .fraction(0.6)))
        let answer = try await test.get("/v1/blobs/blob")
        #expect(answer.exit == exit && answer.status == 200)
        #expect(answer.body == Array(bytes[..<120_000]))
        #expect(answer.header("Content-Length") == (framing == .length ? "200000" : nil))
        #expect(answer.header("Transfer-Encoding") == (framing == .chunked ? "chunked" : nil))
        let again = try await test.get("/v1/blobs/blob")
        #expect(again.exit == 0 && again.body == bytes)

        try await test.server.log.settled()
        let entry = try #require(test.blobRequests.first)
        #expect(entry.bytesSent == 120_000 && entry.ending == .cut && entry.status == 200)
    }

    @Test func `a reset comes after the bytes before it have arrived`() async throws {
        let test = try server()
        test.server.faults.add(.get("/v1/blobs/"), times: 1, .cut(at: .bytes(70_000), .reset))
        let answer = try await test.get("/v1/blobs/blob")
        #expect(answer.exit == Exit.reset && answer.body == Array(bytes[..<70_000]))
    }

    @Test func `an answer can be chunked, or end with the connection, and be right`() async throws {
        let test = try server()
        test.server.faults.add(.get("/v1/blobs/"), times: 1, .framing(.chunked))
        test.server.faults.add(.get("/v1/blobs/"), times: 1, .framing(.untilClose))
        for _ in 0..<2 {
            let answer = try await test.get("/v1/blobs/blob")
            #expect(answer.exit == 0 && answer.body == bytes)
            #expect(answer.header("Content-Length") == nil)
        }
    }

    @Test func `a Content-Length can be too long or too short for its body`() async throws {
        let test = try server()
        test.server.faults.add(.get("/v1/blobs/"), times: 1, .framing(.claimed(300_000)))
        test.server.faults.add(.get("/v1/blobs/"), times: 1, .header("Content-Length", "1000"))
        let long = try await test.get("/v1/blobs/blob")
        #expect(long.exit == Exit.partial && long.body == bytes)
        #expect(long.header("Content-Length") == "300000")
        let short = try await test.get("/v1/blobs/blob")
        #expect(short.header("Content-Length") == "1000" && short.body == Array(bytes[..<1000]))
    }

    @Test func `a body stalls until its gate opens`() async throws {
        let test = try server()
        let gate = FaultGate()
        test.server.faults.add(.get("/v1/blobs/"), times: 1, .stall(at: .bytes(65_592), gate))
        let transfer = try await test.start("/v1/blobs/blob")
        try await gate.reached()
        #expect(test.blobRequests.first?.ending == .open)
        #expect(test.blobRequests.first?.bytesSent == 0)
        gate.open()
        let answer = try await transfer.result()
        #expect(answer.exit == 0 && answer.body == bytes)
    }

    @Test func `a stall at 0 lets the headers through`() async throws {
        let test = try server()
        test.server.faults.add(.get("/v1/blobs/"), .stall(at: .bytes(0), FaultGate()))
        let answer = try await test.get("/v1/blobs/blob", "--max-time", "1")
        #expect(answer.exit == 28 && answer.status == 200 && answer.body.isEmpty)
    }

    @Test func `a client that gives up in a stall is noticed`() async throws {
        let test = try server()
        let gate = FaultGate()
        test.server.faults.add(.get("/v1/blobs/"), .stall(at: .fraction(0.5), gate))
        let transfer = try await test.start("/v1/blobs/blob")
        try await gate.reached()
        transfer.stop()
        try await test.server.log.waitFor { $0.ending == .cut && $0.bytesSent == 100_000 }
    }

    @Test func `a server that stops ends what stalls`() async throws {
        let test = try server()
        let gate = FaultGate()
        test.server.faults.add(.get("/v1/blobs/"), .stall(at: .fraction(0.5), gate))
        let transfers = [
            try await test.start("/v1/blobs/blob"), try await test.start("/v1/blobs/blob"),
        ]
        try await gate.reached(by: 2)
        test.server.stop()
        for transfer in transfers { #expect(try await transfer.result().exit == Exit.partial) }
    }

    @Test func `a slow body comes whole, and takes its time`() async throws {
        let test = try TestServer(blobs: ["blob": TestServer.bytes(20)])
        test.server.faults.add(.get("/v1/blobs/"), times: 1, .pace(bytes: 1, seconds: 0.02))
        let answer = try await test.get("/v1/blobs/blob")
        #expect(answer.exit == 0 && answer.body == test.seed.blobs["blob"])
        try await test.server.log.settled()
        let took = try #require(test.blobRequests.first?.took)
        #expect(took >= 0.36)
    }

    @Test func `a rate holds bytes a second`() async throws {
        let test = try server()
        test.server.faults.add(.get("/v1/blobs/"), times: 1, .rate(400_000))
        let answer = try await test.get("/v1/blobs/blob")
        #expect(answer.exit == 0 && answer.body == bytes)
        try await test.server.log.settled()
        let took = try #require(test.blobRequests.first?.took)
        #expect(took >= 0.4)
    }

    @Test func `a byte of the stored blob is flipped, whatever range is asked for`() async throws {
        let test = try server()
        let id = test.server.faults.add(.get("/v1/blobs/"), times: 2, .flip(at: 100_000))
        var wrong = bytes
        wrong[100_000] ^= 0xFF
        #expect(try await test.get("/v1/blobs/blob").body == wrong)
        let part = try await test.get("/v1/blobs/blob", "-r", "99999-100001")
        #expect(part.body == Array(wrong[99_999...100_001]))
        #expect(try await test.get("/v1/blobs/blob").body == bytes)
        #expect(test.server.faults.hits(id) == 2)
    }

    @Test func `a truncated blob agrees with its length, and ranges behind it are 416`()
        async throws
    {
        let test = try server()
        test.server.faults.add(.get("/v1/blobs/"), .truncate(to: 65_592))
        let whole = try await test.get("/v1/blobs/blob")
        #expect(whole.exit == 0 && whole.body == Array(bytes[..<65_592]))
        #expect(whole.header("Content-Length") == "65592")
        let rest = try await test.get("/v1/blobs/blob", "-H", "Range: bytes=65592-")
        #expect(rest.status == 416 && rest.header("Content-Range") == "bytes */65592")
    }

    @Test func `another blob's bytes come under this one's tag, or under another`() async throws {
        let other = TestServer.bytes(200_000)
        let test = try TestServer(blobs: ["blob": bytes, "other": other])
        let etag = try await test.get("/v1/blobs/blob", "-I").header("ETag")
        test.server.faults.add(.get("/v1/blobs/blob"), times: 1, .serve(blob: "other"))
        test.server.faults.add(
            .get("/v1/blobs/blob"), times: 1, .serve(blob: "other"), .header("ETag", "\"new\""))
        let same = try await test.get("/v1/blobs/blob", "-r", "10-19")
        #expect(same.body == Array(other[10..<20]) && same.header("ETag") == etag)
        #expect(try await test.get("/v1/blobs/blob").header("ETag") == "\"new\"")
    }

    @Test func `an answer can be dropped after it was made, or before`() async throws {
        let test = try server()
        let refresh: JSONTree = ["refresh": .string(try await test.refreshValue())]
        test.server.faults.add(.post("/v1/sessions/refresh"), times: 1, .drop(.reset))
        let lost = try await test.post("/v1/sessions/refresh", refresh)
        #expect(lost.exit == Exit.reset)
        // B18: the old value still works, so nobody is signed out.
        let first = try await test.post("/v1/sessions/refresh", refresh)
        #expect(first.status == 200)
        let token = try #require(first.json["token"]?.string)
        let use = try await curl(
            "-H", "Authorization: Bearer \(token)", "\(test.server.url)/v1/keys")
        #expect(use.status == 200)

        test.server.faults.add(.all, times: 1, .drop(handling: false))
        #expect(try await test.get("/v1/sessions/current", "-X", "DELETE").exit == Exit.nothing)
        #expect(try await test.get("/v1/keys").status == 200)
    }

    @Test func `hundreds of requests that wait need no threads`() async throws {
        let test = try server()
        let gate = FaultGate()
        test.server.faults.add(.get("/v1/blobs/"), .hold(gate))
        let urls = (1...300).map { _ in "\(test.server.url)/v1/blobs/blob" }
        let transfers = try Curl(
            ["-H", "Authorization: Bearer \(try await test.token())", "--parallel"]
                + ["--parallel-immediate", "--parallel-max", "300", "-r", "0-9"] + urls)
        try await gate.reached(by: 300)
        // The server still answers others at once.
        #expect(try await test.get("/v1/keys").status == 200)
        gate.open()
        _ = try await transfers.result()
        try await test.server.log.settled()
        #expect(test.blobRequests.count { $0.status == 206 && $0.bytesSent == 10 } == 300)
    }
}
