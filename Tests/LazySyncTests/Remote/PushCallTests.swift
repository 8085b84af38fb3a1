import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// How a call fails; nil if it does not.
func remoteFailure<Result>(
    _ call: () async throws(RemoteFailure) -> Result
) async -> RemoteFailure? {
    do throws(RemoteFailure) {
        _ = try await call()
        return nil
    } catch {
        return error
    }
}

/// Pushing, and waiting for what others push.
@Suite(.serialized, .timeLimit(.minutes(10))) struct PushCallTests {
    private static let problem = [Header("Content-Type", "application/problem+json")]

    @Test func `what was pushed is what the server then lists, under its head`() async throws {
        let store = try await TestStore()
        let item = store.account.add("A note \"quoted\"", text: "and its text")
        store.account.add("Another")
        store.account.remove(item.id)
        let push = store.nextPush()
        #expect(push.entries.count == 2)
        #expect(try await store.remote.push(push) == .accepted)
        let page = try await store.remote.manifestPage(after: 0, page: nil, limit: 10)
        var listed: [LazySync.EntryID: (EntryFacts, [UInt8])] = [:]
        let envelope = try PageReader().read(page.body, envelope: { _ in }) { facts, seq, sealed in
            #expect(seq == 1)
            listed[facts.id] = (facts, [UInt8](copying: sealed))
        }
        #expect(envelope.head == push.head)
        #expect(listed.count == 2)
        for (facts, sealed) in push.entries {
            #expect(listed[facts.id]?.0 == facts && listed[facts.id]?.1 == sealed)
        }
    }

    @Test func `the very same push again is accepted, and changes nothing`() async throws {
        let store = try await TestStore()
        store.account.add("One")
        let push = store.nextPush()
        // Twice: a connection that was used before is tried again by itself.
        store.server.faults.add(.post("/v1/manifest"), times: 2, .drop())
        let lost = await remoteFailure { () async throws(RemoteFailure) in
            try await store.remote.push(push)
        }
        #expect(lost?.reason == .offline && lost?.isConnection == true)
        for _ in 0..<2 { #expect(try await store.remote.push(push) == .accepted) }
        #expect(store.served.read { $0.truth.headSeq } == 1)
    }

    @Test func `whoever comes second is told the head that is there`() async throws {
        let store = try await TestStore()
        store.account.add("Mine")
        let mine = store.nextPush()
        #expect(try await store.remote.push(mine) == .accepted)
        let late = ManifestPush(
            head: store.account.forgedHead(seq: 1, count: 0), entries: [])
        #expect(try await store.remote.push(late) == .moved(mine.head))
        store.server.faults.add(
            .post("/v1/manifest"), times: 1,
            .answer(
                status: 409, headers: Self.problem,
                body: Array(#"{"code":"head-moved","head":null}"#.utf8)))
        #expect(try await store.remote.push(late) == .moved(nil))
    }

    @Test func `a push that does not fit is refused for good, with its code`() async throws {
        let store = try await TestStore()
        store.account.add("One")
        let push = store.nextPush()
        var facts = push.entries[0].facts
        facts.version = 7
        let wrong = ManifestPush(head: push.head, entries: [(facts, push.entries[0].sealed)])
        let failure = await remoteFailure { () async throws(RemoteFailure) in
            try await store.remote.push(wrong)
        }
        #expect(failure?.reason == .serverError && failure?.next == .never)
        #expect(failure?.status == 422 && failure?.code == "bad-push")
    }

    @Test func `a push of many megabytes arrives whole, and too many entries are too large`()
        async throws
    {
        let store = try await TestStore()
        let sealed = [UInt8](repeating: 0xAB, count: 500_000)
        let ids = (0..<5_001).map { _ in LazySync.EntryID(random: store.account.random) }
        let entries = ids.prefix(20).map {
            (EntryFacts(id: $0, version: 1, kind: .live, epoch: 1), sealed)
        }
        let push = ManifestPush(
            head: store.account.forgedHead(
                seq: 1, previous: [UInt8](repeating: 0, count: 32), count: 20), entries: entries)
        let limit = entries.count * ManifestPush.byteCount(sealed: sealed.count) + 256
        #expect(push.body.count <= limit && push.body.count > 13_000_000)
        #expect(try await store.remote.push(push) == .accepted)
        let many = ManifestPush(
            head: push.head,
            entries: ids.map { (EntryFacts(id: $0, version: 1, kind: .live, epoch: 1), []) })
        let failure = await remoteFailure { () async throws(RemoteFailure) in
            try await store.remote.push(many)
        }
        // Not the reason of an upload that is too large: the blobs are fine.
        #expect(failure?.reason == .serverError && failure?.next == .never)
        #expect(failure?.status == 413 && failure?.code == "too-large")
    }

    @Test func `a store that is full says so to a push too`() async throws {
        let store = try await TestStore()
        store.server.faults.add(.post("/v1/manifest"), times: 1, .problem(507, code: "store-full"))
        store.account.add("One")
        let push = store.nextPush()
        let failure = await remoteFailure { () async throws(RemoteFailure) in
            try await store.remote.push(push)
        }
        #expect(failure?.reason == .storeFull && failure?.next == .never)
    }

    @Test(arguments: [
        (200, "text/html", "<!DOCTYPE html><html></html>"), (200, "application/json", "{}"),
        (200, "application/json", #"{"seq":"2"}"#), (200, "application/json", #"{"seq":1}"#),
        (200, "application/json", ""), (201, "application/json", #"{"seq":"1"}"#),
        (204, "application/json", ""), (409, "text/html", "<html></html>"),
        (409, "application/json", #"{"code":"head-moved","head":null}"#),
        (409, "application/problem+json", #"{"code":"busy","head":null}"#),
        (409, "application/problem+json", #"{"code":"head-moved","head":"AAAA"}"#),
        (409, "application/problem+json", #"{"code":"head-moved","head":5}"#),
        (413, "text/html", "<html></html>"), (422, "text/html", "<html></html>"),
        (507, "text/html", "<html></html>"),
    ])
    func `an answer that does not say that it was taken is the server's trouble`(
        status: Int, type: String, text: String
    ) async throws {
        let store = try await TestStore()
        store.account.add("One")
        let push = store.nextPush()
        store.server.faults.add(
            .post("/v1/manifest"), times: 1,
            .answer(
                status: status, headers: [Header("Content-Type", type)], body: Array(text.utf8)))
        let failure = await remoteFailure { () async throws(RemoteFailure) in
            try await store.remote.push(push)
        }
        #expect(failure?.reason == .serverError && failure?.next == .later)
        #expect(try await store.remote.push(push) == .accepted)
    }

    @Test func `an expired token is renewed, and the push sent once more`() async throws {
        let store = try await TestStore()
        store.account.add("One")
        let push = store.nextPush()
        store.server.expireTokens()
        #expect(try await store.remote.push(push) == .accepted)
        #expect(
            try await store.requests() == [
                "POST /v1/manifest 401", "POST /v1/sessions/refresh 200", "POST /v1/manifest 200",
            ])
    }

    // MARK: The head

    @Test func `a newer head is told at once, and no newer one is none`() async throws {
        let store = try await TestStore()
        #expect(try await store.remote.head(after: 0, wait: 0) == nil)
        store.account.add("One")
        let push = store.nextPush()
        #expect(try await store.remote.push(push) == .accepted)
        #expect(try await store.remote.head(after: 0, wait: 50) == push.head)
        #expect(try await store.remote.head(after: 1, wait: 0) == nil)
    }

    @Test func `who waits is told when somebody pushes`() async throws {
        let store = try await TestStore()
        let remote = store.remote
        let waiter = Task { try await remote.head(after: 0, wait: 50) }
        try await store.server.log.waitFor { $0.contains { $0.path == "/v1/manifest/head" } }
        store.account.add("One")
        let push = store.nextPush()
        #expect(try await remote.push(push) == .accepted)
        #expect(try await waiter.value == push.head)
    }

    @Test func `a wait that runs out is no stall`() async throws {
        let store = try await TestStore(stallSeconds: 0.3)
        #expect(try await store.remote.head(after: 0, wait: 1) == nil)
    }

    @Test(arguments: [
        "", "<html></html>", "{}", #"{"head":null}"#, #"{"head":"AAAA"}"#, #"{"head":7}"#,
    ])
    func `an answer without a head that can be read is the server's trouble`(
        text: String
    ) async throws {
        let store = try await TestStore()
        store.server.faults.add(
            .get("/v1/manifest/head"), .answer(status: 200, body: Array(text.utf8)))
        let failure = await remoteFailure { () async throws(RemoteFailure) in
            try await store.remote.head(after: 0, wait: 0)
        }
        #expect(failure?.reason == .serverError && failure?.next == .later)
    }

    @Test func `a head that is no newer than asked for is the server's trouble`() async throws {
        let store = try await TestStore()
        let old = SyncPlatform.Base64URL.encode(store.account.forgedHead(seq: 5).bytes.span)
        store.server.faults.add(
            .get("/v1/manifest/head"),
            .answer(status: 200, body: Array(#"{"head":"\#(old)"}"#.utf8)))
        #expect(try await store.remote.head(after: 4, wait: 0)?.seq == 5)
        let failure = await remoteFailure { () async throws(RemoteFailure) in
            try await store.remote.head(after: 5, wait: 0)
        }
        #expect(failure?.reason == .serverError)
    }
}
