import Testing

@testable import SyncPlatform

@Suite(.timeLimit(.minutes(10))) struct `Redirects` {
    let client = HTTPClient()

    /// Points every request to where `location` says, but answers "here" under /end.
    private func server(_ location: String, status: Int = 302, body: String = "moved")
        -> ScriptedServer
    {
        ScriptedServer { connection in
            while let request = connection.readRequest() {
                if request.contains(" /end") {
                    connection.send(ok("here"))
                } else {
                    connection.send(
                        "HTTP/1.1 \(status) Moved\r\nLocation: \(location)\r\n"
                            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
                }
            }
        }
    }

    private func request(_ url: HTTPURL, _ method: HTTPRequest.Method = .get) throws
        -> HTTPRequest
    {
        var request = HTTPRequest(method, url: url)
        request.headers = try HTTPHeaders(["Authorization": "Bearer token", "Range": "bytes=0-9"])
        request.redirects = .follow
        return request
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `a redirect is followed, and only its goal is heard`(status: Int) async throws {
        let server = server("end?x", status: status)
        let sink = TestSink()
        let head = try await client.send(request(server.url("/a")), into: sink)
        #expect(head.status == 200)
        #expect(head.redirects == 1)
        #expect(head.url == (try server.url("/end?x")))
        #expect(sink.heads.map(\.status) == [200])
        #expect(sink.text == "here")
        #expect(server.connectionCount == 1)
    }

    @Test func `the same origin keeps the token, another one does not get it`() async throws {
        let goal = server("")
        let same = server("/end")
        let other = server(try goal.url("/end").string)
        _ = try await client.data(request(same.url("/a")))
        #expect(same.requests.allSatisfy { $0.contains("Authorization: Bearer token\r\n") })
        _ = try await client.data(request(other.url("/a")))
        #expect(other.requests.first?.contains("Authorization: Bearer token\r\n") == true)
        let last = try #require(goal.requests.first)
        #expect(!last.lowercased().contains("authorization"))
        #expect(last.contains("Range: bytes=0-9\r\n"))
    }

    @Test func `the way back to the first origin goes without the token`() async throws {
        let first = Locked<String>("")
        let between = ScriptedServer { connection in
            while connection.readRequest() != nil {
                let goal = first.withLock { $0 }
                connection.send(
                    "HTTP/1.1 302 F\r\nLocation: \(goal)\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let server = server(try between.url("/b").string)
        let goal = try server.url("/end").string
        first.withLock { $0 = goal }
        let head = try await client.data(request(server.url("/a"))).0
        #expect(head.redirects == 2)
        #expect(server.requests.last?.contains("Authorization") == false)
    }

    @Test func `HEAD is followed as HEAD`() async throws {
        let server = server("/end", body: "")
        let head = try await client.data(request(server.url("/a"), .head)).0
        #expect(head.redirects == 1)
        #expect(server.requests.allSatisfy { $0.hasPrefix("HEAD ") })
    }

    @Test func `five redirects are followed, six are not`() async throws {
        let count = Locked(0)
        let server = ScriptedServer { connection in
            while connection.readRequest() != nil {
                let hop = count.withLock { count in
                    count += 1
                    return count
                }
                connection.send(
                    hop <= 5
                        ? "HTTP/1.1 302 F\r\nLocation: /\(hop)\r\nContent-Length: 0\r\n\r\n"
                        : ok("here"))
            }
        }
        #expect(try await client.data(request(server.url())).0.redirects == 5)
        count.withLock { $0 = -1 }
        #expect(await client.failure(of: try request(server.url())) == .redirect)
    }

    @Test(arguments: [
        "http://example.org/", "ftp://example.org/", "file:///etc/passwd", "//user@127.0.0.1/",
        "http://127.0.0.1@example.org/", "/a b", "http://2130706433/",
    ])
    func `a redirect to anything but https or this machine is refused`(location: String)
        async throws
    {
        let server = server(location)
        #expect(await client.failure(of: try request(server.url())) == .redirect)
    }

    @Test(arguments: [HTTPRequest.Method.post, .put, .patch, .delete])
    func `what changes something is never sent elsewhere`(method: HTTPRequest.Method)
        async throws
    {
        let server = server("/end", status: 307)
        #expect(await client.failure(of: try request(server.url(), method)) == .redirect)
        #expect(server.requests.count == 1)
    }

    @Test(arguments: ["", "Location: /end\r\nLocation: /other\r\n"])
    func `a redirect without one clear goal is refused`(headers: String) async throws {
        let server = ScriptedServer(
            answering: "HTTP/1.1 302 F\r\n\(headers)Content-Length: 0\r\n\r\n")
        #expect(await client.failure(of: try request(server.url())) == .redirect)
    }

    @Test func `who does not follow gets the redirect as the answer`() async throws {
        let server = server("http://example.org/")
        var request = try request(server.url())
        request.redirects = .none
        let (head, body) = try await client.data(request)
        #expect(head.status == 302)
        #expect(head["location"] == "http://example.org/")
        #expect(body == Array("moved".utf8))
    }

    @Test func `a redirect's endless body is not read`() async throws {
        let server = ScriptedServer { connection in
            while let request = connection.readRequest() {
                guard request.contains(" /end") else {
                    connection.send("HTTP/1.1 302 F\r\nLocation: /end\r\n\r\n")
                    let zeros = [UInt8](repeating: 0, count: 65536)
                    while connection.send(zeros) {}
                    return
                }
                connection.send(ok("here"))
            }
        }
        #expect(try await client.text(request(server.url())) == "here")
    }

    @Test func `from another machine to http on this one is no way`() throws {
        let request = try request(HTTPURL("https://example.org/a"))
        #expect(throws: RedirectRule.Refusal.self) {
            try RedirectRule.next(
                after: 302, locations: ["http://127.0.0.1/"], to: request, at: request.url,
                count: 0)
        }
        let next = try RedirectRule.next(
            after: 302, locations: ["https://b.org/?x"], to: request, at: request.url, count: 0)
        #expect(next?.string == "https://b.org/?x")
    }
}
