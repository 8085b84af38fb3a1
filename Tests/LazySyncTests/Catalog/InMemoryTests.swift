import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// A catalog in memory, for an app's own tests, behaves as one in a file does.
@Suite struct InMemoryTests {
    /// What an app can see of an account.
    private struct Seen: Equatable {
        var report = RestoreReport()
        var rows: [LazySync.Attachment] = []
        var items: [ItemSummary] = []
        var opened: [[UInt8]] = []
        var states: [BlobState] = []
        var failure: SyncError.Code?
        var evicted = EvictionReport()
        var isSound = false
    }

    private func look(inMemory: Bool) async throws -> Seen {
        let home = try TestHome(fixture: "small")
        home.configuration.keepsCatalogInMemory = inMemory
        let engine = try await home.login()
        var seen = Seen()
        seen.report = try await engine.restore()
        seen.report.seconds = 0
        let rows = try await engine.attachments()
        let record = try await engine.catalog.attachment(rows[3].key)?.ref?.recordName
        home.server.faults.add(
            .get("/v1/blobs/" + known(record)), .problem(404, code: "no-such-blob"))
        for row in rows.prefix(3) {
            let file = try await engine.materialize(row.key)
            seen.opened.append([UInt8](try Data(contentsOf: URL(filePath: file.path))))
        }
        do {
            _ = try await engine.materialize(rows[3].key)
        } catch {
            seen.failure = error.code
        }
        _ = try await engine.pin(rows[0].key)
        seen.evicted = try await engine.evictAll()
        seen.rows = try await engine.attachments()
        seen.items = try await engine.items()
        seen.states = seen.rows.map { $0.state }
        seen.isSound = try await engine.verify().isRight
        let places = try home.accountPlaces
        #expect(try (FileSystem.facts(places.catalog) == nil) == inMemory)
        #expect(try FileSystem.facts(places.catalog + "-wal") == nil || !inMemory)
        _ = try await engine.logout()
        #expect(try FileSystem.facts(places.data) == nil)
        return seen
    }

    @Test func `it shows the same through a restore, opens, a failure, pins and an eviction`()
        async throws
    {
        let memory = try await look(inMemory: true)
        let file = try await look(inMemory: false)
        #expect(memory == file)
        #expect(memory.failure == .unavailable(.notFound) && memory.isSound)
        #expect(memory.opened.count == 3 && memory.rows.count == 20)
    }

    @Test func `who lists while a restore writes sees all of a page or nothing of it`()
        async throws
    {
        let account = TestAccount()
        let store = try TestCatalog(account)
        let catalog = try Catalog.inMemory(store.places, account.id)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for _ in 0..<50 {
                    try await catalog.write("two rows") { connection in
                        for _ in 0..<2 {
                            try connection.execute(
                                "INSERT INTO dropped(record) VALUES (randomblob(16))")
                        }
                    }
                }
            }
            for _ in 0..<50 {
                let count = try await catalog.read("count") {
                    try $0.firstInt("SELECT count(*) FROM dropped")
                }
                #expect(count % 2 == 0)
            }
            try await group.waitForAll()
        }
    }
}
