import Glibc
import SyncPlatform
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Requests and connections` {
    let client = HTTPClient(configuration: HTTPConfiguration(userAgent: "test/1"))

    @Test func `a reused connection carries nothing of the request before`() async throws {
        let server = ScriptedServer(answering: ok("x"))
        var first = HTTPRequest(.put, url: try server.url("/a"), body: Array("body".utf8))
        first.headers = try HTTPHeaders([
            "Range": "bytes=5-9", "Authorization": "Bearer t", "If-Range": "\"e\"",
        ])
        first.compressed = true
        _ = try await client.data(first)
        _ = try await client.data(HTTPRequest(url: try server.url("/b")))
        #expect(server.connectionCount == 1)
        #expect(
            server.requests.last
                == "GET /b HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\nUser-Agent: test/1\r\n"
                + "Accept: */*\r\n\r\n")
    }

    @Test(arguments: [
        (HTTPRequest.Method.post, 0), (.put, 5), (.patch, 70_000), (.post, 3_000_000),
    ])
    func `a body is sent whole, with its length`(method: HTTPRequest.Method, size: Int)
        async throws
    {
        let server = ScriptedServer(answering: "HTTP/1.1 201 C\r\nContent-Length: 0\r\n\r\n")
        let text = String(repeating: "abcdefghij", count: size / 10 + 1).prefix(size)
        let request = HTTPRequest(method, url: try server.url("/p"), body: Array(text.utf8))
        #expect(try await client.data(request).0.status == 201)
        let sent = try #require(server.requests.first)
        #expect(sent.hasPrefix("\(method.rawValue) /p HTTP/1.1\r\n"))
        #expect(sent.contains("\r\nContent-Length: \(size)\r\n"))
        #expect(sent.contains("Expect: 100-continue") == (size > 1 << 20))
        #expect(sent.hasSuffix("\r\n\r\n" + text))
    }

    @Test func `a body that is nil is an empty one where a method has one`() async throws {
        let server = ScriptedServer(answering: "HTTP/1.1 204 N\r\n\r\n")
        _ = try await client.data(HTTPRequest(.post, url: try server.url()))
        _ = try await client.data(HTTPRequest(.delete, url: try server.url()))
        #expect(server.requests.first?.contains("Content-Length: 0\r\n") == true)
        #expect(server.requests.last?.contains("Content-Length") == false)
        #expect(server.requests.last?.hasPrefix("DELETE / ") == true)
    }

    @Test func `a large upload that is refused beforehand sends no body`() async throws {
        let server = ScriptedServer { connection in
            guard let head = connection.readHead() else { return }
            #expect(head.contains("Expect: 100-continue\r\n"))
            connection.send("HTTP/1.1 413 Too Large\r\nContent-Length: 4\r\n\r\nmuch")
            #expect(connection.readHead() == nil)
        }
        let request = HTTPRequest(
            .put, url: try server.url(), body: [UInt8](repeating: 7, count: 5_000_000))
        let (head, body) = try await client.data(request)
        #expect(head.status == 413)
        #expect(body == Array("much".utf8))
    }

    @Test func `an answer that comes in the middle of an upload counts`() async throws {
        let server = ScriptedServer { connection in
            _ = connection.readHead()
            connection.send("HTTP/1.1 100 Continue\r\n\r\n")
            connection.send("HTTP/1.1 507 Full\r\nContent-Length: 0\r\n\r\n")
            connection.awaitEnd()
        }
        let request = HTTPRequest(
            .put, url: try server.url(), body: [UInt8](repeating: 7, count: 64 << 20))
        #expect(try await client.data(request).0.status == 507)
    }

    @Test func `a kept connection that died is replaced, also for a body`() async throws {
        let closed = Gate()
        let server = ScriptedServer { connection in
            guard connection.readRequest() != nil else { return }
            connection.send(ok("x"))
            guard connection.number == 0 else { return connection.awaitEnd() }
            // Takes the next request and dies without a word.
            _ = connection.readHead()
            connection.reset()
            closed.open()
        }
        let request = HTTPRequest(.put, url: try server.url(), body: Array("body".utf8))
        _ = try await client.data(request)
        #expect(try await client.text(request) == "x")
        #expect(await closed.opened())
        #expect(server.requests.map { $0.suffix(4) } == ["body", "body"])
    }

    @Test func `an empty header value is sent as one`() async throws {
        let server = ScriptedServer(answering: ok("x"))
        var request = HTTPRequest(url: try server.url())
        request.headers = try HTTPHeaders(["X-Empty": "", "X-Odd": ";:, \"ü\""])
        _ = try await client.data(request)
        let sent = try #require(server.requests.first)
        #expect(sent.contains("\r\nX-Empty:\r\n"))
        #expect(sent.contains("\r\nX-Odd: ;:, \"ü\"\r\n"))
    }

    @Test func `no more transfers run than the client allows`() async throws {
        var configuration = HTTPConfiguration()
        configuration.maxConcurrentTransfers = 3
        let client = HTTPClient(configuration: configuration)
        let running = Locked((now: 0, most: 0))
        let servers = (0..<4).map { _ in
            ScriptedServer { connection in
                while connection.readRequest() != nil {
                    running.withLock { running in
                        running.now += 1
                        running.most = max(running.most, running.now)
                    }
                    Gate().wait(seconds: 0, milliseconds: 2)
                    running.withLock { $0.now -= 1 }
                    connection.send(ok("x"))
                }
            }
        }
        let urls = try servers.map { try $0.url() }
        await withTaskGroup(of: HTTPError.Code?.self) { group in
            for number in 0..<80 {
                group.addTask { await client.failure(of: HTTPRequest(url: urls[number % 4])) }
            }
            for await code in group { #expect(code == nil) }
        }
        #expect(running.withLock { $0.most } <= 3)
        #expect(servers.allSatisfy { $0.requests.count == 20 })
    }

    @Test func `waiting in the queue is no stall`() async throws {
        var configuration = HTTPConfiguration()
        configuration.maxConnectionsPerHost = 1
        configuration.connectTimeout = 0.5
        let client = HTTPClient(configuration: configuration)
        let server = ScriptedServer { connection in
            while let request = connection.readRequest() {
                if request.contains("/slow") {
                    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
                    for _ in 0..<10 {
                        Gate().wait(seconds: 0, milliseconds: 200)
                        connection.send("x")
                    }
                } else {
                    connection.send(ok("x"))
                }
            }
        }
        var slow = HTTPRequest(url: try server.url("/slow"))
        slow.stallSeconds = 5
        var quick = HTTPRequest(url: try server.url("/quick"))
        quick.stallSeconds = 1
        async let first = client.failure(of: slow)
        async let second = client.failure(of: quick)
        #expect(await [first, second] == [nil, nil])
    }

    @Test func `an error names method and address but no query`() async throws {
        let server = ScriptedServer { _ in }
        do {
            _ = try await client.data(HTTPRequest(url: try server.url("/a?token=s3cret")))
            Issue.record("there was an answer")
        } catch let error as HTTPError {
            #expect(error.operation == "GET http://127.0.0.1:\(server.port)/a")
            #expect(!"\(error)".contains("s3cret"))
        }
    }
}

@Suite struct `A process with a client` {
    @Test func `a proxy of the environment is not for this machine`() async {
        await #expect(processExitsWith: .success) {
            setenv("http_proxy", "http://127.0.0.1:1", 1)
            setenv("all_proxy", "http://127.0.0.1:1", 1)
            let server = ScriptedServer(answering: ok("x"))
            let text = try await HTTPClient().text(HTTPRequest(url: server.url()))
            exit(text == "x" ? 0 : 1)
        }
    }

    @Test func `a proxy of the environment is for other machines`() async {
        await #expect(processExitsWith: .success) {
            let server = ScriptedServer { connection in
                exit(connection.readHead()?.hasPrefix("CONNECT host.invalid:443 ") == true ? 0 : 1)
            }
            setenv("https_proxy", "http://127.0.0.1:\(server.port)", 1)
            _ = try? await HTTPClient().data(HTTPRequest(url: HTTPURL("https://host.invalid/")))
            exit(2)
        }
    }
}
