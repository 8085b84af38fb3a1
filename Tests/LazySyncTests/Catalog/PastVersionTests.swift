import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import TestSupport

/// Catalogs of every version that ever landed, on their way to today's.
@Suite(.serialized) struct PastVersionTests {
    /// The versions before today's.
    static let past = Schema.steps.dropLast().map(\.version)

    /// Case D3.
    @Test(arguments: past)
    func `100,000 rows are there whole, wherever the migration is killed`(
        version: Int32
    ) async throws {
        let store = try PastStore(version, rows: 100_000)
        let statements = try store.statements()
        #expect(statements > 10)
        for statement in 1...statements {
            try store.reset()
            let path = store.path
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = path as String, statement = statement as Int] in
                try PastStore.migrate(path, killedAfter: statement)
            }
            // What is seen without the log, or by a start that is killed again, is one or the other.
            let catalog = try Migrator().open(path, create: false, isExclusive: true)
            #expect(try catalog.userVersion() == Schema.steps.last?.version)
            try store.expectSameRows(catalog, "killed after statement \(statement)")
            try store.expectNothingLeft()
        }
    }

    @Test(arguments: past)
    func `step by step it comes to the same as at once`(version: Int32) throws {
        let once = try PastStore(version)
        let atOnce = try Migrator().open(once.path, create: false, isExclusive: true)
        let steps = try PastStore(version)
        for step in Schema.steps where step.version > version {
            var migrator = Migrator()
            migrator.steps = Schema.steps.filter { $0.version <= step.version }
            let catalog = try migrator.open(steps.path, create: false, isExclusive: true)
            #expect(try catalog.userVersion() == step.version)
            try steps.expectSameRows(catalog, "at version \(step.version)")
        }
        let stepped = try Migrator().open(steps.path, create: false, isExclusive: true)
        let (one, other) = (CatalogCheck(atOnce), CatalogCheck(stepped))
        let columns = try one.columns()
        #expect(try other.columns() == columns)
        #expect(try one.dump(columns) == other.dump(columns))
        try other.run()
    }

    /// Case D4.
    @Test(
        .enabled(if: SmallDisk.isAllowed, "mounting is not allowed here"), arguments: past,
        // Less than the copy needs, and less than the log does.
        [1.5, 2.02])
    func `a disk without room keeps the old version as it was`(
        version: Int32, room: Double
    ) throws {
        let store = try PastStore(version, rows: 10_000)
        let size = try Double(#require(try FileSystem.facts(store.path)).size)
        let disk = try #require(
            try SmallDisk(at: store.folder.path + "/disk", kilobytes: Int(size * room) / 1024))
        let path = disk.path + "/catalog.sqlite"
        try FileManager.default.copyItem(atPath: store.path, toPath: path)
        let before = try Data(contentsOf: URL(filePath: path))
        let failure = #expect(throws: (any Error).self) {
            try Migrator().open(path, create: false, isExclusive: true)
        }
        #expect(SyncError("open", try #require(failure)).code == .unavailable(.diskFull))
        // Before the first step nothing was touched; after it the copy is back.
        if room < 2 { #expect(try Data(contentsOf: URL(filePath: path)) == before) }
        do {
            let old = try Connection(path: path, mode: .immutable)
            #expect(try old.userVersion() == version)
            try store.expectSameRows(old, "without room")
        }
        disk.resize(kilobytes: Int(size * 5) / 1024)
        let catalog = try Migrator().open(path, create: false, isExclusive: true)
        try store.expectSameRows(catalog, "with room")
        #expect(
            try Set(FileManager.default.contentsOfDirectory(atPath: disk.path)).isSubset(of: [
                "catalog.sqlite", "catalog.sqlite-wal", "catalog.sqlite-shm",
            ]))
    }

    /// Case D4.
    @Test(.enabled(if: SmallDisk.isAllowed, "mounting is not allowed here"), arguments: past)
    func `a disk that cannot be written is told, and nothing of it changes`(
        version: Int32
    ) throws {
        let store = try PastStore(version)
        let disk = try #require(
            try SmallDisk(at: store.folder.path + "/disk", kilobytes: 8_000))
        let path = disk.path + "/catalog.sqlite"
        try FileManager.default.copyItem(atPath: store.path, toPath: path)
        disk.setReadOnly(true)
        let before = try Data(contentsOf: URL(filePath: path))
        let failure = #expect(throws: SyncError.self) {
            try Migrator().open(path, create: false, isExclusive: true)
        }
        #expect(failure?.code == .storage && failure?.hint != nil)
        #expect(try Data(contentsOf: URL(filePath: path)) == before)
        #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path).count == 1)
        disk.setReadOnly(false)
        let catalog = try Migrator().open(path, create: false, isExclusive: true)
        try store.expectSameRows(catalog, "when it can be written")
    }

    @Test(arguments: past)
    func `a reader goes on with the old version until it is done`(version: Int32) throws {
        let store = try PastStore(version)
        let reader = try Connection(path: store.path, mode: .readWrite, checkpointsOnClose: false)
        let columns = try CatalogCheck(reader).columns()
        let old = try CatalogCheck(reader).dump(columns)
        try reader.transaction(.deferred) {
            _ = try reader.firstInt("SELECT count(*) FROM entry")
            let catalog = try Migrator().open(store.path, create: false, isExclusive: true)
            #expect(try catalog.userVersion() == Schema.steps.last?.version)
            // What was read from before it began is what is read to the end.
            #expect(try CatalogCheck(reader).dump(columns) == old)
            #expect(try reader.userVersion() == version)
        }
        #expect(try reader.userVersion() == Schema.steps.last?.version)
    }
}

