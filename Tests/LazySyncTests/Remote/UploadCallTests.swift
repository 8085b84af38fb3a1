import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// The calls that bring bytes, one by one.
@Suite(.serialized, .timeLimit(.minutes(10))) struct UploadCallTests {
    private let bytes = (0..<3_000).map { UInt8(truncatingIfNeeded: $0 * 7) }

    private func body(_ range: Range<Int>? = nil) -> UploadBody {
        UploadBody(content: .bytes(Array(bytes[range ?? bytes.indices])))
    }

    /// What a refusal looks like.
    struct Row: Sendable, CustomTestStringConvertible {
        let action: FaultAction
        let reason: UnavailableReason
        var isFinal = false
        var wait: Int64?
        let testDescription: String

        init(
            _ action: FaultAction, _ reason: UnavailableReason, final isFinal: Bool = false,
            wait: Int64? = nil
        ) {
            (self.action, self.reason, self.isFinal, self.wait) = (action, reason, isFinal, wait)
            testDescription = "\(action)".prefix(60) + " \(reason)"
        }
    }

    static let refusals: [Row] = [
        Row(.problem(413, code: "too-large"), .tooLarge, final: true),
        Row(.html(413), .tooLarge, final: true),
        Row(.problem(507, code: "store-full"), .storeFull, final: true),
        Row(.html(507), .storeFull, final: true),
        Row(.problem(400, code: "bad-request"), .serverError, final: true),
        Row(.problem(411, code: "length-required"), .serverError, final: true),
        Row(.problem(403, code: "not-entitled"), .notEntitled, final: true),
        Row(.problem(401, code: "session-ended"), .signedOut, final: true),
        Row(.problem(404, code: "no-such-blob"), .notFound, final: true),
        Row(.problem(412, code: "keys-changed"), .serverError), Row(.html(412), .serverError),
        Row(.html(409), .serverError), Row(.html(400), .serverError),
        Row(.html(404), .serverError), Row(.html(401), .serverError),
        Row(.html(200), .serverError), Row(.html(500), .serverError),
        Row(.problem(503, code: "busy"), .serverError),
        Row(
            .problem(503, code: "busy", headers: [Header("Retry-After", "7")]), .throttled, wait: 7),
        Row(.html(429), .throttled),
        Row(
            .answer(status: 429, headers: [Header("Retry-After", "9999")]), .throttled, wait: 3600),
        Row(.answer(status: 307, headers: [Header("Location", "/v1/blobs/x")]), .serverError),
        Row(.drop(handling: false), .offline),
    ]

    @Test(arguments: refusals)
    func `a PUT that is refused fails as the protocol says`(row: Row) async throws {
        let store = try await TestStore()
        store.server.faults.add(.put("/v1/blobs/new"), row.action)
        let failure = await remoteFailure { () async throws(RemoteFailure) in
            try await store.remote.put("new", body())
        }
        expect(failure, row)
        #expect(store.stored("new") == nil)
    }

    @Test(arguments: refusals)
    func `a PATCH that is refused fails as the protocol says`(row: Row) async throws {
        let store = try await TestStore()
        store.server.faults.add(.patch("/v1/uploads/new"), row.action)
        let failure = await remoteFailure { () async throws(RemoteFailure) in
            try await store.remote.patch("new", offset: 0, length: 3_000, body())
        }
        expect(failure, row)
    }

    private func expect(_ failure: RemoteFailure?, _ row: Row) {
        #expect(failure?.reason == row.reason)
        #expect((failure?.next == .never) == row.isFinal)
        #expect(failure?.retryAfter == row.wait)
    }

    // MARK: PUT

    @Test func `a PUT makes a blob, and another one to the name is told that it exists`()
        async throws
    {
        let store = try await TestStore()
        #expect(try await store.remote.put("new", body()) == .created)
        #expect(store.stored("new") == bytes)
        #expect(try await store.remote.put("new", body(0..<5)) == .exists)
        try await store.remote.delete("new")
        #expect(try await store.remote.put("new", body()) == .exists, "a name stays taken")
        let sent = store.server.log.entries[0]
        #expect(sent.header("If-None-Match") == "*" && sent.header("Expect") == nil)
    }

    @Test(arguments: [
        (ServedAccount.Limits(put: 1 << 20), UnavailableReason.tooLarge),
        (ServedAccount.Limits(blob: 1 << 20), .tooLarge),
        (ServedAccount.Limits(total: 1 << 20), .storeFull),
    ])
    func `a PUT that has no place is refused before its body`(
        limits: ServedAccount.Limits, reason: UnavailableReason
    ) async throws {
        let store = try await TestStore(options: ServerOptions(limits: limits))
        let path = try store.spool([UInt8](repeating: 1, count: 2 << 20))
        let file = try File(path, for: .read)
        let isRead = Locked(false)
        let body = UploadBody(content: .file(file, offset: 0, count: 2 << 20)) { _ in
            isRead.withLock { $0 = true }
        }
        for _ in 0..<2 {
            let failure = await remoteFailure { () async throws(RemoteFailure) in
                try await store.remote.put("new", body)
            }
            #expect(failure?.reason == reason && failure?.next == .never)
        }
        try await store.server.log.settled()
        #expect(store.server.log.entries.allSatisfy { $0.bodyCount == 0 })
        #expect(!isRead.withLock { $0 })
    }

    // MARK: PATCH and its HEAD

    @Test func `an upload in parts says where it stands, and is a blob at its end`() async throws {
        let store = try await TestStore()
        let remote = store.remote
        #expect(try await remote.uploadOffset("new") == nil)
        let first = try await remote.patch("new", offset: 0, length: 3_000, body(0..<1_000))
        #expect(first == .offset(1_000))
        #expect(try await remote.uploadOffset("new") == 1_000)
        for wrong in [0, 999, 1_001] as [UInt64] {
            let answer = try await remote.patch("new", offset: wrong, length: 3_000, body(0..<9))
            #expect(answer == .wrongOffset(1_000))
        }
        let last = try await remote.patch("new", offset: 1_000, length: 3_000, body(1_000..<3_000))
        #expect(last == .created)
        #expect(store.stored("new") == bytes)
        #expect(try await remote.uploadOffset("new") == nil)
        let late = try await remote.patch("new", offset: 3_000, length: 3_000, body(0..<0))
        #expect(late == .exists)
        let sent = known(store.server.log.entries.first { $0.method == "PATCH" })
        #expect(sent.header("Content-Type") == "application/offset+octet-stream")
        #expect(sent.header("Tus-Resumable") == "1.0.0")
    }

    @Test func `another length than before is refused for good`() async throws {
        let store = try await TestStore()
        _ = try await store.remote.patch("new", offset: 0, length: 3_000, body(0..<1_000))
        let failure = await remoteFailure { () async throws(RemoteFailure) in
            try await store.remote.patch("new", offset: 1_000, length: 2_000, body(1_000..<2_000))
        }
        #expect(failure?.status == 400 && failure?.next == .never)
    }

    static let noOffsets: [[Header]] = [
        [], [Header("Upload-Offset", "")], [Header("Upload-Offset", "-1")],
        [Header("Upload-Offset", "+1000")], [Header("Upload-Offset", "0001")],
        [Header("Upload-Offset", "1e3")], [Header("Upload-Offset", "18446744073709551616")],
        [Header("Upload-Offset", "1000"), Header("Upload-Offset", "1001")],
    ]

    @Test(arguments: noOffsets, [200, 204, 409])
    func `an answer without one clear Upload-Offset is the server's trouble`(
        headers: [Header], status: Int
    ) async throws {
        let store = try await TestStore()
        let type = Header("Content-Type", "application/problem+json")
        let answer = FaultAction.answer(
            status: status, headers: headers + (status == 409 ? [type] : []),
            body: status == 409 ? Array(#"{"code":"wrong-offset"}"#.utf8) : [])
        let failure: RemoteFailure?
        if status == 200 {
            store.server.faults.add(.head("/v1/uploads/new"), answer)
            failure = await remoteFailure { () async throws(RemoteFailure) in
                try await store.remote.uploadOffset("new")
            }
        } else {
            store.server.faults.add(.patch("/v1/uploads/new"), answer)
            failure = await remoteFailure { () async throws(RemoteFailure) in
                try await store.remote.patch("new", offset: 0, length: 3_000, body())
            }
        }
        #expect(failure?.reason == .serverError && failure?.code == "protocol")
    }

    @Test(arguments: [(204, 999), (204, 2_001), (204, 1 << 62), (409, 1_000)])
    func `an Upload-Offset that cannot be is the server's trouble`(
        status: Int, offset: Int
    ) async throws {
        let store = try await TestStore()
        store.server.faults.add(
            .patch("/v1/uploads/new"),
            .answer(
                status: status,
                headers: [
                    Header("Upload-Offset", "\(offset)"),
                    Header("Content-Type", "application/problem+json"),
                ], body: status == 409 ? Array(#"{"code":"wrong-offset"}"#.utf8) : []))
        let failure = await remoteFailure { () async throws(RemoteFailure) in
            try await store.remote.patch("new", offset: 1_000, length: 3_000, body(1_000..<2_000))
        }
        #expect(failure?.reason == .serverError && failure?.code == "protocol")
    }

    @Test(arguments: [404, 410])
    func `a HEAD counts by its status alone`(status: Int) async throws {
        let store = try await TestStore()
        store.server.faults.add(.head("/v1/"), .answer(status: status))
        #expect(try await store.remote.uploadOffset("new") == nil)
        #expect(try await store.remote.size(of: "new") == nil)
    }

    @Test func `a bare 401 to a HEAD is an expired token`() async throws {
        let store = try await TestStore()
        store.server.faults.add(.head("/v1/uploads/new"), times: 1, .answer(status: 401))
        #expect(try await store.remote.uploadOffset("new") == nil)
        #expect(
            try await store.requests() == [
                "HEAD /v1/uploads/new 401", "POST /v1/sessions/refresh 200",
                "HEAD /v1/uploads/new 404",
            ])
    }
}
