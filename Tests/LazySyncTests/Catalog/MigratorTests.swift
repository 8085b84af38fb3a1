import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import TestSupport

/// A catalog comes to its newest version whole, or stays as it was.
@Suite struct MigratorTests {
    // MARK: Steps that work

    @Test func `a new catalog has the newest version, our mark and our page size`() throws {
        let store = try Store()
        let catalog = try store.migrator().open(store.path, create: true, isExclusive: true)
        #expect(try catalog.userVersion() == 3)
        #expect(try catalog.applicationID() == Schema.applicationID)
        #expect(try catalog.firstInt("PRAGMA page_size") == 8_192)
        #expect(
            try catalog.firstInt(
                "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'") == 1)
        try store.expectNothingLeft()
    }

    @Test func `a catalog goes through every step, and keeps all rows`() throws {
        let store = try Store.ofVersion1()
        let told = Locked<[MigrationProgress.Phase]>([])
        var migrator = store.migrator()
        migrator.progress = { progress in
            told.withLock { if $0.last != progress.phase { $0.append(progress.phase) } }
        }
        let catalog = try migrator.open(store.path, create: false, isExclusive: true)
        #expect(try catalog.userVersion() == 3)
        #expect(try store.rows(catalog) == store.rows)
        #expect(try catalog.firstInt("SELECT count(*) FROM more") > 0)
        #expect(
            told.withLock { $0 } == [
                .copying, .changing(2, "titles again"), .changing(3, "more"), .checking(3),
            ])
        try store.expectNothingLeft()
    }

    @Test func `rows that are only in the log come along`() throws {
        let store = try Store.ofVersion1()
        let writer = try Connection(path: store.path, mode: .readWrite, checkpointsOnClose: false)
        try writer.execute("INSERT INTO dropped(record) VALUES (x'0102')")
        store.rows = try store.rows(writer)
        let copied = Locked<[String]>([])
        var migrator = store.migrator()
        migrator.reached = { [path = store.path, columns = store.columns] point in
            guard point == "copied" else { return }
            let copy = try Connection(path: path + ".before", mode: .immutable)
            let rows = try CatalogCheck(copy).dump(columns)
            copied.withLock { $0 = rows }
        }
        let catalog = try migrator.open(store.path, create: false, isExclusive: true)
        #expect(copied.withLock { $0 } == store.rows)
        #expect(try store.rows(catalog) == store.rows)
    }

    @Test func `a migration waits for the exclusive lock, and touches nothing before`() throws {
        let store = try Store.ofVersion1()
        let before = try store.files()
        #expect(throws: Migrator.NeedsExclusiveLock.self) {
            try store.migrator().open(store.path, create: false, isExclusive: false)
        }
        #expect(try store.files()["catalog.sqlite"] == before["catalog.sqlite"])
    }

    @Test func `a catalog at the newest version opens without the exclusive lock`() throws {
        let store = try Store.ofVersion1()
        _ = try store.migrator().open(store.path, create: false, isExclusive: true)
        // As a kill right after the last step leaves it.
        try FileManager.default.copyItem(atPath: store.path, toPath: store.path + ".before")
        let catalog = try store.migrator().open(store.path, create: false, isExclusive: false)
        #expect(try catalog.userVersion() == 3)
        try store.expectNothingLeft()
    }

    // MARK: Steps that fail

    @Test(arguments: [
        "CREATE TABLE more(id); SELECT * FROM nowhere",
        "UPDATE attachment SET entry = 4711",
        "UPDATE attachment SET size = -1",
    ])
    func `a step that fails brings everything back, and is named`(sql: String) throws {
        let store = try Store.ofVersion1()
        let steps =
            Self.steps.prefix(2) + [MigrationStep(version: 3, name: "the bad one", sql: sql)]
        let failure = #expect(throws: SyncError.self) {
            try store.migrator(Array(steps)).open(store.path, create: false, isExclusive: true)
        }
        #expect(failure?.operation.contains("version 3 (the bad one)") == true)
        try store.expectIsAtVersion1()
        try store.expectNothingLeft()
    }

    // MARK: Kills

    @Test(arguments: [
        "copied", "statements of step 2", "step 2", "statements of step 3", "step 3",
    ])
    func `a migration that is killed is finished by the next start`(point: String) async throws {
        let store = try Store.ofVersion1()
        let path = store.path
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [path = path as String, point = point as String] in
            try Self.migrate(path, Self.steps, killedAt: point)
        }
        let catalog = try store.migrator().open(path, create: false, isExclusive: true)
        #expect(try catalog.userVersion() == 3)
        #expect(try store.rows(catalog) == store.rows)
        #expect(try catalog.integrityCheck() == [])
        try store.expectNothingLeft()
    }

    @Test(arguments: ["restoring", "log removed"])
    func `a copy that is killed on its way back is back after the next start`(
        point: String
    ) async throws {
        let store = try Store.ofVersion1()
        let path = store.path
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [path = path as String, point = point as String] in
            try Self.migrate(path, Self.failing, killedAt: point)
        }
        #expect(throws: Migrator.NeedsExclusiveLock.self) {
            try Migrator().open(path, create: false, isExclusive: false)
        }
        try store.expectIsAtVersion1()
        try store.expectNothingLeft()
    }

    @Test(arguments: ["copied", "statements of step 1", "step 1", "step 2"])
    func `a new catalog whose making is killed is made by the next start`(
        point: String
    ) async throws {
        let store = try Store()
        let path = store.path
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [path = path as String, point = point as String] in
            try Self.migrate(path, Self.steps, killedAt: point)
        }
        let catalog = try store.migrator().open(path, create: true, isExclusive: true)
        #expect(try catalog.userVersion() == 3)
        #expect(try catalog.integrityCheck() == [])
        try store.expectNothingLeft()
    }

    // MARK: Files that are not for us

    @Test func `a catalog of a newer version is refused, and no byte of it changes`() throws {
        let store = try Store.ofVersion1()
        do {
            let writer = try Connection(
                path: store.path, mode: .readWrite, checkpointsOnClose: false)
            // In the log alone: whoever closes the catalog last could carry it over.
            try writer.transaction(.immediate) { try writer.setUserVersion(4) }
        }
        let before = try store.files()
        try store.expectRefused(.newerCatalog, store.migrator())
        try store.expectRefused(.newerCatalog, store.migrator(), isExclusive: false)
        let after = try store.files()
        #expect(after["catalog.sqlite"] == before["catalog.sqlite"])
        #expect(after["catalog.sqlite-wal"] == before["catalog.sqlite-wal"])
        try store.expectNothingLeft()
    }

    @Test func `another program's database is refused, and no byte of it changes`() throws {
        let store = try Store()
        let other = try Connection(path: store.path, mode: .create)
        try other.execute("CREATE TABLE notes(text); PRAGMA user_version = 1")
        let before = try store.files()
        try store.expectRefused(.notACatalog, store.migrator())
        try store.expectRefused(.notACatalog, store.migrator(), create: true)
        #expect(try store.files() == before)
    }

    @Test(arguments: ["not a database at all, but long enough to be one", "x", ""])
    func `a file that is no database is refused, and no byte of it changes`(text: String) throws {
        let store = try Store()
        let bytes = Array(String(repeating: text, count: 100).utf8)
        try Data(bytes).write(to: URL(filePath: store.path))
        try store.expectRefused(.notACatalog, store.migrator())
        #expect(try store.files() == ["catalog.sqlite": bytes])
    }

    @Test func `a link is refused`() throws {
        let store = try Store.ofVersion1()
        let link = store.folder.path + "/link.sqlite"
        try FileManager.default.createSymbolicLink(
            atPath: link, withDestinationPath: store.path)
        let before = try store.files()
        #expect(throws: (any Error).self) {
            try store.migrator().open(link, create: false, isExclusive: true)
        }
        #expect(try store.files() == before)
    }

    // MARK: Steps to try

    private static let steps = [
        MigrationStep(version: 1, name: "the first catalog", sql: Schema.version1),
        MigrationStep(
            version: 2, name: "titles again",
            sql: """
                ALTER TABLE entry ADD COLUMN again TEXT;
                UPDATE entry SET again = title;
                """),
        MigrationStep(
            version: 3, name: "more",
            sql: """
                CREATE TABLE more(id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
                INSERT INTO more(id, name) SELECT id, name FROM attachment;
                """),
    ]

    private static let failing = [
        steps[0], steps[1], MigrationStep(version: 3, name: "bad", sql: "SELECT * FROM nowhere"),
    ]

    /// Migrates in a process of its own, which ends at a point as the kernel would end it.
    private static func migrate(
        _ path: String, _ steps: [MigrationStep], killedAt point: String
    ) throws {
        var migrator = Migrator()
        migrator.steps = steps
        migrator.reached = { if $0 == point { kill(getpid(), SIGKILL) } }
        _ = try migrator.open(path, create: true, isExclusive: true)
    }

    /// A folder with a catalog in it.
    private final class Store {
        let folder: URL
        var path: String { folder.path + "/catalog.sqlite" }
        /// The rows and the columns of version 1.
        var rows: [String] = []
        var columns: [String: [String]] = [:]

        init() throws {
            folder = try freshFolder()
        }

        deinit { removeFolder(folder) }

        /// The store that version 1 left in the fixtures.
        static func ofVersion1() throws -> Store {
            let store = try Store()
            let fixture = Fixtures.folder.appending(path: "stores/v1.sqlite").path
            try FileManager.default.copyItem(atPath: fixture, toPath: store.path)
            let check = CatalogCheck(try Connection(path: fixture, mode: .immutable))
            store.columns = try check.columns()
            store.rows = try check.dump(store.columns)
            return store
        }

        func migrator(_ steps: [MigrationStep] = MigratorTests.steps) -> Migrator {
            var migrator = Migrator()
            migrator.steps = steps
            return migrator
        }

        /// The rows as far as version 1 knows them.
        func rows(_ catalog: Connection) throws -> [String] {
            try CatalogCheck(catalog).dump(columns)
        }

        /// What is in the folder, but for SQLite's shared memory.
        func files() throws -> [String: [UInt8]] {
            var files: [String: [UInt8]] = [:]
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
            where !name.hasSuffix("-shm") {
                let file = folder.appending(path: name)
                files[name] = [UInt8](try Data(contentsOf: file))
            }
            return files
        }

        /// Everything is as it was before the first step, and can be migrated again.
        func expectIsAtVersion1() throws {
            let only = migrator([MigratorTests.steps[0]])
            let catalog = try only.open(path, create: false, isExclusive: true)
            #expect(try catalog.userVersion() == 1)
            #expect(try rows(catalog) == rows)
            #expect(try catalog.integrityCheck() == [])
        }

        func expectNothingLeft() throws {
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            let known: Set = ["catalog.sqlite", "catalog.sqlite-wal", "catalog.sqlite-shm"]
            #expect(Set(names).subtracting(known) == [])
        }

        func expectRefused(
            _ code: SyncError.Code, _ migrator: Migrator, create: Bool = false,
            isExclusive: Bool = true
        ) throws {
            let failure = #expect(throws: SyncError.self) {
                try SyncError.mapping("open the catalog") {
                    _ = try migrator.open(path, create: create, isExclusive: isExclusive)
                }
            }
            #expect(failure?.code == code)
        }
    }
}
