import Foundation
import Testing

@testable import MockServer

@Suite struct ResumedUploadTests {
    let bytes = TestServer.bytes(300_000)

    func part(_ range: Range<Int>) -> [UInt8] { Array(bytes[range]) }

    @Test func `an upload in parts is a blob when the last one has come`() async throws {
        let test = try TestServer()
        #expect(try await test.get("/v1/uploads/new", "-I").status == 404)
        for start in [0, 100_000] {
            let answer = try await test.patch(
                "new", part(start..<start + 100_000), at: start, of: 300_000)
            #expect(answer.status == 204)
            #expect(answer.header("Upload-Offset") == "\(start + 100_000)")
            #expect(answer.header("Tus-Resumable") == "1.0.0")
            let head = try await test.get("/v1/uploads/new", "-I")
            #expect(head.status == 200 && head.header("Upload-Length") == "300000")
            #expect(head.header("Upload-Offset") == "\(start + 100_000)")
            #expect(try await test.get("/v1/blobs/new").status == 404)
        }
        let last = try await test.patch("new", part(200_000..<300_000), at: 200_000, of: 300_000)
        #expect(last.status == 201 && last.header("Upload-Offset") == "300000")
        #expect(try await test.get("/v1/blobs/new").body == bytes)
        #expect(try await test.get("/v1/uploads/new", "-I").status == 404)
        let late = try await test.patch("new", [], at: 300_000, of: 300_000)
        #expect(late.status == 412 && late.code == "exists")
    }

    @Test func `a cut keeps what came, and the upload goes on from there`() async throws {
        let test = try TestServer()
        _ = try await test.token()
        test.server.faults.add(.patch("/v1/uploads/"), times: 1, .cutBody(at: .bytes(123_456)))
        test.server.faults.add(
            .patch("/v1/uploads/"), times: 1, .cutBody(at: .bytes(1), .reset))
        #expect(try await test.patch("new", bytes, at: 0, of: 300_000).status == 0)
        #expect(try await test.offset("new") == 123_456)
        let rest = part(123_456..<300_000)
        #expect(try await test.patch("new", rest, at: 123_456, of: 300_000).status == 0)
        #expect(try await test.offset("new") == 123_457)
        let last = try await test.patch(
            "new", Array(rest.dropFirst()), at: 123_457, of: 300_000)
        #expect(last.status == 201)
        #expect(try await test.get("/v1/blobs/new").body == bytes)
    }

    @Test func `an upload cut at its very end needs one more request`() async throws {
        let test = try TestServer()
        _ = try await test.token()
        test.server.faults.add(.patch("/v1/uploads/"), times: 1, .cutBody(at: .fraction(1)))
        #expect(try await test.patch("new", bytes, at: 0, of: 300_000).status == 0)
        #expect(try await test.offset("new") == 300_000)
        #expect(try await test.get("/v1/blobs/new").status == 404)
        #expect(try await test.patch("new", [], at: 300_000, of: 300_000).status == 201)
        #expect(try await test.get("/v1/blobs/new").body == bytes)
    }

    @Test func `a client that is killed leaves what it has sent`() async throws {
        let test = try TestServer()
        _ = try await test.token()
        let gate = FaultGate()
        test.server.faults.add(
            .patch("/v1/uploads/"), times: 1, .stallBody(at: .bytes(65_536), gate))
        let file = FileManager.default.temporaryDirectory
            .appendingPathComponent("body-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(bytes).write(to: file)
        let client = try await test.startSending(
            "PATCH", "/v1/uploads/new", file, TestServer.place(0, 300_000))
        try await gate.reached()
        client.stop()
        _ = try await client.result()
        // The rest may still be on its way to the server, which is told that nobody wants it.
        #expect(try await test.offset("new") == 65_536)
        gate.open()
        try await test.server.log.settled()
        #expect(
            try await test.patch("new", part(65_536..<300_000), at: 65_536, of: 300_000).status
                == 201)
        #expect(try await test.get("/v1/blobs/new").body == bytes)
    }

