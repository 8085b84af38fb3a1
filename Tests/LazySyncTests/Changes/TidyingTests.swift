import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// What is deleted at the store, and when.
@Suite struct TidyingTests {
    private static let day: Int64 = 86_400

    private func stored(_ home: TestHome) throws -> [String] {
        try home.served.read { state throws(Refusal) in state.blobs.names() }
    }

    @Test func `what was removed here goes from the store after 30 days, and not before`()
        async throws
    {
        try await withHome(TestAccount()) { home in
            home.addsFiles = true
            let engine = try await home.login()
            let kept = try await engine.add(files: [try home.file("a", TestHome.bytes(70_000))])
            let gone = try await engine.add(files: [try home.file("b", TestHome.bytes(9))])
            _ = try await engine.push()
            #expect(try stored(home).count == 2)
            try await engine.remove(try #require(gone.items.first))
            _ = try await engine.push()
            home.clock.advance(by: 29 * Self.day)
            _ = try await engine.push()
            #expect(try stored(home).count == 2)
            #expect(try await engine.trash().count == 1)
            home.clock.advance(by: 2 * Self.day)
            _ = try await engine.push()
            #expect(try await engine.trash().isEmpty)
            let key = try #require(kept.attachments.first)
            let record = try #require(try await engine.explain(key).recordName)
            #expect(try stored(home) == [record])
        }
    }

    @Test func `what another device removed is not deleted at the store by this one`()
        async throws
    {
        try await withHome(TestAccount()) { home in
            home.addsFiles = true
            let engine = try await home.login()
            let added = try await engine.add(files: [try home.file("a", TestHome.bytes(900))])
            _ = try await engine.push()
            let other = try TestHome(beside: home)
            other.addsFiles = true
            let second = try await other.login()
            _ = try await second.restore()
            _ = try await second.materialize(try #require(added.attachments.first))
            try await engine.remove(try #require(added.items.first))
            _ = try await engine.push()
            _ = try await second.restore()
            #expect(try await second.trash().count == 1)
            other.clock.advance(by: 40 * Self.day)
            _ = try await second.push()
            #expect(try await second.trash().isEmpty)
            #expect(try stored(home).count == 1)
            try other.check()
        }
    }

    @Test func `what is named again, or by a copy, stays at the store`() async throws {
        try await withHome(TestAccount()) { home in
            home.addsFiles = true
            let engine = try await home.login()
            let added = try await engine.add(files: [try home.file("a", TestHome.bytes(900))])
            _ = try await engine.push()
            let key = try #require(added.attachments.first)
            try await engine.remove(key)
            // Not sent: the server's entry still names it.
            home.clock.advance(by: 40 * Self.day)
            home.server.faults.add(.post("/v1/manifest"), .status(500))
            await #expect(throws: SyncError.self) { try await engine.push() }
            _ = try? await engine.tidy()
            #expect(try stored(home).count == 1)
            home.server.faults.clear()
            _ = try await engine.push()
            #expect(try stored(home).isEmpty)
        }
    }

    @Test func `what nothing names is deleted when it was seen so for 37 days`() async throws {
        try await withHome(TestAccount()) { home in
            home.addsFiles = true
            let engine = try await home.login()
            _ = try await engine.add(files: [try home.file("a", TestHome.bytes(900))])
            _ = try await engine.push()
            let named = try stored(home)
            home.served.putBlob("left-by-a-crash-000001", [1, 2, 3])
            home.clock.advance(by: 2 * Self.day)
            _ = try await engine.push()
            #expect(try stored(home).count == 2)
            home.clock.advance(by: 36 * Self.day)
            _ = try await engine.push()
            #expect(try stored(home).count == 2)
            home.clock.advance(by: 2 * Self.day)
            _ = try await engine.push()
            #expect(try stored(home) == named)
        }
    }

    @Test func `where an entry cannot be read nothing is deleted: nobody knows what it names`()
        async throws
    {
        let account = TestAccount()
        account.put(Array("no item".utf8))
        account.push()
        try await withHome(account) { home in
            home.addsFiles = true
            let engine = try await home.login()
            _ = try? await engine.restore()
            home.served.putBlob("named-by-a-newer-client", [1, 2, 3])
            for _ in 0..<4 {
                home.clock.advance(by: 20 * Self.day)
                _ = try await engine.push()
            }
            #expect(try stored(home).contains("named-by-a-newer-client"))
        }
    }

    @Test func `a filter takes nothing named for unnamed, and little unnamed for named`() {
        let random = SeededRandom(seed: 5)
        let names = (0..<20_000).map { _ in Array(RecordName(random: random).description.utf8) }
        var filter = NameFilter(seed: 9)
        for name in names.prefix(10_000) { filter.insert(name.span) }
        #expect(names.prefix(10_000).allSatisfy { filter.mayContain($0.span) })
        #expect(names.suffix(10_000).count { filter.mayContain($0.span) } < 10)
    }

    @Test func `names are found in any payload that could have them`() {
        let text = Array(
            #"{"x":{"ref":"cb1.abc.Q.W"},"y":["cb1.-_9.A","cb1.","cb1"],"z":"cb2.n."}"#.utf8)
        var found: [String] = []
        CloudBlobRef.forEachName(in: text.span) {
            found.append(String(decoding: [UInt8](copying: $0), as: UTF8.self))
        }
        #expect(found.filter { !$0.isEmpty }.prefix(2) == ["abc", "-_9"])
    }
}
