import Foundation
import Testing

@testable import MockServer

@Suite struct UploadTests {
    let bytes = TestServer.bytes(100_000)

    @Test func `a blob that was put is there, whole and in ranges, and listed`() async throws {
        let test = try TestServer(blobs: [:])
        let answer = try await test.put("new_-9", bytes)
        #expect(answer.status == 201 && answer.body.isEmpty)
        #expect(try await test.get("/v1/blobs/new_-9").body == bytes)
        let head = try await test.get("/v1/blobs/new_-9", "-I")
        #expect(head.status == 200 && head.header("Content-Length") == "100000")
        #expect(head.header("ETag")?.hasPrefix("\"") == true)
        let part = try await test.get("/v1/blobs/new_-9", "-r", "99990-")
        #expect(part.status == 206 && part.body == Array(bytes[99_990...]))
        let list = try await test.get("/v1/blobs").json["blobs"]?.array
        #expect(list?.map { $0["name"] } == ["new_-9"])
        #expect(list?.first?["size"] == 100_000)
    }

    @Test func `a chunked body is a blob too, and an empty one`() async throws {
        let test = try TestServer()
        let chunked = try await test.put("chunked", bytes, ["-H", "Transfer-Encoding: chunked"])
        #expect(chunked.status == 201)
        #expect(try await test.get("/v1/blobs/chunked").body == bytes)
        #expect(try await test.put("empty", []).status == 201)
        #expect(try await test.get("/v1/blobs/empty", "-I").header("Content-Length") == "0")
    }

