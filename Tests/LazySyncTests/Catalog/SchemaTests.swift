import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import TestSupport

/// The schema's own promises, and stores that past versions left behind.
@Suite struct SchemaTests {
    private static let stores = Fixtures.folder.appending(path: "stores")

    @Test func `every table is strict`() throws {
        let store = try TestCatalog(TestAccount())
        defer { withExtendedLifetime(store) {} }
        let catalog = try store.connection()
        let tables = try catalog.prepare(
            """
            SELECT name, strict FROM pragma_table_list
            WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'
            """)
        var count = 0
        while try tables.step() {
            let name = try tables.text(0)
            #expect(tables.int(1) == 1, "\(name)")
            count += 1
        }
        #expect(count >= 8)
    }

    @Test func `steps count from 1 without a gap`() {
        #expect(Schema.steps.map(\.version) == Schema.steps.indices.map { Int32($0 + 1) })
    }

    @Test(arguments: Schema.steps.map(\.version))
    func `every step is what it was when it landed`(version: Int32) throws {
        let file = Self.stores.appending(path: "v\(version).sql")
        let frozen = try String(contentsOf: file, encoding: .utf8)
        #expect(frozen == Schema.steps[Int(version) - 1].sql + "\n")
    }

    @Test(arguments: Schema.steps.map(\.version))
    func `a store of every version opens, and every row is what it was`(version: Int32) throws {
        let folder = try freshFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.path + "/catalog.sqlite"
        let store = Self.stores.appending(path: "v\(version).sqlite").path
        try FileManager.default.copyItem(atPath: store, toPath: path)
        let before = CatalogCheck(try Connection(path: path, mode: .immutable))
        #expect(try before.catalog.userVersion() == version)
        let columns = try before.columns()
        // Counts are made anew by the step that counts something else.
        func isKept(_ row: String) -> Bool { version > 1 || !row.contains("'cacheBytes'") }
        let rows = try before.dump(columns)
        for table in columns.keys {
            #expect(rows.contains { $0.hasPrefix(table + ":") }, "no row in \(table)")
        }
        let after = CatalogCheck(try Migrator().open(path, create: false, isExclusive: true))
        let now = try after.dump(columns)
        #expect(Set(rows.filter(isKept)).isSubset(of: now))
        #expect(now.count == rows.count + (version > 1 ? 0 : 1))
        #expect(try after.catalog.userVersion() == Schema.steps.last?.version)
        try after.run()
    }

    @Test func `half an address cannot be written`() throws {
        let store = try TestCatalog(TestAccount())
        defer { withExtendedLifetime(store) {} }
        let catalog = try store.connection()
        try catalog.execute(
            """
            INSERT INTO entry(id, entry_id, version, epoch, kind, leaf, order_key, title)
            VALUES (1, randomblob(16), 1, 1, 0, randomblob(32), randomblob(29), 'title')
            """)
        for values in ["0, NULL", "1, randomblob(127)"] {
            #expect(throws: SQLiteError.self) {
                try catalog.execute(
                    """
                    INSERT INTO attachment(entry, position, attachment_id, created_at, name, type,
                        size, thumb_state, address, cloud_blob_ref)
                    VALUES (1, 0, randomblob(16), 0, 'name', 'type', 1, 0, \(values))
                    """)
            }
        }
    }

    @Test func `a store of version 1 shows what was in it`() async throws {
        let folder = try freshFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let places = AccountPlaces(
            data: folder.path, cache: folder.path + "/cache", keyFile: folder.path + "/key")
        try Directory.make(places.locks)
        try FileManager.default.copyItem(
            atPath: Self.stores.appending(path: "v1.sqlite").path, toPath: places.catalog)
        let catalog = try Catalog.open(places, isExclusive: true)
        let cursor = try await catalog.cursor()
        #expect(cursor.verified?.seq == 7)
        #expect(cursor.unfinished == ManifestPlace(after: 7, page: "a page's token"))
        #expect(cursor.mismatch == "it did not add up once")
        let rows = try await catalog.attachments(after: .start, type: nil, limit: 100)
        #expect(
            rows.map(\.name) == [
                "여행.jpg", "kept.pdf", "b.txt", "c.txt", "d.txt", "photo.png", "big.jpg",
                "small.png",
            ])
        #expect(
            rows.map(\.address) == [
                .complete, .kept, .absent, .invalid, .takenAway, .complete, .complete, .complete,
            ])
        #expect(
            rows.map(\.thumbnail) == [
                .here, .failed, .addressAbsent, .addressInvalid, .none, .due, .notEager, .here,
            ])
        #expect(rows[0].ref?.recordName == "record-of-a-photo-0001")
        #expect(rows[0].thumbnailRef?.recordName == "thumb-of-a-photo-00001")
        #expect(rows[0].blob?.mark?.size == 123_456)
        #expect(rows[0].blob?.held == DiskCost.blob(123_456))
        #expect(rows[1].blob?.held == DiskCost.blob(131_072))
        #expect(try await catalog.tallies()[.thumbnailBytes] == 8_192)
        #expect(rows[1].thumbnailFailure == .notFound)
        #expect(rows[1].blob?.reason == .corrupt)
        #expect(rows[1].blob?.evidence.chunk == 2)
        #expect(rows[5].blob != nil && rows[5].blob?.mark == nil && rows[5].blob?.reason == nil)
        let items = try await catalog.items(after: nil, limit: 10)
        #expect(items.map(\.title) == ["Lisbon, 리스본", "Only words", "No valid time"])
        #expect(items.map(\.attachmentCount) == [5, 0, 3])
        #expect(
            try await catalog.conditions()[.throttled]?.nextAttempt
                == Timestamp(seconds: 1_780_000_600))
        #expect(try await catalog.unreadable().count == 1)
        #expect(try await catalog.heldDeletions() == 1)
        #expect(
            try await catalog.dropped(after: "", limit: 10) == [
                "record-that-was-dropped"
            ])
    }
}
