import SyncPlatform
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Answers over HTTP` {
    let client = HTTPClient()

    private func failure(_ answer: String, _ change: (inout HTTPRequest) -> Void = { _ in })
        async throws -> HTTPError.Code?
    {
        let server = ScriptedServer { connection in
            guard connection.readRequest() != nil else { return }
            connection.send(answer)
        }
        var request = HTTPRequest(url: try server.url())
        change(&request)
        return await client.failure(of: request)
    }

    @Test func `a whole answer comes with head and body`() async throws {
        let server = ScriptedServer(answering: ok("hello", "ETag: \"x\"\r\nX: 1\r\nX: 2\r\n"))
        let (head, body) = try await client.data(HTTPRequest(url: try server.url("/a?b")))
        #expect(head.status == 200)
        #expect(head.httpVersion == .http1_1)
        #expect(head.contentLength == 5)
        #expect(head["etag"] == "\"x\"")
        #expect(head.headers.values("x") == ["1", "2"])
        #expect(head.url == (try server.url("/a?b")))
        #expect(head.redirects == 0)
        #expect(body == Array("hello".utf8))
        #expect(server.requests.first?.hasPrefix("GET /a?b HTTP/1.1\r\n") == true)
    }

    @Test func `an error status is an answer`() async throws {
        let server = ScriptedServer(answering: "HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno")
        let (head, body) = try await client.data(HTTPRequest(url: try server.url()))
        #expect(head.status == 404)
        #expect(body == Array("no".utf8))
    }

    @Test func `chunks make a body, and a trailer is no header`() async throws {
        let server = ScriptedServer(
            answering: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 99\r\n\r\n"
                + "3\r\nabc\r\n2\r\nde\r\n0\r\nX-Late: 1\r\n\r\n")
        let (head, body) = try await client.data(HTTPRequest(url: try server.url()))
        #expect(head.contentLength == nil)
        #expect(head["x-late"] == nil)
        #expect(body == Array("abcde".utf8))
    }

    @Test func `a body without a length ends with its connection`() async throws {
        let server = ScriptedServer { connection in
            guard connection.readRequest() != nil else { return }
            connection.send("HTTP/1.0 200 OK\r\n\r\nabc")
        }
        let (head, body) = try await client.data(HTTPRequest(url: try server.url()))
        #expect(head.contentLength == nil)
        #expect(head.httpVersion == .http1_0)
        #expect(body == Array("abc".utf8))
    }

    @Test func `interim answers are passed over`() async throws {
        let server = ScriptedServer(
            answering: "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 102 W\r\n\r\n" + ok("yes"))
        let (head, body) = try await client.data(HTTPRequest(url: try server.url()))
        #expect(head.status == 200)
        #expect(head["link"] == nil)
        #expect(body == Array("yes".utf8))
    }

    @Test func `an answer without a body begins all the same`() async throws {
        let server = ScriptedServer(answering: "HTTP/1.1 204 No\r\n\r\n")
        let sink = TestSink()
        let head = try await client.send(HTTPRequest(url: try server.url()), into: sink)
        #expect(head.status == 204)
        #expect(sink.heads.map(\.status) == [204])
        #expect(sink.count == 0)
    }

    @Test func `HEAD shows the length of a body that does not come`() async throws {
        let server = ScriptedServer(
            answering: "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n")
        let (head, body) = try await client.data(HTTPRequest(.head, url: try server.url()))
        #expect(head.contentLength == .max)
        #expect(body.isEmpty)
        #expect(server.requests.first?.hasPrefix("HEAD / ") == true)
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "a short body"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "no last chunk"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc", "half a chunk"),
        ("HTTP/1.1 200 OK\r\nContent-Le", "half a head"), ("", "nothing at all"),
    ])
    func `an answer that ends too early was cut`(answer: String, what: Comment) async throws {
        #expect(try await failure(answer) == .cut, what)
    }

    @Test func `a reset in the body is a cut`() async throws {
        let begun = Gate()
        let server = ScriptedServer { connection in
            guard connection.readRequest() != nil else { return }
            connection.send("HTTP/1.1 200 OK\r\n\r\nabc")
            begun.wait()
            connection.reset()
        }
        let sink = TestSink(onReceive: { _ in
            begun.open()
            return .more
        })
        await #expect {
            try await client.send(HTTPRequest(url: try server.url()), into: sink)
        } throws: {
            ($0 as? HTTPError)?.code == .cut
        }
        #expect(sink.text == "abc")
    }

    @Test func `nobody listening is offline`() async throws {
        let url = try {
            let server = ScriptedServer { _ in }
            return try server.url()
        }()
        #expect(await client.failure(of: HTTPRequest(url: url)) == .connect)
        #expect(HTTPError(.connect, operation: "").isOffline)
    }

    @Test func `a body over its limit is refused, announced or not`() async throws {
        let limit = { @Sendable (request: inout HTTPRequest) in request.bodyLimit = 4 }
        #expect(try await failure(ok("12345"), limit) == .tooLarge)
        #expect(try await failure("HTTP/1.1 200 OK\r\n\r\n12345", limit) == .tooLarge)
        #expect(try await failure(ok("1234"), limit) == nil)
    }

    @Test(arguments: [
        "HTTP/1.1 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 999 OK\r\n\r\n", "hello\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/9.9 200 OK\r\n\r\n", "HTTP/1.1 101 Switch\r\nUpgrade: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\na",
        "HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\na",
        "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0x1\r\n\r\na",
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\na",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1 200 OK\r\nX : 1\r\n\r\n",
        "HTTP/1.1 200 OK\r\n: 1\r\n\r\n", "HTTP/1.1 200 OK\r\nX: a\u{1}b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: a\r\n folded\r\n\r\n", "HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ])
    func `what is not proper HTTP is no answer`(answer: String) async throws {
        #expect(try await failure(answer) == .protocolViolation, "\(answer.debugDescription)")
    }

    @Test func `equal lengths, said twice, are one`() async throws {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na"
        #expect(try await failure(answer) == nil)
    }

    @Test func `a head has bounds`() async throws {
        let many = String(repeating: "X: 1\r\n", count: 257)
        #expect(
            try await failure("HTTP/1.1 200 OK\r\n\(many)\r\n") == .protocolViolation)
        let long = String(repeating: "X: \(String(repeating: "a", count: 999))\r\n", count: 66)
        #expect(
            try await failure("HTTP/1.1 200 OK\r\n\(long)\r\n") == .protocolViolation)
        let line = "X: " + String(repeating: "a", count: 200_000)
        #expect(
            try await failure("HTTP/1.1 200 OK\r\n\(line)\r\n\r\n") == .protocolViolation)
        let endless = String(repeating: "HTTP/1.1 102 W\r\nX: 1\r\n\r\n", count: 4000)
        #expect(try await failure(endless) == .protocolViolation)
        let fits = String(repeating: "X: 1\r\n", count: 255)
        #expect(try await failure(ok("a", fits)) == nil)
    }

    @Test func `a sink can stop at the head and in the body`() async throws {
        let server = ScriptedServer(answering: ok("hello"))
        for sink in [TestSink(onBegin: { _, _ in .stop }), TestSink(onReceive: { _ in .stop })] {
            await #expect {
                try await client.send(HTTPRequest(url: try server.url()), into: sink)
            } throws: {
                ($0 as? HTTPError)?.code == .refused
            }
        }
    }

    @Test func `an encoded body that nobody asked for stays as it is`() async throws {
        let server = ScriptedServer(answering: ok("packed", "Content-Encoding: gzip\r\n"))
        let (head, body) = try await client.data(HTTPRequest(url: try server.url()))
        #expect(head["content-encoding"] == "gzip")
        #expect(body == Array("packed".utf8))
        #expect(server.requests.first?.lowercased().contains("accept-encoding") == false)
    }

    @Test func `a body that was asked to be packed is unpacked, within its limit`() async throws {
        // gzip of 100,000 zero bytes.
        let start: [UInt8] = [
            0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xed, 0xc1, 0x31,
            0x01, 0x00, 0x00, 0x00, 0xc2, 0xa0, 0xf5, 0x4f, 0x6d, 0x0d, 0x0f, 0xa0,
        ]
        let end: [UInt8] = [
            0x80, 0x57, 0x03, 0x7d, 0x95, 0x11, 0xd4, 0xa0, 0x86, 0x01, 0x00,
        ]
        let packed = start + [UInt8](repeating: 0, count: 96) + end
        let server = ScriptedServer { connection in
            while connection.readRequest() != nil {
                let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: "
                connection.send("\(head)\(packed.count)\r\n\r\n")
                connection.send(packed)
            }
        }
        var request = HTTPRequest(url: try server.url())
        request.compressed = true
        let (head, body) = try await client.data(request)
        #expect(head.contentLength == UInt64(packed.count))
        #expect(body == [UInt8](repeating: 0, count: 100_000))
        #expect(server.requests.first?.contains("Accept-Encoding: zstd, gzip\r\n") == true)
        request.bodyLimit = 99_999
        #expect(await client.failure(of: request) == .tooLarge)
    }
}
