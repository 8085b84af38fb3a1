import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import TestSupport

/// How large the catalog's log gets, and that it gets small again.
@Suite struct LogSizeTests {
    private static let mebibyte: Int64 = 1 << 20

    private static func logSize(_ store: TestCatalog) throws -> Int64 {
        try FileSystem.facts(store.places.catalog + "-wal")?.size ?? 0
    }

    /// Rows as large as those of a restore, all over their indexes.
    private static func write(_ count: Int, to store: TestCatalog) async throws {
        try await store.catalog.write("fill") { connection in
            try connection.execute(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
                INSERT INTO entry(entry_id, version, epoch, kind, leaf, order_key, title, text)
                SELECT randomblob(16), 1, 1, 0, randomblob(32), randomblob(29), 'title',
                    hex(randomblob(200))
                FROM n
                """)
        }
    }

    @Test func `many writes keep it below 256 MiB, and at their end it is empty`() async throws {
        let store = try TestCatalog(TestAccount())
        var largest: Int64 = 0
        for _ in 0..<10 {
            try await Self.write(20_000, to: store)
            largest = max(largest, try Self.logSize(store))
        }
        #expect(largest > 64 * Self.mebibyte, "too little was written to say anything")
        #expect(largest < 256 * Self.mebibyte)
        try await store.catalog.settle()
        #expect(try Self.logSize(store) == 0)
    }

    /// Case D8.
    @Test func `what a reader made of it shrinks again when the reader is gone`() async throws {
        let store = try TestCatalog(TestAccount())
        let reader = try store.connection()
        try await Self.write(10, to: store)
        try reader.execute("BEGIN; SELECT count(*) FROM entry")
        for _ in 0..<10 { try await Self.write(20_000, to: store) }
        // Nobody waits for the reader.
        try await store.catalog.settle()
        #expect(try Self.logSize(store) > 128 * Self.mebibyte)
        #expect(try reader.firstInt("SELECT count(*) FROM entry") == 10)
        try reader.execute("COMMIT")
        try await Self.write(1, to: store)
        #expect(try Self.logSize(store) <= 64 * Self.mebibyte)
        #expect(try reader.firstInt("SELECT count(*) FROM entry") == 200_011)
    }

    @Test func `one that somebody left is emptied by whoever writes next`() async throws {
        let store = try TestCatalog(TestAccount())
        let reader = try store.connection()
        try await Self.write(10, to: store)
        try reader.execute("BEGIN; SELECT count(*) FROM entry")
        for _ in 0..<5 { try await Self.write(20_000, to: store) }
        store.catalog.close()
        try reader.execute("COMMIT")
        #expect(try Self.logSize(store) > 64 * Self.mebibyte)
        let next = try Catalog.open(store.places, isExclusive: false)
        try await next.write("one thing") { try $0.execute("UPDATE account SET opens = opens") }
        #expect(try Self.logSize(store) <= 64 * Self.mebibyte)
    }
}
