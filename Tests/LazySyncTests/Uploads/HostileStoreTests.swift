import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Stores that answer what cannot be: an upload ends all the same, and nothing counts as stored.
@Suite(.serialized, .timeLimit(.minutes(10))) struct HostileStoreTests {
    private static let bytes = [UInt8](repeating: 0xA5, count: Int(BlobUpload.putLimit) + 500_000)
    private static let refused = [Header("Content-Type", "application/problem+json")]

    private func failure(of upload: inout BlobUpload) async -> RemoteFailure? {
        do {
            try await upload.run()
            return nil
        } catch {
            return error as? RemoteFailure
        }
    }

    private static func offset(_ status: Int, _ offset: Int) -> FaultAction {
        .answer(
            status: status, headers: refused + [Header("Upload-Offset", "\(offset)")],
            body: status == 409 ? Array(#"{"code":"wrong-offset"}"#.utf8) : [])
    }

    /// Runs an upload against faults that never end.
    private func ends(
        _ faults: [Fault], requests: ClosedRange<Int>,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let store = try await TestStore()
        for fault in faults { store.server.faults.add(fault) }
        var upload = store.upload("new", try store.source(Self.bytes))
        let failure = await failure(of: &upload)
        #expect(failure?.reason == .serverError, sourceLocation: location)
        let count = try await store.requests().count
        #expect(requests.contains(count), "\(count) requests", sourceLocation: location)
        #expect(store.stored("new") == nil, sourceLocation: location)
    }

    @Test func `a HEAD with an offset beyond the end`() async throws {
        try await ends(
            [Fault(.head("/v1/uploads"), Self.offset(200, Self.bytes.count + 1))], requests: 8...8)
    }

    @Test func `a HEAD without an offset, or a page in its place`() async throws {
        try await ends([Fault(.head("/v1/uploads"), .answer(status: 200))], requests: 8...8)
        try await ends([Fault(.head("/v1/uploads"), .html(200))], requests: 8...8)
    }

    @Test(arguments: [0, 1, 8_000_000, bytes.count + 1])
    func `a PATCH that is told the same wrong offset for ever`(offset: Int) async throws {
        try await ends(
            [Fault(.patch("/v1/uploads"), Self.offset(409, offset))], requests: 9...17)
    }

    @Test func `wrong offsets that rise for ever`() async throws {
        let store = try await TestStore()
        for step in 1...100 {
            store.server.faults.add(
                .patch("/v1/uploads"), times: 1, Self.offset(409, step * 70_000))
        }
        var upload = store.upload("new", try store.source(Self.bytes))
        #expect(await failure(of: &upload)?.reason == .serverError)
        #expect(try await store.requests().count == 9)
    }

    @Test(arguments: [0, 4_000_000, bytes.count])
    func `offsets that stand still or go back however much is sent`(offset: Int) async throws {
        let store = try await TestStore()
        let part = UploadBody(content: .bytes(Array(Self.bytes.prefix(6_000_000))))
        _ = try await store.remote.patch(
            "new", offset: 0, length: UInt64(Self.bytes.count), part)
        store.server.faults.add(.head("/v1/uploads"), skip: 1, Self.offset(200, offset))
        store.server.faults.add(.patch("/v1/uploads"), .html(500))
        var upload = store.upload("new", try store.source(Self.bytes))
        #expect(await failure(of: &upload)?.reason == .serverError)
        // Nine tries of two calls; and two more where the server's refusal cut the connection while
        // bytes were still going out, which counts for nothing.
        #expect(try await store.requests().count <= 1 + 2 * 11)
    }

    @Test func `a 204 at the end for ever`() async throws {
        try await ends(
            [Fault(.patch("/v1/uploads"), Self.offset(204, Self.bytes.count))], requests: 3...10)
    }

    @Test(arguments: [.html(200), .html(204), .answer(status: 204)] as [FaultAction])
    func `a PATCH that is answered with something else`(action: FaultAction) async throws {
        try await ends([Fault(.patch("/v1/uploads"), action)], requests: 16...16)
    }

    @Test func `a HEAD that knows of nothing, and a PATCH that knows better`() async throws {
        let store = try await TestStore()
        let part = UploadBody(content: .bytes(Array(Self.bytes.prefix(6_000_000))))
        _ = try await store.remote.patch(
            "new", offset: 0, length: UInt64(Self.bytes.count), part)
        store.server.faults.add(.head("/v1/uploads"), .answer(status: 404))
        var upload = store.upload("new", try store.source(Self.bytes))
        try await upload.run()
        #expect(store.stored("new") == Self.bytes)
    }

    @Test(arguments: [10, 9_000_000])
    func `a 201 for a blob that has another size is found by the check`(size: Int) async throws {
        let store = try await TestStore()
        let bytes = [UInt8](repeating: 1, count: size)
        store.server.faults.add(.head("/v1/blobs"), .truncate(to: 9))
        var upload = store.upload("new", try store.source(bytes))
        try await upload.run()
        let failure = await #expect(throws: RemoteFailure.self) { try await upload.check() }
        #expect(failure?.reason == .serverError && failure?.next == .never)
        #expect(failure?.code == "exists")
    }

    @Test func `a 201 for nothing at all is found by the check`() async throws {
        let store = try await TestStore()
        store.server.faults.add(.put("/v1/blobs"), .answer(status: 201))
        var upload = store.upload("new", try store.source([1, 2, 3]))
        try await upload.run()
        #expect(try await upload.check() == .missing)
    }

    @Test func `a check that finds a page is made again, and gives up`() async throws {
        let store = try await TestStore()
        store.server.faults.add(.head("/v1/blobs"), times: 3, .html(200))
        var upload = store.upload("new", try store.source([1, 2, 3]))
        try await upload.run()
        #expect(try await upload.check() == .stored)
        store.server.faults.add(.head("/v1/blobs"), .html(200))
        let failure = await #expect(throws: RemoteFailure.self) { try await upload.check() }
        #expect(failure?.reason == .serverError && failure?.code == "html")
    }
}
