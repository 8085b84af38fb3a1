import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Bringing one sealed blob to the store, whatever happens on the way.
@Suite(.serialized, .timeLimit(.minutes(10))) struct BlobUploadTests {
    private static let limit = Int(BlobUpload.putLimit)
    private static let large = bytes(limit + 1_000_000)

    private static func bytes(_ count: Int) -> [UInt8] {
        let piece = (0..<4_099).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 4) }
        var bytes: [UInt8] = []
        while bytes.count < count { bytes += piece }
        return Array(bytes.prefix(count))
    }

    private func failure(of upload: inout BlobUpload) async -> RemoteFailure? {
        do {
            try await upload.run()
            return nil
        } catch {
            return error as? RemoteFailure ?? RemoteFailure(.diskFull, "\(error)")
        }
    }

    /// What each PATCH so far brought: where it began, how much it was to bring and how much came.
    private func patches(_ store: TestStore) async throws -> [[Int]] {
        try await store.server.log.settled()
        return store.server.log.entries.filter { $0.method == "PATCH" }.map { entry in
            let said = ["Upload-Offset", "Content-Length"].map { entry.header($0) ?? "" }
            return said.map { Int($0) ?? -1 } + [entry.bodyCount]
        }
    }

    // MARK: Whole

    @Test(arguments: [0, 56, 70_000, limit])
    func `a small blob is one PUT out of the middle of a file`(size: Int) async throws {
        let store = try await TestStore()
        let bytes = Self.bytes(size)
        var upload = store.upload("new", try store.source(bytes))
        try await upload.run()
        #expect(store.stored("new") == bytes)
        #expect(try await store.requests() == ["PUT /v1/blobs/new 201"])
        #expect(try await upload.check() == .stored)
    }

    @Test(arguments: [true, false])
    func `a large blob is an upload`(mayHaveBegun: Bool) async throws {
        let store = try await TestStore()
        var upload = store.upload("new", try store.source(Self.large))
        upload.mayHaveBegun = mayHaveBegun
        try await upload.run()
        #expect(store.stored("new") == Self.large)
        let asked = mayHaveBegun ? ["HEAD /v1/uploads/new 404"] : []
        #expect(try await store.requests() == asked + ["PATCH /v1/uploads/new 201"])
    }

    @Test func `an expired token costs a refresh, and no byte and no wait`() async throws {
        let store = try await TestStore()
        store.server.expireTokens()
        var upload = store.upload("new", try store.source(Self.large))
        upload.mayHaveBegun = false
        try await upload.run()
        #expect(store.stored("new") == Self.large)
        #expect(
            try await store.requests() == [
                "PATCH /v1/uploads/new 401", "POST /v1/sessions/refresh 200",
                "PATCH /v1/uploads/new 201",
            ])
        #expect(try await patches(store).map { $0[2] } == [0, Self.large.count])
        #expect(store.clock.waits == [])
    }

    @Test func `the progress is told up to the end`() async throws {
        let store = try await TestStore()
        store.server.faults.add(.patch("/v1/"), times: 1, .cutBody(at: .bytes(5_000_000)))
        let told = Locked<[UInt64]>([])
        var upload = store.upload("new", try store.source(Self.large))
        upload.progress = { count in told.withLock { $0.append(count) } }
        try await upload.run()
        let counts = told.withLock { $0 }
        #expect(counts.last == UInt64(Self.large.count))
        #expect(counts.allSatisfy { $0 <= UInt64(Self.large.count) })
        #expect(counts.count { $0 < 5_000_000 } > 4, "the second try began where the first ended")
    }

    // MARK: Cut

    @Test(arguments: [Delivery.Ending.close, .reset])
    func `after a cut only the missing bytes are sent`(ending: Delivery.Ending) async throws {
        let store = try await TestStore()
        store.server.faults.add(
            .patch("/v1/"), times: 1, .cutBody(at: .bytes(5_000_001), ending))
        store.server.faults.add(
            .patch("/v1/"), times: 1, .cutBody(at: .bytes(1_000_000), ending))
        var upload = store.upload("new", try store.source(Self.large))
        try await upload.run()
        #expect(store.stored("new") == Self.large)
        let total = Self.large.count
        #expect(
            try await patches(store) == [
                [0, total, 5_000_001], [5_000_001, total - 5_000_001, 1_000_000],
                [6_000_001, total - 6_000_001, total - 6_000_001],
            ])
    }

    @Test func `a run after one that was cancelled goes on where that ended`() async throws {
        let store = try await TestStore()
        let gate = FaultGate()
        store.server.faults.add(
            .patch("/v1/"), times: 1, .stallBody(at: .bytes(3_000_000), gate))
        let source = try store.source(Self.large)
        let first = store.upload("new", source)
        let task = Task { () -> RemoteFailure? in
            var first = first
            return await failure(of: &first)
        }
        try await gate.reached()
        task.cancel()
        #expect(await task.value?.isCancelled == true)
        var second = store.upload("new", source)
        try await second.run()
        gate.open()
        #expect(store.stored("new") == Self.large)
        let begun = try await patches(store).map { $0[0] }
        #expect(begun == [0, 3_000_000])
    }

    @Test func `an upload that was cut at its very end is finished with no byte`() async throws {
        let store = try await TestStore()
        store.server.faults.add(.patch("/v1/"), times: 1, .cutBody(at: .fraction(1)))
        var upload = store.upload("new", try store.source(Self.large))
        try await upload.run()
        #expect(store.stored("new") == Self.large)
        #expect(try await patches(store).last == [Self.large.count, 0, 0])
    }

    @Test(arguments: [1_000, limit + 1_000_000])
    func `a lost answer is found out by the size`(size: Int) async throws {
        let store = try await TestStore()
        store.server.faults.add(Fault.Match(path: "/v1/"), times: 1, .drop())
        store.server.faults.add(.put("/v1/"), times: 1, .drop())
        store.server.faults.add(.patch("/v1/"), times: 1, .drop())
        var upload = store.upload("new", try store.source(Self.bytes(size)))
        try await upload.run()
        #expect(store.stored("new") == Self.bytes(size))
        let requests = try await store.requests()
        #expect(requests.suffix(2).first?.hasSuffix(" 412") == true)
        #expect(requests.last == "HEAD /v1/blobs/new 200")
    }

    @Test func `progress resets the count of failed connections`() async throws {
        let store = try await TestStore()
        store.server.faults.add(.patch("/v1/"), times: 20, .cutBody(at: .bytes(100_000)))
        var upload = store.upload("new", try store.source(Self.large))
        try await upload.run()
        #expect(store.stored("new") == Self.large)
        #expect(try await patches(store).count == 21)
    }

    @Test(arguments: [0, 1_000])
    func `a connection that brings too little gives up after three in a row`(
        bytes: UInt64
    ) async throws {
        let store = try await TestStore()
        store.server.faults.add(.patch("/v1/"), .cutBody(at: .bytes(bytes)))
        var upload = store.upload("new", try store.source(Self.large))
        let failure = await failure(of: &upload)
        #expect(failure?.reason == .offline && failure?.isConnection == true)
        #expect(try await patches(store).count == 3)
        #expect(store.clock.waits == [.milliseconds(250), .milliseconds(500)])
    }

    @Test func `an offset of another sender is where it goes on`() async throws {
        let store = try await TestStore()
        let part = UploadBody(content: .bytes(Array(Self.large.prefix(2_000_000))))
        _ = try await store.remote.patch(
            "new", offset: 0, length: UInt64(Self.large.count), part)
        var upload = store.upload("new", try store.source(Self.large))
        upload.mayHaveBegun = false
        try await upload.run()
        #expect(store.stored("new") == Self.large)
        let rest = Self.large.count - 2_000_000
        #expect(
            try await patches(store).suffix(2) == [
                [0, Self.large.count, 0], [2_000_000, rest, rest],
            ])
        #expect(store.clock.waits == [])
    }

    @Test func `an upload that the server has forgotten begins anew`() async throws {
        let time = ManualClock()
        let store = try await TestStore(options: ServerOptions(clock: { time.now }))
        store.server.faults.add(.patch("/v1/"), times: 1, .cutBody(at: .bytes(2_000_000)))
        let source = try store.source(Self.large)
        var first = BlobUpload(
            record: "new", source: source, remote: store.remote, policy: Backoff(connections: 1),
            clock: store.clock)
        #expect(await failure(of: &first)?.reason == .offline)
        time.advance(by: 2 * 86_400)
        var second = store.upload("new", source)
        try await second.run()
        #expect(store.stored("new") == Self.large)
        #expect(try await patches(store).last == [0, Self.large.count, Self.large.count])
    }

    // MARK: Refused

    @Test(arguments: [1_000, limit + 1_000_000])
    func `what the store has no place for is refused at once`(size: Int) async throws {
        for (limits, reason) in [
            (ServedAccount.Limits(blob: 999), UnavailableReason.tooLarge),
            (ServedAccount.Limits(total: 999), .storeFull),
        ] {
            let store = try await TestStore(options: ServerOptions(limits: limits))
            var upload = store.upload("new", try store.source(Self.bytes(size)))
            upload.mayHaveBegun = false
            #expect(await failure(of: &upload)?.reason == reason)
            #expect(try await store.requests().count == 1)
        }
    }

    @Test(arguments: [1_000, limit + 1_000_000])
    func `another blob under the name, and one that was deleted, end it for good`(
        size: Int
    ) async throws {
        let store = try await TestStore()
        store.served.putBlob("new", [1, 2, 3])
        let source = try store.source(Self.bytes(size))
        var upload = store.upload("new", source)
        var failure = await failure(of: &upload)
        #expect(failure?.reason == .serverError && failure?.code == "exists")
        #expect(failure?.next == .never)
        store.served.deleteBlob("new")
        var again = store.upload("new", source)
        failure = await self.failure(of: &again)
        #expect(failure?.reason == .notFound && failure?.next == .never)
        #expect(try await again.check() == .missing)
    }

    @Test(arguments: [1_000, limit + 1_000_000])
    func `a server in trouble is asked eight times`(size: Int) async throws {
        let store = try await TestStore()
        store.server.faults.add(Fault.Match(path: "/v1/"), .html(200))
        var upload = store.upload("new", try store.source(Self.bytes(size)))
        upload.mayHaveBegun = false
        #expect(await failure(of: &upload)?.reason == .serverError)
        #expect(store.clock.waits.count == 7)
    }

    @Test func `a wait that the host asked for holds the upload, and all others`() async throws {
        let store = try await TestStore()
        let gate = HostGate(clock: store.clock, policy: Backoff())
        let remote = GatedWriter(remote: store.remote, gate: gate, host: "a")
        store.server.faults.add(
            .put("/v1/"), times: 1,
            .problem(429, code: "slow-down", headers: [Header("Retry-After", "20")]))
        var upload = store.upload("new", try store.source(Self.bytes(100)), via: remote)
        try await upload.run()
        #expect(store.clock.waits == [.seconds(20)])
        store.server.faults.add(
            .put("/v1/"), times: 1,
            .problem(503, code: "busy", headers: [Header("Retry-After", "600")]))
        var other = store.upload("other", try store.source(Self.bytes(100)), via: remote)
        #expect(await failure(of: &other)?.retryAfter == 600)
        let before = store.server.log.entries.count
        var third = store.upload("third", try store.source(Self.bytes(100)), via: remote)
        let failure = await failure(of: &third)
        #expect(failure?.reason == .throttled && failure?.isUnsent == true)
        #expect(
            await remoteFailure { () async throws(RemoteFailure) in
                try await remote.size(of: "new")
            }?.isUnsent == true)
        #expect(store.server.log.entries.count == before)
    }

    @Test func `who is cancelled while it waits ends as cancelled`() async throws {
        let store = try await TestStore()
        store.server.faults.add(.put("/v1/"), .html(500))
        let clock = HeldClock()
        let upload = BlobUpload(
            record: "new", source: try store.source([1]), remote: store.remote, policy: Backoff(),
            clock: clock)
        let task = Task { () -> RemoteFailure? in
            var upload = upload
            return await failure(of: &upload)
        }
        try await clock.waitFor { $0.count == 1 }
        task.cancel()
        #expect(await task.value?.isCancelled == true)
    }

    // MARK: This device

    @Test func `a source that is not whole is this device's trouble, and nothing is sent`()
        async throws
    {
        let store = try await TestStore()
        let source = try store.source([1, 2, 3])
        for wrong in [
            UploadSource(path: source.path, offset: 100, length: 5),
            UploadSource(path: source.path, offset: .max, length: 5),
            UploadSource(path: source.path + "-gone", length: 5),
        ] {
            var upload = store.upload("new", wrong)
            let error = await #expect(throws: (any Error).self) { try await upload.run() }
            #expect(SyncError("send", known(error)).code == .storage)
        }
        #expect(store.server.log.entries.isEmpty)
    }

    @Test func `a source that is cut while it is sent is this device's trouble`() async throws {
        let store = try await TestStore()
        let source = try store.source(Self.large)
        let file = try File(source.path, for: .readWrite)
        var upload = store.upload("new", source)
        upload.progress = { _ in try? file.truncate(to: 1_000) }
        let error = await #expect(throws: SyncError.self) { try await upload.run() }
        #expect(error?.code == .storage)
        #expect(store.stored("new") == nil)
    }
}