/// A catalog of a past version, and what was in it.
final class PastStore {
    let folder: URL
    let version: Int32
    /// The catalog that a test works on.
    var path: String { folder.path + "/catalog.sqlite" }
    private var original: String { folder.path + "/original.sqlite" }

    /// More rows than the fixture has, by the SQL of their version.
    private static let filling: [Int32: String] = [1: fillingOf1, 2: fillingOf1]

    private static let fillingOf1 = """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :rows / 4)
        INSERT INTO entry(entry_id, version, epoch, kind, leaf, order_key, title)
        SELECT randomblob(16), i, 1, 0, randomblob(32), randomblob(29), 'title ' || i FROM n;
        INSERT INTO attachment(entry, position, attachment_id, created_at, name, type, size,
            address, cloud_blob_ref, thumb_state)
        SELECT e.id, p.value, randomblob(16), e.version, 'name ' || e.version, 'image/jpeg',
            1000, 0, randomblob(127), 0
        FROM entry e, json_each('[0, 1, 2]') p WHERE e.title LIKE 'title %';
        INSERT INTO blob(record, attachment, here_boot, here_size, bytes)
        SELECT substr(cloud_blob_ref, 106), id, 'boot', 1000, 1000
        FROM attachment WHERE name LIKE 'name %' AND position = 0;
        """

    init(_ version: Int32, rows: Int = 0) throws {
        self.version = version
        folder = try freshFolder()
        let fixture = Fixtures.folder.appending(path: "stores/v\(version).sqlite").path
        try FileManager.default.copyItem(atPath: fixture, toPath: original)
        if rows > 0 {
            let sql = try #require(Self.filling[version], "no rows for version \(version)")
            let catalog = try Connection(path: original, mode: .readWrite)
            try catalog.execute(sql.replacingOccurrences(of: ":rows", with: "\(rows)"))
            try catalog.checkpoint(.truncate)
        }
        try reset()
    }

    deinit { removeFolder(folder) }

    /// Puts the catalog back to what it was.
    func reset() throws {
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: path + suffix)
        }
        try FileManager.default.copyItem(atPath: original, toPath: path)
    }

    /// How many statements the steps to today's version have.
    func statements() throws -> Int {
        let count = Locked(0)
        var migrator = Migrator()
        migrator.reached = { point in
            if point.hasPrefix("statement ") { count.withLock { $0 += 1 } }
        }
        _ = try migrator.open(path, create: false, isExclusive: true)
        return count.withLock { $0 }
    }

    /// Migrates, and ends as the kernel would end it after so many statements.
    static func migrate(_ path: String, killedAfter statement: Int) throws {
        let left = Locked(statement)
        var migrator = Migrator()
        migrator.reached = { point in
            guard point.hasPrefix("statement ") else { return }
            let isLast = left.withLock { left in
                left -= 1
                return left == 0
            }
            if isLast { kill(getpid(), SIGKILL) }
        }
        _ = try migrator.open(path, create: false, isExclusive: true)
    }

    /// Every column of every row of the old version says what it said, byte for byte.
    func expectSameRows(
        _ catalog: Connection, _ what: Comment, location: SourceLocation = #_sourceLocation
    ) throws {
        let columns = try CatalogCheck(try Connection(path: original, mode: .immutable)).columns()
        try catalog.execute("ATTACH '\(original)' AS original")
        defer { try? catalog.execute("DETACH original") }
        for (table, names) in columns {
            // Counts are made anew by a step that counts something else.
            let kept = table == "tally" ? "WHERE name <> 'cacheBytes'" : ""
            let list = names.joined(separator: ", ")
            let (mine, theirs) = ("main.\(table)", "original.\(table)")
            let lost = try catalog.firstInt(
                """
                SELECT count(*) FROM
                (SELECT \(list) FROM \(theirs) \(kept) EXCEPT SELECT \(list) FROM \(mine) \(kept))
                """)
            #expect(lost == 0, "\(table), \(what)", sourceLocation: location)
            guard table != "tally" else { continue }
            let counts = try [mine, theirs].map {
                try catalog.firstInt("SELECT count(*) FROM \($0)")
            }
            #expect(counts[0] == counts[1], "\(table), \(what)", sourceLocation: location)
        }
    }

    func expectNothingLeft(location: SourceLocation = #_sourceLocation) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        let left = names.filter {
            !$0.hasPrefix("original.")
                && !["catalog.sqlite", "catalog.sqlite-wal", "catalog.sqlite-shm"].contains($0)
        }
        #expect(left == [], sourceLocation: location)
    }
}
