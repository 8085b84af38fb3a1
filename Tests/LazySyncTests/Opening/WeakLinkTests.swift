import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Connections that fail, stall or come back, and hosts that ask to wait.
@Suite(.timeLimit(.minutes(10))) struct WeakLinkTests {
    /// Case B9.
    @Test func `a stall ends in offline within its limit, and the next open asks at once`()
        async throws
    {
        try await withOneFile(configure: { $0.stallSeconds = 0.4 }) { file in
            let gate = FaultGate()
            file.server.faults.add(
                file.request, times: 1, .stall(at: file.fraction(chunks: 5), gate))
            let start = ContinuousClock.now
            let evidence = try await file.openFails(.offline)
            #expect(ContinuousClock.now - start < .seconds(60))
            #expect(evidence.code == "stalled" && evidence.bytes == 5 * 65_536)
            #expect(file.requests.count == 1)
            try await file.open(requests: 1)
            #expect(file.ranges.last == file.range(from: 5))
            gate.open()
        }
    }

    @Test func `an answer that never begins is a stall too`() async throws {
        try await withOneFile(configure: { $0.stallSeconds = 0.4 }) { file in
            let gate = FaultGate()
            file.server.faults.add(file.request, times: 1, .hold(gate))
            #expect(try await file.openFails(.offline).code == "stalled")
            try await file.open(requests: 1)
            gate.open()
        }
    }

    @Test func `slow is not stalled`() async throws {
        // Longer than the limit in all, and on a machine that is busy still far below it each time.
        try await withOneFile(0, configure: { $0.stallSeconds = 2 }) { file in
            file.server.faults.add(file.request, .pace(bytes: 1, seconds: 0.05))
            try await file.open(requests: 1)
        }
    }

    @Test func `a connection that is dropped before its answer is tried three times`() async throws
    {
        try await withOneFile { file in
            file.server.faults.add(file.request, times: 2, .drop(.reset))
            try await file.open()
            #expect(file.requests.count == 3)
        }
        try await withOneFile { file in
            file.server.faults.add(file.request, .drop())
            let evidence = try await file.openFails(.offline)
            #expect(evidence.attempts == 0 && evidence.bytes == 0)
            // libcurl itself repeats a request whose reused connection was dead.
            #expect((3...6).contains(file.requests.count))
            try await file.mends(requests: 1)
        }
    }

    @Test func `waits double with each try`() async throws {
        try await withOneFile { file in
            file.server.faults.add(file.request, times: 4, .answer(status: 500))
            try await file.open(requests: 5)
            #expect(
                file.home.clock.waits == [
                    .milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2),
                ])
        }
    }

    /// Case B15.
    @Test func `offline uses nothing up, and lies only over what was asked for`() async throws {
        let account = TestAccount()
        let items = (0..<4).map { account.add("Item \($0)", TestFile("f\($0)", size: 1_000)) }
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore()
            home.server.stop()
            for _ in 0..<12 {
                for item in items[..<2] {
                    let error = await #expect(throws: SyncError.self) {
                        try await engine.materialize(item.key())
                    }
                    #expect(error?.code == .unavailable(.offline))
                    home.clock.advance(by: 86_400)
                }
            }
            var states = try await engine.attachments().map(\.state)
            #expect(states.count { $0 == .unavailable(.offline) } == 2)
            #expect(states.count { $0 == .remote } == 2)
            let before = try await engine.explain(items[0].key())
            #expect(before.evidence.attempts == 0 && before.evidence.lastAttempt != nil)
            try home.server.start()
            // One that comes says that there is a connection again, for all.
            _ = try await engine.materialize(items[1].key())
            states = try await engine.attachments().map(\.state)
            #expect(states.allSatisfy { $0.reason == nil })
            for item in items {
                let file = try await engine.materialize(item.key())
                #expect(file.size == 1_000)
            }
            #expect(try await engine.explain(items[0].key()).evidence.attempts == 0)
        }
    }

    @Test func `a short Retry-After is waited for, a date too`() async throws {
        try await withOneFile { file in
            file.server.faults.add(
                file.request, times: 1,
                .problem(429, code: "slow-down", headers: [Header("Retry-After", "2")]))
            file.server.faults.add(
                file.request, times: 1,
                .answer(
                    status: 503,
                    headers: [
                        Header("Retry-After", "Sun, 06 Nov 1994 08:49:40 GMT"),
                        Header("Date", "Sun, 06 Nov 1994 08:49:37 GMT"),
                    ]))
            try await file.open(requests: 3)
            #expect(file.home.clock.waits == [.seconds(2), .seconds(3)])
        }
    }

    @Test func `a wait for the host or after a failed try is told when it begins`() async throws {
        let told = Locked<[TransferWait]>([])
        try await withOneFile(
            configure: { $0.waiting = { wait in told.withLock { $0.append(wait) } } }
        ) { file in
            file.server.faults.add(
                file.request, times: 1,
                .problem(429, code: "slow-down", headers: [Header("Retry-After", "2")]))
            file.server.faults.add(file.request, times: 1, .html(500))
            try await file.open(requests: 3)
            let waits = told.withLock { $0 }
            #expect(waits.map(\.reason) == [.throttled, .serverError])
            #expect(waits.map(\.duration) == file.home.clock.waits)
        }
    }

    @Test func `a long Retry-After ends in throttled, with the time`() async throws {
        try await withOneFile { file in
            let other = file.account.add("Another", TestFile("other", size: 10))
            file.account.push()
            _ = try await file.engine.restore()
            file.server.faults.add(
                file.request, .answer(status: 503, headers: [Header("Retry-After", "600")]))
            let evidence = try await file.openFails(.throttled)
            #expect(evidence.status == 503)
            #expect(evidence.nextAttempt == Timestamp(seconds: file.home.clock.now + 600))
            #expect(file.requests.count == 1 && file.home.clock.waits.isEmpty)
            #expect(try await file.engine.explain(other.key()).attachment.state == .remote)
            try await file.mends(requests: 1)
            #expect(try await file.engine.explain(file.key).evidence.nextAttempt == nil)
        }
    }

    @Test func `429 without a time backs off and ends in throttled`() async throws {
        try await withOneFile { file in
            file.server.faults.add(file.request, .html(429))
            let evidence = try await file.openFails(.throttled)
            #expect(evidence.status == 429 && evidence.attempts == 8)
            #expect(file.requests.count == 8 && evidence.nextAttempt == nil)
            try await file.mends(requests: 1)
        }
    }

    @Test func `a restore that is throttled says when to come back`() async throws {
        try await withOneFile { file in
            try await file.openFailsOffline()
            file.server.faults.add(
                .get("/v1/manifest"), .answer(status: 429, headers: [Header("Retry-After", "60")]))
            let error = await #expect(throws: SyncError.self) { try await file.engine.restore() }
            #expect(error?.code == .unavailable(.throttled))
            let conditions = try await file.engine.catalog.conditions()
            let next = Timestamp(seconds: file.home.clock.now + 60)
            #expect(conditions[.throttled]?.nextAttempt == next)
        }
    }
}

extension OneFile {
    /// Asks for the file while nobody answers.
    func openFailsOffline() async throws {
        server.stop()
        try await openFails(.offline)
        try server.start()
    }
}
