import Testing

@testable import SyncPlatform

@Suite(.timeLimit(.minutes(10))) struct `The flow of a transfer` {
    let client = HTTPClient()

    /// Begins a transfer and waits for its end.
    private func run(
        _ request: HTTPRequest, into sink: TestSink,
        meanwhile: @Sendable (HTTPTransferControl) async throws -> Void = { _ in }
    ) async throws -> Result<HTTPHead, HTTPError> {
        let ended = Gate()
        let outcome = Locked<Result<HTTPHead, HTTPError>?>(nil)
        let control = client.start(request, into: sink) { result in
            outcome.withLock {
                #expect($0 == nil, "the end came twice")
                $0 = result
            }
            ended.open()
        }
        try await meanwhile(control)
        #expect(await ended.opened())
        return try #require(outcome.withLock { $0 })
    }

    // MARK: - Stalls

    @Test(arguments: ["", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"])
    func `silence ends a transfer, before the first byte and after it`(beginning: String)
        async throws
    {
        let server = ScriptedServer { connection in
            guard connection.readRequest() != nil else { return }
            connection.send(beginning)
            connection.awaitEnd()
        }
        var request = HTTPRequest(url: try server.url())
        request.stallSeconds = 0.3
        #expect(await client.failure(of: request) == .stalled)
    }

    @Test func `a slow answer is not a stalled one`() async throws {
        let server = ScriptedServer { connection in
            guard connection.readRequest() != nil else { return }
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n")
            for _ in 0..<30 {
                // Paces the server; nothing waits for it to be over.
                Gate().wait(seconds: 0, milliseconds: 100)
                connection.send("x")
            }
        }
        var request = HTTPRequest(url: try server.url())
        request.stallSeconds = 2
        #expect(try await client.data(request).1.count == 30)
    }

    @Test func `less than a byte a second is a stall`() {
        let start = ContinuousClock.now
        var clock = StallClock(limit: .seconds(60), now: start)
        let half = (1...60).map { clock.isStalled(now: start + .seconds($0), bytes: $0 / 2) }
        #expect(half.firstIndex(of: true) == 59)
        clock = StallClock(limit: .seconds(60), now: start)
        let whole = (1...600).map { clock.isStalled(now: start + .seconds($0), bytes: $0) }
        #expect(!whole.contains(true))
    }

    @Test func `an upload that nobody reads stalls`() async throws {
        let server = ScriptedServer { connection in
            _ = connection.readHead()
            connection.send("HTTP/1.1 100 Continue\r\n\r\n")
            Gate().wait(seconds: 20)
        }
        var request = HTTPRequest(
            .put, url: try server.url(), body: [UInt8](repeating: 7, count: 64 << 20))
        request.stallSeconds = 0.5
        #expect(await client.failure(of: request) == .stalled)
    }

    @Test func `a pause is no stall`() async throws {
        let server = ScriptedServer(answering: ok("hello"))
        var request = HTTPRequest(url: try server.url())
        request.stallSeconds = 0.2
        let paused = Gate()
        let isFirst = Locked(true)
        let sink = TestSink(onReceive: { _ in
            let first = isFirst.withLock { first in
                defer { first = false }
                return first
            }
            if first { paused.open() }
            return first ? .pause : .more
        })
        let result = try await run(request, into: sink) { control in
            #expect(await paused.opened())
            // The pause has to outlast the stall limit; that is what is tested.
            try await Task.sleep(for: .seconds(1))
            control.resume()
        }
        #expect(try result.get().status == 200)
        #expect(sink.text == "hello")
    }

    // MARK: - Back-pressure

    @Test(arguments: [0, 1, 100, 70_000, 5_000_000])
    func `pauses lose no byte and double none`(size: Int) async throws {
        let body = pattern(size)
        let server = ScriptedServer { connection in
            while connection.readRequest() != nil {
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
                connection.send(body)
            }
        }
        let control = Locked<HTTPTransferControl?>(nil)
        let calls = Locked(0)
        let sink = TestSink(
            onBegin: { _, itsControl in
                control.withLock { $0 = itsControl }
                itsControl.resume()
                return .pause
            },
            onReceive: { _ in
                let isPause = calls.withLock { calls in
                    calls += 1
                    return calls % 3 == 1
                }
                guard isPause else { return .more }
                // Half of the resumes come from within the call, before the pause is in force.
                let itsControl = control.withLock { $0 }
                if calls.withLock({ $0 % 2 == 0 }) {
                    itsControl?.resume()
                } else {
                    spawn { itsControl?.resume() }
                }
                return .pause
            })
        let request = HTTPRequest(url: try server.url(), bodyLimit: max(size, 1 << 20))
        _ = try await run(request, into: sink).get()
        #expect(sink.bytes == body)
    }

    @Test func `a paused transfer takes no more from the server`() async throws {
        let sent = Locked(0)
        let server = ScriptedServer { connection in
            guard connection.readRequest() != nil else { return }
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(256 << 20)\r\n\r\n")
            let chunk = [UInt8](repeating: 0, count: 1 << 20)
            for _ in 0..<256 where connection.send(chunk) { sent.withLock { $0 += 1 } }
        }
        let paused = Gate()
        let sink = TestSink(onReceive: { _ in
            paused.open()
            return .pause
        })
        let request = HTTPRequest(url: try server.url(), bodyLimit: 1 << 30)
        let result = try await run(request, into: sink) { control in
            #expect(await paused.opened())
            // Other transfers run meanwhile.
            let other = ScriptedServer(answering: ok("other"))
            for _ in 0..<20 {
                let text = try await client.text(HTTPRequest(url: other.url()))
                #expect(text == "other")
            }
            control.cancel()
        }
        #expect(throws: HTTPError.self) { try result.get() }
        // What the sockets' buffers hold, not the body.
        let megabytes = sent.withLock { $0 }
        #expect(megabytes < 64)
    }

    @Test func `a resume that nobody waits for does nothing`() async throws {
        let server = ScriptedServer(answering: ok("hello"))
        let sink = TestSink(onReceive: { _ in .more })
        _ = try await run(HTTPRequest(url: try server.url()), into: sink) { control in
            control.resume()
            control.resume()
        }.get()
        sink.resume()
        #expect(sink.text == "hello")
    }

    // MARK: - Cancellation

    @Test func `a cancelled task ends its transfer at once`() async throws {
        let arrived = Gate()
        let closed = Gate()
        let server = ScriptedServer { connection in
            guard connection.readRequest() != nil else { return }
            arrived.open()
            connection.awaitEnd()
            closed.open()
        }
        let request = HTTPRequest(url: try server.url())
        let task = Task { await client.failure(of: request) }
        #expect(await arrived.opened())
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(await closed.opened())
    }

    @Test func `a task that is cancelled before it asks sends nothing`() async throws {
        let server = ScriptedServer(answering: ok("x"))
        let request = HTTPRequest(url: try server.url())
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return await client.failure(of: request)
        }
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(server.connectionCount == 0)
    }

    @Test func `cancelling at any moment ends every transfer exactly once`() async throws {
        let server = ScriptedServer(answering: ok("hello"))
        let request = HTTPRequest(url: try server.url())
        var whole = 0
        for round in 0..<200 {
            let task = Task { await client.failure(of: request) }
            for _ in 0..<round * 3 { await Task.yield() }
            task.cancel()
            let code = await task.value
            #expect(code == nil || code == .cancelled)
            if code == nil { whole += 1 }
        }
        // What was cancelled leaves nothing behind that would be in the way.
        #expect(try await client.text(request) == "hello")
        #expect(whole < 200)
    }

    @Test func `cancelling in the queue ends a transfer that never began`() async throws {
        var configuration = HTTPConfiguration()
        configuration.maxConnectionsPerHost = 1
        let client = HTTPClient(configuration: configuration)
        let arrived = Gate()
        let goOn = Gate()
        let server = ScriptedServer { connection in
            while connection.readRequest() != nil {
                arrived.open()
                goOn.wait()
                connection.send(ok("x"))
            }
        }
        let request = HTTPRequest(url: try server.url())
        let first = Task { await client.failure(of: request) }
        #expect(await arrived.opened())
        let second = Task { await client.failure(of: request) }
        second.cancel()
        #expect(await second.value == .cancelled)
        goOn.open()
        #expect(await first.value == nil)
        #expect(server.requests.count == 1)
    }

    @Test func `without its client a transfer ends as cancelled`() async throws {
        let arrived = Gate()
        let closed = Gate()
        let ended = Gate()
        let server = ScriptedServer { connection in
            guard connection.readRequest() != nil else { return }
            arrived.open()
            connection.awaitEnd()
            closed.open()
        }
        let request = HTTPRequest(url: try server.url())
        let outcomes = Locked<[HTTPError.Code?]>([])
        weak var gone: HTTPClient?
        do {
            var configuration = HTTPConfiguration()
            configuration.maxConnectionsPerHost = 1
            let client = HTTPClient(configuration: configuration)
            gone = client
            for _ in 0..<3 {
                client.start(request, into: TestSink()) { result in
                    outcomes.withLock {
                        switch result {
                        case .success: $0.append(nil)
                        case .failure(let error): $0.append(error.code)
                        }
                    }
                    ended.open()
                }
            }
            #expect(await arrived.opened())
        }
        #expect(gone == nil)
        for _ in 0..<3 { #expect(await ended.opened()) }
        // One was under way, two were in the queue.
        #expect(outcomes.withLock { $0 } == [.cancelled, .cancelled, .cancelled])
        #expect(await closed.opened())
    }

    @Test func `a completion may begin the next transfer`() async throws {
        let server = ScriptedServer(answering: ok("x"))
        let request = HTTPRequest(url: try server.url())
        let done = Gate()
        let left = Locked(100)
        @Sendable func next() {
            client.start(request, into: TestSink()) { result in
                if case .failure(let error) = result { Issue.record(error) }
                let isLast = left.withLock { left in
                    left -= 1
                    return left == 0
                }
                if isLast { done.open() } else { next() }
            }
        }
        next()
        #expect(await done.opened())
        #expect(server.requests.count == 100)
        #expect(server.connectionCount == 1)
    }

    @Test func `many transfers at once all end`() async throws {
        let server = ScriptedServer { connection in
            while let request = connection.readRequest() {
                connection.send(ok(String(request.prefix { $0 != "\r\n" })))
            }
        }
        let texts = try await withThrowingTaskGroup(of: (Int, String).self) { group in
            for number in 0..<2000 {
                let request = HTTPRequest(url: try server.url("/\(number)"))
                group.addTask { (number, try await client.text(request)) }
            }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        #expect(texts.count == 2000)
        #expect(texts.allSatisfy { $1 == "GET /\($0) HTTP/1.1" })
        #expect(server.connectionCount <= 16)
    }
}
