import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Hosts that ask to wait: one is told, all wait.
@Suite(.timeLimit(.minutes(10))) struct HostGateTests {
    private static func throttled(_ seconds: Int64?) -> RemoteFailure {
        var failure = RemoteFailure(.throttled, "slow down", status: 429, code: "slow-down")
        failure.retryAfter = seconds
        return failure
    }

    // MARK: The gate alone

    @Test func `it opens when the time is over, and not before`() async throws {
        let clock = HeldClock()
        let gate = HostGate(clock: clock, policy: Backoff())
        gate.learn(Self.throttled(5), from: "a")
        #expect(!gate.isOpen("a") && gate.isOpen("b"))
        let waiter = Task { try await gate.pass("a") }
        try await clock.waitFor { $0 == [.seconds(5)] }
        clock.advance(by: .seconds(4))
        #expect(!gate.isOpen("a"))
        clock.advance(by: .seconds(1))
        try await waiter.value
        #expect(gate.isOpen("a"))
        try await gate.pass("b")
    }

    @Test func `who waits longer than a try may is told so at once, with the time that is left`()
        async throws
    {
        let clock = HeldClock()
        let gate = HostGate(clock: clock, policy: Backoff())
        gate.learn(Self.throttled(600), from: "a")
        clock.advance(by: .milliseconds(500))
        let failure = await #expect(throws: RemoteFailure.self) { try await gate.pass("a") }
        #expect(failure?.reason == .throttled && failure?.status == 429)
        #expect(failure?.retryAfter == 600 && failure?.isUnsent == true)
        clock.advance(by: .seconds(570))
        let waiter = Task { try await gate.pass("a") }
        try await clock.waitFor { $0.count == 1 }
        clock.advance(by: .seconds(30))
        try await waiter.value
    }

    @Test func `a longer wait counts, a shorter one, none and a refusal of its own do not`() {
        let gate = HostGate(clock: HeldClock(), policy: Backoff())
        for seconds in [nil, 0] as [Int64?] { gate.learn(Self.throttled(seconds), from: "a") }
        gate.learn(RemoteFailure(.serverError, "no", status: 500), from: "a")
        var own = Self.throttled(10)
        own.isUnsent = true
        gate.learn(own, from: "a")
        #expect(gate.isOpen("a"))
    }

    @Test func `a wait that is extended holds those who wait already`() async throws {
        let clock = HeldClock()
        let gate = HostGate(clock: clock, policy: Backoff())
        gate.learn(Self.throttled(5), from: "a")
        let waiter = Task { try await gate.pass("a") }
        try await clock.waitFor { $0.count == 1 }
        gate.learn(Self.throttled(20), from: "a")
        gate.learn(Self.throttled(1), from: "a")
        clock.advance(by: .seconds(5))
        try await clock.waitFor { $0 == [.seconds(15)] }
        clock.advance(by: .seconds(15))
        try await waiter.value
    }

    @Test func `who is cancelled does not wait on`() async throws {
        let clock = HeldClock()
        let gate = HostGate(clock: clock, policy: Backoff())
        gate.learn(Self.throttled(5), from: "a")
        let waiter = Task { try await gate.pass("a") }
        try await clock.waitFor { $0.count == 1 }
        waiter.cancel()
        let failure = await #expect(throws: RemoteFailure.self) { try await waiter.value }
        #expect(failure?.isCancelled == true)
        #expect(clock.waits.isEmpty)
    }

    // MARK: Over HTTP

    @Test func `a Retry-After on one record holds all others too, and nothing is sent meanwhile`()
        async throws
    {
        let account = TestAccount()
        let items = (0..<6).map { account.add("Item \($0)", TestFile("f\($0)", size: 1_000)) }
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore()
            let clock = HeldClock()
            home.configuration.clock = clock
            let held = try await home.open()
            let record = known(items[0].record())
            home.server.faults.add(
                .get("/v1/blobs/\(record)"), times: 1,
                .problem(429, code: "slow-down", headers: [Header("Retry-After", "20")]))
            let first = Task { try await held.materialize(items[0].key()) }
            try await clock.waitFor { $0 == [.seconds(20)] }
            let others = items[1...].map { item in
                Task { try await held.materialize(item.key()) }
            }
            let pull = Task { try await held.restore() }
            try await clock.waitFor { $0.count == 7 }
            clock.advance(by: .seconds(19))
            let states = try await engine.attachments().map(\.state)
            #expect(states == Array(repeating: .pending, count: 6), "each has its next attempt")
            let before = home.server.log.entries.count
            #expect(home.blobRequests.count == 1 && home.blobRequests[0].status == 429)
            clock.advance(by: .seconds(1))
            for (item, task) in zip(items, [first] + others) {
                let file = try await task.value
                #expect(try Whole(at: file.path) == Whole(known(account.content(item.key()))))
            }
            _ = try await pull.value
            #expect(home.server.log.entries.count == before + 7)
            _ = engine
        }
    }

    @Test func `a long Retry-After is kept once, and costs the others no request`() async throws {
        let account = TestAccount()
        let items = (0..<3).map { account.add("Item \($0)", TestFile("f\($0)", size: 1_000)) }
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore()
            home.server.faults.add(
                .get("/v1/blobs/"), times: 1,
                .problem(429, code: "slow-down", headers: [Header("Retry-After", "600")]))
            for item in items {
                let error = await #expect(throws: SyncError.self) {
                    try await engine.materialize(item.key())
                }
                #expect(error?.code == .unavailable(.throttled))
                let found = try await engine.explain(item.key())
                #expect(found.evidence.status == 429)
                #expect(
                    found.evidence.nextAttempt == Timestamp(seconds: home.clock.now + 600))
            }
            #expect(home.blobRequests.count == 1)
            #expect(try home.number("SELECT count(*) FROM condition") == 1)
            home.clock.advance(by: 600)
            for item in items { _ = try await engine.materialize(item.key()) }
            #expect(home.blobRequests.count == 4)
        }
    }

    @Test func `a person's retry ends the waits of all`() async throws {
        let account = TestAccount()
        let item = account.add("Files", (0..<2).map { TestFile("f\($0)", size: 1_000) })
        account.push()
        try await withHome(account) { home in
            _ = try await home.enter().restore()
            let clock = HeldClock()
            home.configuration.clock = clock
            let engine = try await home.open()
            home.server.faults.add(
                .get("/v1/blobs/"), times: 1,
                .problem(429, code: "slow-down", headers: [Header("Retry-After", "20")]))
            let first = Task { try await engine.materialize(item.key(0)) }
            try await clock.waitFor { $0 == [.seconds(20)] }
            let second = Task { try await engine.materialize(item.key(1)) }
            try await clock.waitFor { $0.count == 2 }
            #expect(home.blobRequests.count == 1)
            #expect(try await engine.retry(item.key(1)).attachment.state == .here)
            _ = try await (first.value, second.value)
            #expect(home.blobRequests.count == 3)
            #expect(clock.instant == .zero && clock.waits.isEmpty)
        }
    }

    @Test(arguments: [true, false])
    func `a person's retry ends the wait of a thumbnail and of a restore too`(
        isThumbnail: Bool
    ) async throws {
        let account = TestAccount()
        let photo = account.add("Photo", .photo("p.jpg", size: 400_000))
        let item = account.add("File", TestFile("f", size: 1_000))
        account.push()
        try await withHome(account) { home in
            _ = try await home.enter().restore(thumbnails: false)
            let clock = HeldClock()
            home.configuration.clock = clock
            let engine = try await home.open()
            let thumb = known(photo.attachments[0].thumb?.ref.record)
            home.server.faults.add(
                .get(isThumbnail ? "/v1/blobs/\(thumb)" : "/v1/manifest"), times: 1,
                .problem(429, code: "slow-down", headers: [Header("Retry-After", "20")]))
            let waiting = Task {
                if isThumbnail {
                    _ = try await engine.thumbnail(photo.key())
                } else {
                    _ = try await engine.restore(thumbnails: false)
                }
            }
            try await clock.waitFor { $0 == [.seconds(20)] }
            #expect(try await engine.retry(item.key()).attachment.state == .here)
            try await waiting.value
            #expect(clock.instant == .zero && clock.waits.isEmpty)
        }
    }

    @Test func `a person's retry is sent though the host asked to wait`() async throws {
        try await withOneFile { file in
            file.server.faults.add(
                file.request, times: 1,
                .problem(429, code: "slow-down", headers: [Header("Retry-After", "600")]))
            try await file.openFails(.throttled)
            try await file.openFails(.throttled)
            #expect(file.requests.count == 1)
            try await file.mends(requests: 1)
        }
    }
}

