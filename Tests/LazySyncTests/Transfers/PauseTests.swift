import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// A person says stop, and later go on.
@Suite(.timeLimit(.minutes(10))) struct PauseTests {
    @Test func `a pause in the middle keeps what was verified, and going on asks for the rest`()
        async throws
    {
        try await withOneFile(40 * 65_536) { file in
            let gate = FaultGate()
            file.server.faults.add(
                file.request, times: 1, .stall(at: file.fraction(chunks: 35), gate))
            let arrived = Watched<Int64>(0)
            let (engine, key) = (file.engine, file.key)
            let opener = Task {
                try await engine.materialize(key) { bytes, _ in arrived.change { $0 = bytes } }
            }
            try await arrived.wait { $0 >= 32 * 65_536 }
            await engine.pause()
            #expect(await engine.isPaused)
            // It stands in the line again, and holds nothing but what it has.
            try await engine.hasWaiting(1)
            #expect(await engine.opened.lane.queue.load == .init(waiting: 1, running: 0))
            let kept = try file.kept().count
            #expect(kept >= 32)
            #expect(try await engine.explain(key).attachment.state == .pending)
            try await file.home.probe(engine)
            gate.open()
            try await file.server.log.settled()
            #expect(file.requests.count == 1)
            await engine.resume()
            let opened = try await opener.value
            #expect(try Whole(at: opened.path) == Whole(file.content))
            #expect(opened.requests == 2 && opened.bytesFetched == Int64(file.content.count))
            #expect(file.ranges == [nil, file.range(from: kept)])
            #expect(try await engine.explain(key).evidence.attempts == 0)
        }
    }

    @Test func `while it is paused nothing is sent, and who waits may change their mind`()
        async throws
    {
        let account = TestAccount()
        let items = (0..<3).map { account.add("Item \($0)", TestFile("f\($0)", size: 1_000)) }
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore()
            await engine.pause()
            let openers = items.map { item in
                Task { try await engine.materialize(item.key()) }
            }
            try await engine.hasWaiting(3)
            #expect(try await engine.attachments().allSatisfy { $0.state == .pending })
            openers[1].cancel()
            let error = await #expect(throws: SyncError.self) { try await openers[1].value }
            #expect(error?.code == .cancelled)
            try await engine.hasWaiting(2)
            #expect(home.blobRequests.isEmpty)
            await engine.resume()
            _ = try await (openers[0].value, openers[2].value)
            #expect(home.blobRequests.count == 2)
        }
    }

    @Test func `thumbnails that are under way end, and the rest waits`() async throws {
        let account = TestAccount()
        for number in 0..<30 { account.add("Photo", .photo("\(number).jpg", size: 400_000)) }
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            let gate = FaultGate()
            home.server.faults.add(.get("/v1/blobs/"), times: 16, .hold(gate))
            let restore = Task { try await engine.restore() }
            try await gate.reached(by: 16)
            await engine.pause()
            gate.open()
            // The rest, as far as it is begun.
            try await engine.hasWaiting(14)
            #expect(home.blobRequests.count == 16)
            await engine.resume()
            #expect(try await restore.value.thumbnailsHere == 30)
            #expect(home.blobRequests.count == 30)
        }
    }

    @Test func `pausing and going on again and again costs requests, never bytes`() async throws {
        try await withOneFile(60 * 65_536) { file in
            let gate = FaultGate()
            let twelve = UInt64(12 * (65_536 + 16) + 100)
            file.server.faults.add(file.request, times: 4, .stall(at: .bytes(twelve), gate))
            let (engine, key) = (file.engine, file.key)
            let arrived = Watched<Int64>(0)
            let opener = Task {
                try await engine.materialize(key) { bytes, _ in arrived.change { $0 = bytes } }
            }
            for round in 1...4 {
                try await arrived.wait { $0 >= Int64(round * 12 * 65_536) }
                await engine.pause()
                try await engine.hasWaiting(1)
                await engine.resume()
            }
            let opened = try await opener.value
            #expect(try Whole(at: opened.path) == Whole(file.content))
            #expect(opened.bytesFetched == Int64(file.content.count))
            #expect(
                file.ranges == [nil] + [12, 24, 36, 48].map { file.range(from: $0) })
            gate.open()
        }
    }

    @Test func `while one program is paused another one opens the same file, and both have it`()
        async throws
    {
        try await withOneFile(40 * 65_536) { file in
            let other = try await file.home.open()
            let gate = FaultGate()
            file.server.faults.add(
                file.request, times: 1, .stall(at: file.fraction(chunks: 35), gate))
            let arrived = Watched<Int64>(0)
            let (engine, key) = (file.engine, file.key)
            let opener = Task {
                try await engine.materialize(key) { bytes, _ in arrived.change { $0 = bytes } }
            }
            try await arrived.wait { $0 >= 32 * 65_536 }
            await engine.pause()
            try await engine.hasWaiting(1)
            gate.open()
            let kept = try file.kept().count
            // It is pending where somebody waits, and its chunks are nobody's to remove.
            #expect(try await engine.explain(key).attachment.state == .pending)
            #expect(try await engine.status().states["pending"] == 1)
            #expect(try await other.explain(key).attachment.state == .remote)
            await #expect(throws: SyncError.self) { try await other.evict(key) }
            try await file.open(requests: 1, with: other)
            #expect(file.ranges == [nil, file.range(from: kept)])
            await engine.resume()
            let opened = try await opener.value
            #expect(try Whole(at: opened.path) == Whole(file.content))
            #expect(opened.requests == 1 && opened.bytesFetched == Int64(kept * 65_536))
            #expect(file.requests.count == 2)
            #expect(try await engine.explain(key).attachment.state == .here)
        }
    }

    @Test func `who asks while it is paused holds no lock either`() async throws {
        try await withOneFile { file in
            let other = try await file.home.open()
            let (engine, key) = (file.engine, file.key)
            await engine.pause()
            let opener = Task { try await engine.materialize(key) }
            try await engine.hasWaiting(1)
            try await file.open(requests: 1, with: other)
            await engine.resume()
            #expect(try await opener.value.requests == 0)
        }
    }

    @Test func `a logout ends a pause`() async throws {
        try await withOneFile { file in
            let (engine, key) = (file.engine, file.key)
            await engine.pause()
            let opener = Task { try await engine.materialize(key) }
            try await engine.hasWaiting(1)
            _ = try await engine.logout()
            await #expect(throws: SyncError.self) { try await opener.value }
        }
    }
}
