import Testing

@testable import SyncPlatform

@Suite(.timeLimit(.minutes(10))) struct `The limit of the rate` {
    private func client(_ rate: Int) -> HTTPClient {
        HTTPClient(configuration: HTTPConfiguration(limitRate: rate))
    }

    /// Serves the same body to every request.
    private func server(_ body: [UInt8]) -> ScriptedServer {
        ScriptedServer { connection in
            while connection.readRequest() != nil {
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
                connection.send(body)
            }
        }
    }

    // MARK: - The bucket

    @Test(
        arguments: [
            // Full: a quarter of a second's worth, then as fast as it fills.
            (
                rate: 1 << 18,
                draws: [(0, 1 << 16, nil), (0, 1 << 18, 1000), (500, 1 << 18, 2000)]
            ),
            // At least 16 KiB, however slow it fills.
            (rate: 1 << 10, draws: [(0, 16 << 10, nil), (0, 1 << 10, 1000), (9000, 8 << 10, nil)]),
            // Never more than full.
            (rate: 1 << 18, draws: [(60_000, 1 << 16, nil), (60_000, 1 << 17, 60_500)]),
            // More at once than it holds only takes longer.
            (rate: 1 << 18, draws: [(0, 1 << 18, 750), (750, 1 << 16, 1000), (1000, 0, nil)]),
            // No rate at all would never end.
            (rate: 0, draws: [(0, 16 << 10, nil), (0, 1, 1000)]),
            (rate: .max, draws: [(0, 1 << 40, nil), (0, 1 << 40, nil)]),
        ] as [(rate: Int, draws: [(at: Int, count: Int, due: Int?)])])
    func `a bucket pays out its burst and then its rate`(
        rate: Int, draws: [(at: Int, count: Int, due: Int?)]
    ) {
        let start = ContinuousClock.now
        var bucket = TokenBucket(rate: rate, now: start)
        for (at, count, due) in draws {
            let drawn = bucket.draw(count, now: start + .milliseconds(at))
            #expect(drawn == due.map { start + .milliseconds($0) }, "\(count) bytes at \(at) ms")
        }
    }

    @Test func `what is given back can be drawn again, but no more than a full bucket`() {
        let start = ContinuousClock.now
        var bucket = TokenBucket(rate: 1 << 18, now: start)
        #expect(bucket.draw(1 << 18, now: start) == start + .milliseconds(750))
        bucket.giveBack(1 << 18)
        #expect(bucket.draw(1 << 16, now: start) == nil)
        bucket.giveBack(1 << 30)
        #expect(bucket.draw(1 << 16, now: start) == nil)
        #expect(bucket.draw(1 << 18, now: start) == start + .seconds(1))
    }

    // MARK: - Transfers

    @Test func `a transfer is no faster than the limit`() async throws {
        let body = pattern(512 << 10)
        let server = server(body)
        let client = client(1 << 20)
        for limit in [512 << 10, 1 << 20] {
            let request = HTTPRequest(url: try server.url(), bodyLimit: limit)
            let start = ContinuousClock.now
            #expect(try await client.data(request).1 == body)
            // Later ones find what has been filled in since, which is a burst at the most.
            #expect(ContinuousClock.now - start >= .milliseconds(250))
        }
    }

    @Test func `all transfers of a client share one limit`() async throws {
        let body = pattern(256 << 10)
        let server = server(body)
        let client = client(1 << 20)
        let start = ContinuousClock.now
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            // Two on each of the client's threads.
            for limit in [512 << 10, 1 << 20, 512 << 10, 1 << 20] {
                let request = HTTPRequest(url: try server.url(), bodyLimit: limit)
                group.addTask { try await client.data(request).1 }
            }
            for try await received in group { #expect(received == body) }
        }
        #expect(ContinuousClock.now - start >= .milliseconds(750))
    }

    @Test func `streams of one connection share the limit and end`() async throws {
        let server = try await SecureServer.running()
        let client = HTTPClient(
            configuration: HTTPConfiguration(
                caFile: server.folder.path("ca.pem"), limitRate: 2 << 20))
        let medium = HTTPRequest(url: try server.url("/medium"))
        let start = ContinuousClock.now
        try await withThrowingTaskGroup(of: (HTTPHead, [UInt8]).self) { group in
            for _ in 0..<8 { group.addTask { try await client.data(medium) } }
            for try await (head, body) in group {
                #expect(head.httpVersion == .http2)
                #expect(body == server.medium)
            }
        }
        let size = 8 * server.medium.count
        let least = Double(size - 512 << 10) / Double(2 << 20)
        #expect(ContinuousClock.now - start >= .seconds(least))
    }

    @Test func `a pause for the limit is no stall`() async throws {
        let body = pattern(24 << 10)
        let server = server(body)
        // A burst of 16 KiB, and a second for the other 8.
        var request = HTTPRequest(url: try server.url())
        request.stallSeconds = 0.5
        let start = ContinuousClock.now
        #expect(try await client(8 << 10).data(request).1 == body)
        #expect(ContinuousClock.now - start >= .seconds(1))
    }

    @Test func `silence is a stall under a limit too`() async throws {
        let server = ScriptedServer { connection in
            guard connection.readRequest() != nil else { return }
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 65536\r\n\r\n")
            connection.send(pattern(20 << 10))
            connection.awaitEnd()
        }
        var request = HTTPRequest(url: try server.url())
        request.stallSeconds = 0.3
        #expect(await client(64 << 10).failure(of: request) == .stalled)
    }

    @Test func `a limited transfer takes no more from the server`() async throws {
        let sent = Locked(0)
        let server = ScriptedServer { connection in
            guard connection.readRequest() != nil else { return }
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(256 << 20)\r\n\r\n")
            let chunk = [UInt8](repeating: 0, count: 1 << 20)
            for _ in 0..<256 where connection.send(chunk) { sent.withLock { $0 += 1 } }
        }
        let client = client(64 << 10)
        let begun = Gate()
        let ended = Gate()
        let sink = TestSink(onReceive: { taken in
            if taken >= 64 << 10 { begun.open() }
            return .more
        })
        let request = HTTPRequest(url: try server.url(), bodyLimit: 1 << 30)
        let control = client.start(request, into: sink) { _ in ended.open() }
        #expect(await begun.opened())
        // What the sockets' buffers hold, not the body.
        #expect(sent.withLock { $0 } < 64)
        control.cancel()
        #expect(await ended.opened())
    }

    // MARK: - Cancellation

    @Test(arguments: [512 << 10, 1 << 20])
    func `a transfer that waits for its share can be cancelled`(bodyLimit: Int) async throws {
        let server = ScriptedServer { connection in
            while let request = connection.readRequest() {
                if request.hasPrefix("GET /none") {
                    connection.send("HTTP/1.1 204 None\r\n\r\n")
                } else {
                    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 65536\r\n\r\n")
                    connection.send(pattern(65536))
                }
            }
        }
        // The second piece would be due in hours.
        let client = client(1)
        let begun = Gate()
        let sink = TestSink(onReceive: { _ in
            begun.open()
            return .more
        })
        let request = HTTPRequest(url: try server.url(), bodyLimit: bodyLimit)
        let task = Task { try await client.send(request, into: sink) }
        #expect(await begun.opened())
        // Answers without a body are not held up.
        let none = HTTPRequest(url: try server.url("/none"), bodyLimit: bodyLimit)
        #expect(try await client.data(none).0.status == 204)
        task.cancel()
        await #expect {
            try await task.value
        } throws: {
            ($0 as? HTTPError)?.code == .cancelled
        }
        #expect(sink.count <= 16 << 10)
    }

    @Test func `a cancelled transfer's share goes to the others`() async throws {
        let body = pattern(10 << 10)
        let server = server(body)
        // The burst is enough for one of them, and the next one would be due in hours.
        let client = client(1)
        let paused = Gate()
        let ended = Gate()
        let sink = TestSink(onReceive: { _ in
            paused.open()
            return .pause
        })
        let request = HTTPRequest(url: try server.url())
        let control = client.start(request, into: sink) { _ in ended.open() }
        #expect(await paused.opened())
        control.cancel()
        #expect(await ended.opened())
        #expect(try await client.data(request).1 == body)
    }

    // MARK: - With the sink's own pauses

    @Test func `a sink that resumes all the time does not beat the limit`() async throws {
        let body = pattern(512 << 10)
        let server = server(body)
        let calls = Locked(0)
        let held = Locked<HTTPTransferControl?>(nil)
        let sink = TestSink(
            onBegin: { _, control in
                held.withLock { $0 = control }
                control.resume()
                return .pause
            },
            onReceive: { _ in
                // Every piece twice: refused, and taken after a resume. And one more is on its way
                // when the limit pauses the transfer.
                held.withLock { $0 }?.resume()
                let isPause = calls.withLock { calls in
                    calls += 1
                    return calls % 2 == 1
                }
                return isPause ? .pause : .more
            })
        let request = HTTPRequest(url: try server.url())
        let start = ContinuousClock.now
        _ = try await client(1 << 20).send(request, into: sink)
        #expect(ContinuousClock.now - start >= .milliseconds(250))
        #expect(sink.bytes == body)
    }

    @Test func `the limit's end of a pause is not the sink's`() async throws {
        let body = pattern(96 << 10)
        let server = server(body)
        let client = client(128 << 10)
        let paused = Gate()
        let ended = Gate()
        let calls = Locked(0)
        let sink = TestSink(onReceive: { _ in
            let isFirst = calls.withLock { calls in
                calls += 1
                return calls == 1
            }
            if isFirst { paused.open() }
            return isFirst ? .pause : .more
        })
        let request = HTTPRequest(url: try server.url())
        client.start(request, into: sink) { result in
            #expect(throws: Never.self) { try result.get() }
            ended.open()
        }
        #expect(await paused.opened())
        // The limit pauses and resumes this one on the same thread meanwhile.
        #expect(try await client.data(request).1 == body)
        #expect(calls.withLock { $0 } == 1)
        sink.resume()
        #expect(await ended.opened())
        #expect(sink.bytes == body)
    }
}
