import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Who is served first, as the server sees it.
@Suite(.timeLimit(.minutes(10))) struct PriorityTests {
    private static func record(_ entry: LogEntry) -> String {
        String(entry.path.split(separator: "/").last ?? "")
    }

    @Test func `what is opened comes before thumbnails, in view before the rest, before nobody's`()
        async throws
    {
        let account = TestAccount()
        let files = (0..<3).map { account.add("File \($0)", TestFile("f\($0)", size: 1_000)) }
        let photos = (0..<4).map { account.add("Photo \($0)", .photo("\($0).jpg", size: 400_000)) }
        account.push()
        try await withHome(account) { home in
            home.configuration.limits = .init(total: 1, perHost: 1, slots: [1, 1, 1, 1])
            let engine = try await home.enter()
            _ = try await engine.restore(thumbnails: false)
            let gate = FaultGate()
            home.server.faults.add(.get("/v1/blobs/\(known(files[0].record()))"), .hold(gate))
            let first = Task { try await engine.materialize(files[0].key()) }
            try await gate.reached()
            // From the last to the first; each stands in the line before the next one comes.
            let background = Task {
                try await engine.materializer.file(files[1].key(), priority: .background)
            }
            try await engine.hasWaiting(1)
            let restore = Task { try await engine.restore() }
            try await engine.hasWaiting(5)
            // It waits with the rest, and is moved up.
            let inView = Task { try await engine.thumbnail(photos[1].key()) }
            try await engine.isAhead(.visible)
            let opened = Task { try await engine.materialize(files[2].key()) }
            try await engine.hasWaiting(6)
            gate.open()
            _ = try await (first.value, background.value, inView.value, opened.value)
            #expect(try await restore.value.thumbnailsHere == 4)
            let order = home.blobRequests.map(Self.record)
            let rest = [3, 2, 0].map { photos[$0].thumbRecord() }
            #expect(
                order
                    == [files[0].record(), files[2].record(), photos[1].thumbRecord()] + rest
                    + [files[1].record()])
        }
    }

    @Test func `many thumbnails do not hold up what a person opens`() async throws {
        let account = TestAccount()
        let file = account.add("A file", TestFile("f", size: 1_000))
        for number in 0..<40 { account.add("Photo", .photo("\(number).jpg", size: 400_000)) }
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            let gate = FaultGate()
            home.server.faults.add(.get("/v1/blobs/"), times: 16, .hold(gate))
            let restore = Task { try await engine.restore() }
            try await gate.reached(by: 16)
            let opened = try await engine.materialize(file.key())
            #expect(opened.requests == 1)
            gate.open()
            #expect(try await restore.value.thumbnailsHere == 40)
            #expect(await engine.opened.lane.queue.load == .init())
        }
    }

    @Test func `large transfers do not hold up thumbnails`() async throws {
        let account = TestAccount()
        let item = account.add("Films", (0..<4).map { TestFile("f\($0)", size: 900_000) })
        for number in 0..<20 { account.add("Photo", .photo("\(number).jpg", size: 400_000)) }
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore(thumbnails: false)
            let gate = FaultGate()
            home.server.faults.add(.get("/v1/blobs/"), times: 4, .stall(at: .fraction(0.5), gate))
            let films = (0..<4).map { number in
                Task { try await engine.materialize(item.key(number)) }
            }
            try await gate.reached(by: 4)
            #expect(try await engine.restore().thumbnailsHere == 20)
            gate.open()
            for film in films { _ = try await film.value }
        }
    }

    @Test func `a background transfer that somebody opens is moved up, and fetched once`()
        async throws
    {
        let account = TestAccount()
        let item = account.add("Files", (0..<3).map { TestFile("f\($0)", size: 1_000) })
        account.push()
        try await withHome(account) { home in
            home.configuration.limits = .init(total: 1, perHost: 1, slots: [1, 1, 1, 1])
            let engine = try await home.enter()
            _ = try await engine.restore()
            let gate = FaultGate()
            home.server.faults.add(.get("/v1/blobs/"), times: 1, .hold(gate))
            let first = Task { try await engine.materialize(item.key(0)) }
            try await gate.reached()
            var others: [Task<MaterializedFile, any Error>] = []
            for number in [1, 2] {
                others.append(
                    Task {
                        try await engine.materializer.file(item.key(number), priority: .background)
                    })
                try await engine.hasWaiting(number)
            }
            others.append(Task { try await engine.materialize(item.key(2)) })
            try await engine.isAhead(.opened)
            gate.open()
            _ = try await first.value
            for other in others { _ = try await other.value }
            #expect(home.blobRequests.map(Self.record) == [0, 2, 1].map { item.record($0) })
        }
    }

    @Test func `cancelling one that waits leaves the others`() async throws {
        let account = TestAccount()
        let item = account.add("Files", (0..<4).map { TestFile("f\($0)", size: 1_000) })
        account.push()
        try await withHome(account) { home in
            home.configuration.limits = .init(total: 1, perHost: 1, slots: [1, 1, 1, 1])
            let engine = try await home.enter()
            _ = try await engine.restore()
            let gate = FaultGate()
            home.server.faults.add(.get("/v1/blobs/"), times: 1, .hold(gate))
            let first = Task { try await engine.materialize(item.key(0)) }
            try await gate.reached()
            var others: [Task<MaterializedFile, any Error>] = []
            for number in 1...3 {
                others.append(Task { try await engine.materialize(item.key(number)) })
                try await engine.hasWaiting(number)
            }
            try await home.probe(engine)
            others[1].cancel()
            let error = await #expect(throws: SyncError.self) { try await others[1].value }
            #expect(error?.code == .cancelled)
            try await engine.hasWaiting(2)
            gate.open()
            _ = try await (first.value, others[0].value, others[2].value)
            #expect(home.blobRequests.map(Self.record) == [0, 1, 3].map { item.record($0) })
            let states = try await engine.attachments().map(\.state)
            #expect(states == [.here, .here, .remote, .here])
        }
    }
}

extension SyncEngine {
    /// Waits until so many requests stand in the line.
    func hasWaiting(_ count: Int) async throws {
        while await opened.lane.queue.load.waiting != count { try await Self.breathe() }
    }

    /// Waits until one that is so urgent is the next in the line.
    func isAhead(_ priority: TransferQueue.Priority) async throws {
        while await opened.lane.queue.mostUrgent != priority { try await Self.breathe() }
    }

    /// Leaves the processor to those who are looked at.
    private static func breathe() async throws { try await Task.sleep(for: .milliseconds(1)) }
}