/// What a host asked of one program, another one keeps too.
@Suite(.timeLimit(.minutes(10))) struct HostGateRestartTests {
    @Test
    func `after a restart nothing goes to a host that asked to wait, but for a person's retry`()
        async throws
    {
        try await withOneFile { file in
            file.server.faults.add(
                file.request, times: 1,
                .problem(429, code: "slow-down", headers: [Header("Retry-After", "120")]))
            try await file.openFails(.throttled)
            await file.engine.close()
            let asked = file.server.log.entries.count
            let next = try await file.home.open()
            for _ in 0..<2 {
                let error = await #expect(throws: SyncError.self) { try await next.restore() }
                #expect(error?.code == .unavailable(.throttled))
            }
            let opening = await #expect(throws: SyncError.self) {
                try await next.materialize(file.key)
            }
            #expect(opening?.code == .unavailable(.throttled))
            #expect(file.server.log.entries.count == asked)
            let retried = try await next.retry(file.key)
            #expect(retried.attachment.state == .here)
            _ = try await next.restore()
            await next.close()
        }
    }

    @Test func `when the time is over a restart asks again`() async throws {
        try await withOneFile { file in
            file.server.faults.add(
                file.request, times: 1,
                .problem(429, code: "slow-down", headers: [Header("Retry-After", "120")]))
            try await file.openFails(.throttled)
            await file.engine.close()
            file.home.clock.advance(by: 121)
            let next = try await file.home.open()
            _ = try await next.restore()
            try await file.open(with: next)
            await next.close()
        }
    }
}