    @Test func `a record is never replaced, and a deleted name stays taken`() async throws {
        let test = try TestServer()
        let original = test.seed.blobs["blob"]
        for name in ["blob", "second"] {
            if name == "second" { #expect(try await test.put(name, bytes).status == 201) }
            let again = try await test.put(name, [1])
            #expect(again.status == 412 && again.code == "exists")
        }
        #expect(try await test.get("/v1/blobs/blob").body == original)
        #expect(try await test.send("DELETE", "/v1/blobs/second").status == 204)
        #expect(try await test.put("second", bytes).code == "exists")
        #expect(try await test.get("/v1/blobs/second").code == "blob-gone")
    }

    @Test func `a put without If-None-Match is a bad request`() async throws {
        let test = try TestServer()
        for header in ["X: y", "If-None-Match: \"a\""] {
            let answer = try await test.send("PUT", "/v1/blobs/new", bytes, ["-H", header])
            #expect(answer.status == 400 && answer.code == "bad-request")
        }
        #expect(try await test.get("/v1/blobs/new").status == 404)
    }

    @Test(arguments: [
        "a.b", "a%20b", "a%2Fb", "%C3%A9", String(repeating: "a", count: 65), "a%00b", "..%2Fa",
    ])
    func `a name that is no record's is a bad request for all that write`(name: String)
        async throws
    {
        let test = try TestServer()
        #expect(try await test.put(name, bytes).code == "bad-request")
        #expect(try await test.patch(name, bytes, at: 0, of: 100_000).code == "bad-request")
        #expect(try await test.send("DELETE", "/v1/blobs/\(name)").code == "bad-request")
        #expect(try await test.get("/v1/uploads/\(name)", "-I").status == 400)
        #expect(try await test.get("/v1/blobs").json["blobs"]?.array?.count == 1)
    }

    @Test func `the longest name is a name`() async throws {
        let test = try TestServer()
        let name = String(repeating: "-", count: 64)
        #expect(try await test.put(name, bytes).status == 201)
        #expect(try await test.get("/v1/blobs/\(name)").body == bytes)
    }

    @Test func `a blob that is too large is refused before it is sent`() async throws {
        var options = ServerOptions()
        options.limits.blob = 2 << 20
        let test = try TestServer(options: options)
        let large = [UInt8](repeating: 1, count: 2 << 20 + 1)
        let put = try await test.put("large", large, ["-H", "Expect: 100-continue"])
        #expect(put.status == 413 && put.code == "too-large")
        let patch = try await test.patch("large", large, at: 0, of: large.count)
        #expect(patch.status == 413 && patch.code == "too-large")
        try await test.server.log.settled()
        #expect(test.server.log.entries.last?.bodyCount == 0)
        #expect(try await test.put("fits", Array(large.dropFirst())).status == 201)
        // One that does not say its length is found out.
        let chunked = try await test.put("large", large, ["-H", "Transfer-Encoding: chunked"])
        #expect(chunked.status == 413 || chunked.status == 0)
        #expect(try await test.get("/v1/blobs/large").status == 404)
    }

    @Test func `over 8 MiB a blob has to come in parts`() async throws {
        let test = try TestServer()
        let large = [UInt8](repeating: 1, count: 8 << 20 + 1)
        let answer = try await test.put("large", large, ["-H", "Expect: 100-continue"])
        #expect(answer.status == 413 && answer.code == "too-large")
        #expect(try await test.put("large", Array(large.dropFirst())).status == 201)
    }

    @Test func `a full store says so, until something is deleted`() async throws {
        var options = ServerOptions()
        options.limits.total = 150_000
        let test = try TestServer(options: options)
        #expect(try await test.put("first", bytes).status == 201)
        let put = try await test.put("second", bytes)
        #expect(put.status == 507 && put.code == "store-full")
        let patch = try await test.patch("second", bytes, at: 0, of: 100_000)
        #expect(patch.status == 507 && patch.code == "store-full")
        // What was promised counts before it has come.
        #expect(try await test.patch("third", [1], at: 0, of: 40_000).status == 204)
        #expect(try await test.put("fourth", Array(bytes.prefix(20_000))).code == "store-full")
        #expect(try await test.send("DELETE", "/v1/blobs/first").status == 204)
        #expect(try await test.put("fourth", bytes).status == 201)
    }

    @Test func `a put that is cut leaves nothing, and its name free`() async throws {
        let test = try TestServer()
        _ = try await test.token()
        test.server.faults.add(.put("/v1/blobs/"), times: 1, .cutBody(at: .fraction(0.5)))
        #expect(try await test.put("new", bytes).status == 0)
        #expect(try await test.get("/v1/blobs/new").status == 404)
        #expect(try await test.offset("new") == nil)
        #expect(try await test.put("new", bytes).status == 201)
        #expect(try await test.get("/v1/blobs/new").body == bytes)
    }

    @Test func `a put whose answer is lost has happened, and HEAD tells`() async throws {
        let test = try TestServer()
        _ = try await test.token()
        test.server.faults.add(.put("/v1/blobs/"), times: 1, .drop())
        #expect(try await test.put("new", bytes).status == 0)
        #expect(try await test.put("new", bytes).code == "exists")
        #expect(try await test.get("/v1/blobs/new", "-I").header("Content-Length") == "100000")
    }

    @Test func `of puts of one name at once one is taken, and all of it`() async throws {
        let test = try TestServer()
        _ = try await test.token()
        let bodies = (0..<5).map { [UInt8](repeating: UInt8($0), count: 200_000) }
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for body in bodies { group.addTask { try await test.put("new", body).status } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.sorted() == [201, 412, 412, 412, 412])
        #expect(bodies.contains(try await test.get("/v1/blobs/new").body))
    }

    @Test func `a fault answers before the body when the client waits for a word`() async throws {
        let test = try TestServer()
        _ = try await test.token()
        test.server.faults.add(
            .put("/v1/blobs/"), .problem(503, code: "busy", headers: [Header("Retry-After", "1")]))
        for arguments in [["-H", "Expect: 100-continue"], ["-H", "Expect:"]] {
            let answer = try await test.put("new", bytes, arguments)
            #expect(answer.status == 503 && answer.code == "busy")
        }
        try await test.server.log.settled()
        #expect(test.server.log.entries.suffix(2).allSatisfy { $0.fault != nil })
        test.server.faults.clear()
        #expect(try await test.put("new", bytes).status == 201)
    }

    @Test func `without a socket, a body is taken as a whole`() async throws {
        let test = try TestServer()
        let token = try await test.token()
        func ask(_ method: String, _ path: String, _ more: [Header], _ body: [UInt8]) -> Answer? {
            let headers = [Header("Authorization", "Bearer \(token)")] + more
            let outcome = test.server.service.answer(
                Incoming(method: method, path: path, headers: headers, body: body), [])
            guard case .answer(let answer) = outcome else { return nil }
            return answer
        }
        let none = Header("If-None-Match", "*")
        #expect(ask("PUT", "/v1/blobs/new", [none], bytes)?.status == 201)
        #expect(ask("PUT", "/v1/blobs/new", [none], bytes)?.status == 412)
        let place = [
            Header("Content-Type", "application/offset+octet-stream"), Header("Upload-Offset", "0"),
            Header("Upload-Length", "9"),
        ]
        #expect(ask("PATCH", "/v1/uploads/part", place, [1, 2])?.status == 204)
        #expect(ask("PATCH", "/v1/uploads/part", place, [1, 2])?.status == 409)
        #expect(ask("PATCH", "/v1/uploads/many", place, bytes)?.status == 400)
        #expect(try await test.get("/v1/blobs/new").body == bytes)
        #expect(try await test.offset("part") == 2)
    }

    @Test func `an upload needs a token`() async throws {
        let test = try TestServer()
        for (method, path) in [("PUT", "blobs"), ("PATCH", "uploads"), ("DELETE", "blobs")] {
            let answer = try await curl(
                "-X", method, "-d", "x", "\(test.server.url)/v1/\(path)/new")
            #expect(answer.status == 401 && answer.code == "session-ended")
        }
    }

    @Test func `a deletion is 204, also when the blob was gone or never was`() async throws {
        let test = try TestServer()
        for name in ["blob", "blob", "never"] {
            let answer = try await test.send("DELETE", "/v1/blobs/\(name)")
            #expect(answer.status == 204 && answer.body.isEmpty)
        }
        #expect(try await test.get("/v1/blobs/blob").code == "blob-gone")
        #expect(try await test.get("/v1/blobs/blob", "-I").status == 410)
        #expect(try await test.get("/v1/blobs/never").code == "no-such-blob")
        #expect(try await test.get("/v1/blobs").json["blobs"] == [])
        // A name that was never a blob's is still free.
        #expect(try await test.put("never", bytes).status == 201)
    }
}

extension TestServer {
    func send(_ method: String, _ path: String) async throws -> CurlResult {
        try await get(path, "-X", method)
    }
}
