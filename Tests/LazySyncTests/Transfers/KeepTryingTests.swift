import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// What did not come is tried again without a hand, at the right time and not before.
@Suite(.timeLimit(.minutes(10))) struct KeepTryingTests {
    private func account(_ count: Int) -> (TestAccount, TestItem) {
        let account = TestAccount()
        let item = account.add("Files", (0..<count).map { TestFile("f\($0)", size: 1_000 + $0) })
        account.push()
        return (account, item)
    }

    /// Runs `body` while an engine keeps trying.
    private func keepingTrying(
        _ engine: SyncEngine, _ body: (inout Changes) async throws -> Void
    ) async throws {
        var changes = Changes(engine)
        let keeper = Task { await engine.keepTrying() }
        do {
            try await body(&changes)
        } catch {
            keeper.cancel()
            await keeper.value
            throw error
        }
        keeper.cancel()
        await keeper.value
    }

    /// What a listener is told, one after the other.
    private struct Changes {
        private var iterator: AsyncStream<StateChange>.Iterator

        init(_ engine: SyncEngine) { iterator = engine.changes().makeAsyncIterator() }

        /// The attachment of the next change to that state.
        mutating func next(_ wanted: BlobState) async throws -> AttachmentKey {
            while let change = await iterator.next(isolation: #isolation) {
                if case .attachment(let key, wanted, _) = change { return key }
            }
            throw CancellationError()
        }

        /// Waits until all of these have come to the state.
        mutating func all(_ wanted: BlobState, _ keys: [AttachmentKey]) async throws {
            var missing = Set(keys)
            while !missing.isEmpty { missing.remove(try await next(wanted)) }
        }
    }

    /// Lets those who look now and then look some more times.
    private func looks(_ clock: TestClock) async throws {
        func count() -> Int { clock.waits.count { $0 >= .seconds(1) } }
        let before = count()
        while count() < before + 3 {
            // Leaves the processor to those who are looked at.
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    /// Case B15.
    @Test func `ten days offline use nothing up, and then all of it drains without a hand`()
        async throws
    {
        let (account, item) = account(5)
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore()
            home.server.stop()
            let keys = (0..<4).map { item.key($0) }
            for key in keys {
                await #expect(throws: SyncError.self) { try await engine.materialize(key) }
            }
            try await keepingTrying(engine) { changes in
                for _ in 0..<40 {
                    home.clock.advance(by: 6 * 3_600)
                    _ = try await changes.next(.unavailable(.offline))
                    let found = try await engine.explain(keys[0])
                    #expect(found.evidence.attempts == 0)
                    #expect(found.attachment.state == .unavailable(.offline))
                }
                let next = try await engine.explain(keys[0]).evidence.nextAttempt
                #expect(known(next).seconds <= home.clock.now + 30)
                try home.server.start()
                home.clock.advance(by: 30)
                try await changes.all(.here, keys)
            }
            let states = try await engine.attachments().map(\.state)
            #expect(states.count { $0 == .here } == 4 && states.count { $0 == .remote } == 1)
            #expect(home.blobRequests.count == 4, "nobody asked for the fifth")
        }
    }

    @Test func `while nobody answers, one is tried and not each, and each in its turn`()
        async throws
    {
        let (account, item) = account(20)
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore()
            home.server.stop()
            for number in 0..<20 {
                await #expect(throws: SyncError.self) {
                    try await engine.materialize(item.key(number))
                }
            }
            try await keepingTrying(engine) { changes in
                let start = home.clock.now
                var tried: Set<AttachmentKey> = []
                for _ in 0..<5 {
                    home.clock.advance(by: 60)
                    tried.insert(try await changes.next(.unavailable(.offline)))
                }
                #expect(tried.count == 5)
                let all = try home.number("SELECT count(*) FROM blob WHERE last_attempt > \(start)")
                #expect(all == 5)
            }
            try home.server.start()
        }
    }

    @Test func `a server's error is tried again at its time, and says when that is`() async throws {
        try await withOneFile { file in
            try await keepingTrying(file.engine) { changes in
                file.server.faults.add(file.request, .answer(status: 500))
                let evidence = try await file.openFails(.serverError)
                #expect(evidence.attempts == 8)
                let next = known(evidence.nextAttempt)
                #expect(next.seconds == file.home.clock.now + 1)
                file.server.faults.clear()
                try await looks(file.home.clock)
                #expect(file.requests.count == 8)
                file.home.clock.advance(by: 1)
                #expect(try await changes.next(.here) == file.key)
            }
            #expect(file.requests.count == 9)
        }
    }

    @Test func `a host that asked to wait is asked again at the time, and not before`() async throws
    {
        try await withOneFile { file in
            let later = [Header("Retry-After", "600")]
            file.server.faults.add(file.request, times: 1, .answer(status: 503, headers: later))
            try await file.openFails(.throttled)
            try await keepingTrying(file.engine) { changes in
                file.home.clock.advance(by: 599)
                try await looks(file.home.clock)
                #expect(file.requests.count == 1)
                file.home.clock.advance(by: 1)
                #expect(try await changes.next(.here) == file.key)
            }
            #expect(file.requests.count == 2)
        }
    }

    @Test func `what only a person can decide is left alone, and so is what a person cancelled`()
        async throws
    {
        let (account, item) = account(6)
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore()
            func match(_ number: Int) -> Fault.Match {
                .get("/v1/blobs/\(known(item.record(number)))")
            }
            home.server.faults.add(match(0), .problem(404, code: "no-such-blob"))
            home.server.faults.add(match(1), .problem(403, code: "not-entitled"))
            home.server.faults.add(match(2), .flip(at: 100))
            home.server.faults.add(match(3), .truncate(to: 500))
            home.server.faults.add(match(4), times: 8, .answer(status: 500))
            for number in 0..<5 {
                await #expect(throws: SyncError.self) {
                    try await engine.materialize(item.key(number))
                }
            }
            let gate = FaultGate()
            home.server.faults.add(match(5), .hold(gate))
            let opener = Task { try await engine.materialize(item.key(5)) }
            try await gate.reached()
            opener.cancel()
            _ = await opener.result
            // Who waits is told at once; the request itself ends a moment later.
            try await until {
                await engine.opened.lane.queue.load == .init(waiting: 0, running: 0)
            }
            home.server.faults.clear()
            gate.open()
            try await home.server.log.settled()
            let before = home.blobRequests.count
            try await keepingTrying(engine) { changes in
                home.clock.advance(by: 86_400)
                #expect(try await changes.next(.here) == item.key(4))
                try await looks(home.clock)
            }
            #expect(home.blobRequests.count == before + 1)
            let states = try await engine.attachments().map(\.state)
            #expect(
                states == [
                    .unavailable(.notFound), .unavailable(.notEntitled), .unavailable(.corrupt),
                    .unavailable(.wrongSize), .here, .remote,
                ])
        }
    }

    @Test func `a key store that opens lets it go on`() async throws {
        try await withOneFile { file in
            let engine = try await file.home.open()
            let keyFile = try file.home.accountPlaces.keyFile
            try FileManager.default.moveItem(atPath: keyFile, toPath: keyFile + ".away")
            let error = await #expect(throws: SyncError.self) {
                try await engine.materialize(file.key)
            }
            #expect(error?.code == .unavailable(.keyMissing))
            try await keepingTrying(engine) { changes in
                try await looks(file.home.clock)
                #expect(file.requests.isEmpty)
                try FileManager.default.moveItem(atPath: keyFile + ".away", toPath: keyFile)
                #expect(try await changes.next(.here) == file.key)
            }
        }
    }

    @Test func `what a person opens goes before what is tried again`() async throws {
        let (account, item) = account(3)
        try await withHome(account) { home in
            home.configuration.limits = .init(total: 1, perHost: 1, slots: [1, 1, 1, 1])
            let engine = try await home.enter()
            _ = try await engine.restore()
            home.server.faults.add(.get("/v1/blobs/"), times: 16, .answer(status: 500))
            for number in 0..<2 {
                await #expect(throws: SyncError.self) {
                    try await engine.materialize(item.key(number))
                }
            }
            let gate = FaultGate()
            home.server.faults.add(.get("/v1/blobs/"), times: 1, .hold(gate))
            try await keepingTrying(engine) { changes in
                try await gate.reached()
                try await engine.hasWaiting(1)
                let opened = Task { try await engine.materialize(item.key(2)) }
                try await engine.hasWaiting(2)
                gate.open()
                _ = try await opened.value
                try await changes.all(.here, (0..<3).map { item.key($0) })
            }
            let last = home.blobRequests.suffix(3).map { $0.path.split(separator: "/").last }
            #expect(last[1].map(String.init) == item.record(2))
        }
    }

    @Test func `it ends with its task, and with a logout`() async throws {
        let (account, _) = account(1)
        try await withHome(account) { home in
            let engine = try await home.enter()
            let first = Task { await engine.keepTrying() }
            try await looks(home.clock)
            first.cancel()
            await first.value
            let second = Task { await engine.keepTrying() }
            _ = try await engine.logout()
            await second.value
        }
    }
}
