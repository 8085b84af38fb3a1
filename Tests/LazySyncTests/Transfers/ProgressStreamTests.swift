import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// How far one attachment is, as somebody who listens is told.
@Suite(.timeLimit(.minutes(10))) struct ProgressStreamTests {
    /// What a listener is told up to the first that is as wanted.
    private func collect(
        _ stream: AsyncStream<BlobProgress>, until isLast: @Sendable (BlobProgress) -> Bool
    ) async -> [BlobProgress] {
        var found: [BlobProgress] = []
        for await progress in stream {
            found.append(progress)
            if isLast(progress) { break }
        }
        return found
    }

    private func expectRising(
        _ found: [BlobProgress], _ location: SourceLocation = #_sourceLocation
    ) {
        for (one, next) in zip(found, found.dropFirst()) {
            #expect(one != next, sourceLocation: location)
            if one.state == .pending, next.state == .pending {
                #expect(one.bytes < next.bytes, sourceLocation: location)
            }
        }
        #expect(found.allSatisfy { (0...$0.size).contains($0.bytes) }, sourceLocation: location)
    }

    // MARK: The filter

    @Test func `a bar never goes back within one try, and never above its end`() {
        var filter = ProgressFilter()
        func take(_ state: BlobState, _ bytes: Int64) -> Int64? {
            filter.take(BlobProgress(state: state, bytes: bytes, size: 100))?.bytes
        }
        #expect(take(.remote, 0) == 0)
        #expect(take(.remote, 0) == nil)
        #expect(take(.pending, 10) == 10)
        #expect(take(.pending, 5) == nil)
        #expect(take(.pending, 50) == 50)
        #expect(take(.pending, 300) == 100)
        #expect(take(.unavailable(.corrupt), 60) == 60)
        #expect(take(.pending, 20) == 20, "another try")
        #expect(take(.here, 100) == 100)
        #expect(take(.remote, -1) == 0)
    }

    // MARK: The stream

    @Test func `the current state comes first, then rising bytes, and then here`() async throws {
        try await withOneFile(50 * 65_536 + 5) { file in
            let size = Int64(file.content.count)
            let streams = (0..<3).map { _ in file.engine.states(of: file.key) }
            let listeners = streams.map { stream in
                Task { await collect(stream) { $0.state == .here } }
            }
            // All of them listen before it begins.
            let engine = file.engine
            let (key, gate) = (file.key, FaultGate())
            file.server.faults.add(
                file.request, times: 1, .stall(at: file.fraction(chunks: 20), gate))
            var early = engine.states(of: key).makeAsyncIterator()
            #expect(await early.next() == BlobProgress(state: .remote, bytes: 0, size: size))
            let opener = Task { try await engine.materialize(key) }
            while let progress = await early.next(), progress.bytes < 16 * 65_536 {
                #expect(progress.state == .pending)
            }
            gate.open()
            _ = try await opener.value
            for listener in listeners {
                let found = await listener.value
                #expect(found.last == BlobProgress(state: .here, bytes: size, size: size))
                expectRising(found)
            }
            // Who listens now is told at once, and nothing of what was.
            var late = engine.states(of: key).makeAsyncIterator()
            #expect(await late.next() == BlobProgress(state: .here, bytes: size, size: size))
        }
    }

    @Test func `what another program brings is seen while somebody listens`() async throws {
        try await withOneFile(40 * 65_536) { file in
            let gate = FaultGate()
            file.server.faults.add(
                file.request, times: 1, .stall(at: file.fraction(chunks: 20), gate))
            let other = try await file.home.open()
            let size = Int64(file.content.count)
            let stream = file.engine.states(of: file.key)
            let key = file.key
            let opener = Task { try await other.materialize(key) }
            var found: [BlobProgress] = []
            for await progress in stream {
                found.append(progress)
                if progress.bytes >= 16 * 65_536 { gate.open() }
                if progress.state == .here { break }
            }
            _ = try await opener.value
            expectRising(found)
            #expect(found.contains { $0.state == .pending && $0.bytes >= 16 * 65_536 })
            #expect(found.last == BlobProgress(state: .here, bytes: size, size: size))
        }
    }

    @Test func `a failure is told with its reason, and another try begins anew`() async throws {
        try await withOneFile { file in
            file.server.faults.add(file.request, times: 1, .cut(at: file.fraction(chunks: 4)))
            file.server.faults.add(file.request, .problem(403, code: "not-entitled"))
            let stream = file.engine.states(of: file.key)
            var iterator = stream.makeAsyncIterator()
            #expect(await iterator.next()?.state == .remote)
            await #expect(throws: SyncError.self) { try await file.engine.materialize(file.key) }
            var last = await iterator.next()
            while last?.state == .pending { last = await iterator.next() }
            #expect(last?.state == .unavailable(.notEntitled))
            #expect(last?.bytes == Int64(4 * 65_536))
            try await file.mends()
            while let progress = await iterator.next(), progress.state != .here {
                #expect(progress.bytes >= 4 * 65_536)
            }
        }
    }

    @Test func `a failure that cannot be noted is told all the same`() async throws {
        try await withOneFile { file in
            try file.home.execute(
                """
                CREATE TRIGGER refuse BEFORE UPDATE OF here_boot ON blob BEGIN
                    SELECT RAISE(ABORT, 'no room for this');
                END;
                """)
            file.server.faults.add(file.request, .problem(403, code: "not-entitled"))
            let stream = file.engine.states(of: file.key)
            await #expect(throws: SyncError.self) { try await file.engine.materialize(file.key) }
            let found = await collect(stream) { $0.state.reason != nil }
            #expect(found.last?.state == .unavailable(.notEntitled))
            try file.home.execute("DROP TRIGGER refuse")
        }
    }

    @Test func `it ends with the attachment, with a logout, and with the listener`() async throws {
        try await withOneFile { file in
            let unknown = AttachmentID(random: SeededRandom(seed: 9))
            let none = file.engine.states(of: AttachmentKey(item: file.key.item, id: unknown))
            for await progress in none { Issue.record("\(progress)") }
            let listener = Task { [engine = file.engine, key = file.key] in
                for await _ in engine.states(of: key) { break }
            }
            await listener.value
            let stream = file.engine.states(of: file.key)
            var iterator = stream.makeAsyncIterator()
            _ = await iterator.next()
            _ = try await file.engine.logout()
            while await iterator.next() != nil {}
        }
    }

    // MARK: Pending

    @Test func `a wait between two tries is pending with an attempt to come, and giving up is not`()
        async throws
    {
        try await withOneFile { file in
            let clock = HeldClock()
            file.home.configuration.clock = clock
            let engine = try await file.home.open()
            let key = file.key
            file.server.faults.add(file.request, .answer(status: 500))
            let opener = Task { try await engine.materialize(key) }
            for attempt in 1...7 {
                let wait = clock.jitter(Backoff(), after: attempt)
                try await clock.waitFor { $0 == [wait] }
                #expect(try await engine.explain(key).attachment.state == .pending)
                try await file.home.probe(engine)
                // It waits, and holds no slot meanwhile.
                #expect(await engine.opened.lane.queue.load == .init())
                clock.advance(by: wait)
            }
            await #expect(throws: SyncError.self) { try await opener.value }
            let found = try await engine.explain(key)
            #expect(found.attachment.state == .unavailable(.serverError))
            #expect(found.evidence.attempts == 8 && found.evidence.nextAttempt == nil)
            #expect(clock.waits.isEmpty)
        }
    }
}