    @Test(arguments: [true, false])
    func `a newer request takes over from one that hangs`(asksFirst: Bool) async throws {
        let test = try TestServer()
        _ = try await test.token()
        let gate = FaultGate()
        test.server.faults.add(
            .patch("/v1/uploads/"), times: 1, .stallBody(at: .bytes(50_000), gate))
        let file = FileManager.default.temporaryDirectory
            .appendingPathComponent("body-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(bytes).write(to: file)
        let hanging = try await test.startSending(
            "PATCH", "/v1/uploads/new", file, TestServer.place(0, 300_000))
        try await gate.reached()
        if asksFirst {
            #expect(try await test.offset("new") == 50_000)
            // What the old request still sends does not move what was just said.
            gate.open()
            #expect(try await hanging.result().status == 0)
            #expect(try await test.offset("new") == 50_000)
        }
        let rest = try await test.patch("new", part(50_000..<300_000), at: 50_000, of: 300_000)
        #expect(rest.status == 201)
        gate.open()
        // It hears that the blob exists, or nothing at all.
        #expect([0, 412].contains(try await hanging.result().status))
        #expect(try await test.get("/v1/blobs/new").body == bytes)
    }

    @Test(arguments: [0, 1, 99_999, 100_001, 300_000])
    func `a wrong offset is 409 with the right one`(offset: Int) async throws {
        let test = try TestServer()
        #expect(try await test.patch("new", part(0..<100_000), at: 0, of: 300_000).status == 204)
        let answer = try await test.patch("new", [], at: offset, of: 300_000)
        #expect(answer.status == 409 && answer.code == "wrong-offset")
        #expect(answer.header("Upload-Offset") == "100000")
        #expect(try await test.offset("new") == 100_000)
        let none = try await test.patch("other", [7], at: 1, of: 10)
        #expect(none.status == 409 && none.header("Upload-Offset") == "0")
        #expect(try await test.offset("other") == nil)
    }

    @Test func `another length, or more bytes than the length, is a bad request`() async throws {
        let test = try TestServer()
        #expect(try await test.patch("new", part(0..<1_000), at: 0, of: 2_000).status == 204)
        for length in [1_999, 2_001, 300_000] {
            let answer = try await test.patch("new", [1], at: 1_000, of: length)
            #expect(answer.status == 400 && answer.code == "bad-request")
        }
        let many = try await test.patch("new", part(1_000..<2_001), at: 1_000, of: 2_000)
        #expect(many.status == 400 && many.code == "bad-request")
        let chunked = try await test.patch(
            "new", part(1_000..<2_001), at: 1_000, of: 2_000,
            ["-H", "Transfer-Encoding: chunked"])
        #expect(chunked.status == 400 && chunked.code == "bad-request")
        #expect(try await test.patch("over", [], at: 11, of: 10).code == "bad-request")
        #expect(
            try await test.patch("new", part(1_000..<2_000), at: 1_000, of: 2_000).status == 201)
        #expect(try await test.get("/v1/blobs/new").body == part(0..<2_000))
    }

    @Test(arguments: [
        ("x", "10"), ("-1", "10"), ("01", "10"), ("", "10"), ("0", "x"), ("0", ""),
        ("18446744073709551615", "18446744073709551616"), ("0", "18446744073709551616"),
    ])
    func `an offset or a length that is no number is a bad request`(
        offset: String, length: String
    ) async throws {
        let test = try TestServer()
        let answer = try await test.patch("new", [1], at: offset, of: length)
        #expect(answer.status == 400 && answer.code == "bad-request")
    }

    @Test func `the largest length of all is too large, not a wrong sum`() async throws {
        let test = try TestServer()
        let answer = try await test.patch("new", [1], at: 0, of: UInt64.max)
        #expect(answer.status == 413 && answer.code == "too-large")
    }

    @Test func `another Content-Type is a bad request`() async throws {
        let test = try TestServer()
        let answer = try await test.send(
            "PATCH", "/v1/uploads/new", [1],
            ["-H", "Content-Type: text/plain", "-H", "Upload-Offset: 0", "-H", "Upload-Length: 1"])
        #expect(answer.status == 400 && answer.code == "bad-request")
    }

    @Test func `an upload to a name that is taken is 412, before it is sent`() async throws {
        let test = try TestServer()
        let answer = try await test.patch(
            "blob", bytes, at: 0, of: 300_000, ["-H", "Expect: 100-continue"])
        #expect(answer.status == 412 && answer.code == "exists")
        try await test.server.log.settled()
        #expect(test.server.log.entries.last?.bodyCount == 0)
        #expect(try await test.send("DELETE", "/v1/blobs/blob").status == 204)
        #expect(try await test.patch("blob", bytes, at: 0, of: 300_000).code == "exists")
    }

    @Test func `a put that is quicker ends the upload of its name`() async throws {
        let test = try TestServer()
        #expect(try await test.patch("new", part(0..<100), at: 0, of: 200).status == 204)
        #expect(try await test.put("new", [1, 2, 3]).status == 201)
        #expect(try await test.patch("new", part(100..<200), at: 100, of: 200).code == "exists")
        #expect(try await test.get("/v1/uploads/new", "-I").status == 404)
        #expect(try await test.get("/v1/blobs/new").body == [1, 2, 3])
    }

    @Test func `an empty blob takes one request`() async throws {
        let test = try TestServer()
        #expect(try await test.patch("empty", [], at: 0, of: 0).status == 201)
        #expect(try await test.get("/v1/blobs/empty", "-I").header("Content-Length") == "0")
    }

    @Test func `an unfinished upload lives a day after its last byte, then is forgotten`()
        async throws
    {
        let clock = ManualClock()
        var options = ServerOptions(tokenLifetime: 1_000_000)
        options.clock = { clock.now }
        let test = try TestServer(options: options)
        #expect(try await test.patch("new", part(0..<100), at: 0, of: 200).status == 204)
        clock.advance(by: 20 * 3600)
        #expect(try await test.patch("new", part(100..<150), at: 100, of: 200).status == 204)
        clock.advance(by: 24 * 3600)
        #expect(try await test.offset("new") == 150)
        clock.advance(by: 1)
        #expect(try await test.offset("new") == nil)
        #expect(try await test.patch("new", [1], at: 150, of: 200).header("Upload-Offset") == "0")
    }

    @Test func `a deletion of an unfinished upload leaves nothing, and its name free`()
        async throws
    {
        let test = try TestServer()
        #expect(try await test.patch("new", part(0..<100), at: 0, of: 200).status == 204)
        #expect(try await test.send("DELETE", "/v1/blobs/new").status == 204)
        #expect(try await test.offset("new") == nil)
        #expect(try await test.put("new", bytes).status == 201)
    }
}
