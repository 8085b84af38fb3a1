import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Asking what the store has, and deleting of it.
@Suite(.serialized, .timeLimit(.minutes(10))) struct StoredCallTests {
    private func filled(
        _ sizes: [Int], options: ServerOptions = .init()
    ) async throws -> TestStore {
        let account = TestAccount()
        for size in sizes { account.blobs["blob-\(size)"] = [UInt8](repeating: 5, count: size) }
        return try await TestStore(account, options: options)
    }

    // MARK: The size

    @Test(arguments: [ServerOptions.BlobOrigin.none, .own])
    func `the size of a blob is its length, wherever it is served`(
        origin: ServerOptions.BlobOrigin
    ) async throws {
        let store = try await filled([0, 1_234], options: ServerOptions(blobOrigin: origin))
        #expect(try await store.remote.size(of: "blob-0") == 0)
        #expect(try await store.remote.size(of: "blob-1234") == 1_234)
        #expect(try await store.remote.size(of: "nothing") == nil)
        try await store.remote.delete("blob-1234")
        #expect(try await store.remote.size(of: "blob-1234") == nil)
        let heads = store.server.log.entries.filter { $0.method == "HEAD" }
        #expect(heads.count == 4)
        #expect(heads.allSatisfy { $0.isAuthorized == (origin == .none) && $0.bytesSent == 0 })
    }

    @Test func `a redirect leads to the size, and one that has expired is asked for afresh`()
        async throws
    {
        let store = try await filled([50])
        store.server.faults.add(.head("/v1/blobs/"), times: 2, .redirectToSigned())
        store.server.faults.add(.head("/signed/"), times: 1, .answer(status: 403))
        #expect(try await store.remote.size(of: "blob-50") == 50)
    }

    @Test(
        arguments: [
            .html(200), .framing(.chunked), .header("Content-Encoding", "gzip"), .html(500),
            .answer(status: 206), .answer(status: 403), .html(402), .answer(status: 204),
        ] as [FaultAction])
    func `an answer that says no size is the server's trouble`(action: FaultAction) async throws {
        let store = try await filled([50])
        store.server.faults.add(.head("/v1/blobs/"), action)
        let failure = await remoteFailure { () async throws(RemoteFailure) in
            try await store.remote.size(of: "blob-50")
        }
        #expect(failure?.reason == .serverError && failure?.next == .later)
    }

    // MARK: Deleting

    @Test func `what is deleted is gone, and may be deleted again`() async throws {
        let store = try await filled([50])
        for _ in 0..<2 { try await store.remote.delete("blob-50") }
        #expect(store.stored("blob-50") == nil)
        store.server.faults.add(.delete("/"), times: 1, .problem(404, code: "no-such-blob"))
        store.server.faults.add(.delete("/"), times: 1, .problem(410, code: "blob-gone"))
        for _ in 0..<2 { try await store.remote.delete("blob-50") }
    }

    @Test(arguments: [.html(404), .html(200), .html(410), .answer(status: 200)] as [FaultAction])
    func `an answer that does not say that it is gone is the server's trouble`(
        action: FaultAction
    ) async throws {
        let store = try await filled([50])
        store.server.faults.add(.delete("/"), action)
        let failure = await remoteFailure { () async throws(RemoteFailure) in
            try await store.remote.delete("blob-50")
        }
        #expect(failure?.reason == .serverError)
        #expect(store.stored("blob-50") != nil)
    }

    // MARK: The list

    @Test func `the list is walked page by page to its end`() async throws {
        let store = try await filled(Array(100..<125))
        var names: [String] = []
        var after: String?
        var pages = 0
        repeat {
            let page = try await store.remote.blobs(after: after, limit: 10)
            names += page.blobs.map(\.name.description)
            #expect(page.blobs.allSatisfy { $0.name.description == "blob-\($0.size)" })
            #expect(page.blobs.allSatisfy { $0.created.seconds == 1_780_000_000 })
            after = page.next
            pages += 1
        } while after != nil
        #expect(names == (100..<125).map { "blob-\($0)" })
        #expect(pages == 3)
    }

    @Test func `a store without blobs has an empty list`() async throws {
        let store = try await filled([])
        #expect(
            try await store.remote.blobs(after: nil, limit: 5) == BlobList(blobs: [], next: nil))
    }

    private static func line(
        _ name: String, _ size: String = "5", _ created: String = "2026-06-01T00:00:00Z"
    ) -> String {
        #"{"name":"\#(name)","size":\#(size),"created":"\#(created)"}"#
    }

    private static func list(_ lines: [String], _ next: String = "null") -> String {
        #"{"blobs":[\#(lines.joined(separator: ","))],"next":\#(next)}"#
    }

    static let malformed = [
        "", "<html></html>", "[]", #"{"blobs":{}}"#, list([line("")]), list([line("a/b")]),
        list([line("..")]), list([line(String(repeating: "a", count: 65))]),
        list([line("n"), line("n")]), list([line("o"), line("n")]), list([line("m")]),
        list([line("n", "-1")]), list([line("n", "1.5")]), list([line("n", "\"5\"")]),
        list([line("n", "9223372036854775807")]), list([line("n", "5", "yesterday")]),
        list([line("n", "5", "2026-06-01")]), list([#"{"name":"n","size":5}"#]),
        list([line("n")], #""""#), list([line("n")], #""a/b""#), list([line("n")], "7"),
        list([line("n"), line("o")], #""n""#), list([], #""m""#), list([], #""a""#),
        list([line("n"), line("o"), line("p"), line("q")]),
    ]

    @Test(arguments: malformed)
    func `a list that a walk could not trust is the server's trouble`(text: String) async throws {
        let store = try await filled([])
        store.server.faults.add(
            .get("/v1/blobs"), .answer(status: 200, body: Array(text.utf8)))
        let failure = await remoteFailure { () async throws(RemoteFailure) in
            try await store.remote.blobs(after: "m", limit: 3)
        }
        #expect(failure?.reason == .serverError && failure?.next == .later)
    }

    @Test func `a list may leave its last names out, and go on behind them`() async throws {
        let store = try await filled([])
        store.server.faults.add(
            .get("/v1/blobs"),
            .answer(status: 200, body: Array(Self.list([Self.line("n")], #""q""#).utf8)))
        let page = try await store.remote.blobs(after: "m", limit: 3)
        #expect(page.blobs.map(\.name.description) == ["n"] && page.next == "q")
    }
}
