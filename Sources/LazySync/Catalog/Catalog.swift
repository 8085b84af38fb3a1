internal import SyncPlatform

/// One account's catalog: a SQLite file with one writer and one reader, each on a thread of its
/// own.
///
/// A list never waits for a restore: readers see the last commit. Writers of all processes take
/// turns at one lock, and only a writer that holds it checkpoints (SQLite before 3.51.3 can damage
/// a WAL when two connections write and checkpoint at once).
final class Catalog: Sendable {
    private let path: String
    private let reader: Database
    private let writer: Locked<Database?>
    private let writeLock: FileLock

    /// Opens the catalog at its newest version.
    ///
    /// The caller holds the account's lock, exclusively if `isExclusive`.
    /// - Throws: `Migrator.NeedsExclusiveLock`, else `SyncError`.
    static func open(
        _ places: AccountPlaces, create account: AccountID? = nil, isExclusive: Bool,
        migrator: Migrator = Migrator()
    ) throws -> Catalog {
        let connection = try migrator.open(
            places.catalog, create: account != nil, isExclusive: isExclusive)
        if let account { try connection.makeAccount(account) }
        try connection.execute(tuning)
        return Catalog(places, reader: connection)
    }

    private init(_ places: AccountPlaces, reader connection: sending Connection) {
        path = places.catalog
        reader = Database(connection, label: "lazysync.reader")
        writer = Locked(nil)
        writeLock = FileLock(path: places.locks + "/write")
    }

    /// Runs `body` on one snapshot of the catalog.
    func read<Result: Sendable>(
        _ operation: String, _ body: @Sendable (Connection) throws -> Result
    ) async throws(SyncError) -> Result {
        try await SyncError.mapping(operation) { try await reader.read(body) }
    }

    /// Runs a long look on one snapshot, on a connection of its own: no list waits for it.
    func inspect<Result: Sendable>(
        _ operation: String, _ body: @Sendable (Connection) throws -> Result
    ) async throws(SyncError) -> Result {
        try await SyncError.mapping(operation) {
            let connection = try Migrator().open(path, create: false, isExclusive: false)
            try connection.execute(Self.tuning)
            return try await Database(connection, label: "lazysync.inspector").read(body)
        }
    }

    /// Runs `body` in one transaction, under the lock of all writers.
    func write<Result: Sendable>(
        _ operation: String, _ body: @escaping @Sendable (Connection) throws -> Result
    ) async throws(SyncError) -> Result {
        try await SyncError.mapping(operation) {
            let database = try opened()
            return try await database.perform { [writeLock] connection in
                let held = try writeLock.lock(.exclusive)
                defer { withExtendedLifetime(held) {} }
                return try connection.transaction(.immediate) { try body(connection) }
            }
        }
    }

    /// Carries the log over into the file and empties it, and lets SQLite look after its
    /// statistics.
    func settle() async throws(SyncError) {
        try await SyncError.mapping("settle the catalog") {
            let database = try opened()
            try await database.perform { [writeLock] connection in
                let held = try writeLock.lock(.exclusive)
                defer { withExtendedLifetime(held) {} }
                try connection.execute("PRAGMA optimize")
                // A reader in another process may keep it from finishing; the next writer will.
                _ = try? connection.checkpoint(.truncate)
            }
        }
    }

    /// A connection for reading, for who must not keep others waiting.
    func alone(_ label: String) async throws -> Database {
        // Where the first one could only be opened for reading, so can this one.
        let isReadOnly = await reader.perform { $0.isReadOnly }
        let connection = try Connection(
            path: path, mode: isReadOnly ? .immutable : .readWrite, checkpointsOnClose: false)
        try connection.execute(Self.tuning)
        return Database(connection, label: label)
    }

    private func opened() throws(SQLiteError) -> Database {
        try writer.withLock { (database) throws(SQLiteError) in
            if let database { return database }
            let opened = try Database(path: path, mode: .readWrite, label: "lazysync.writer") {
                connection throws(SQLiteError) in
                try connection.execute(Self.tuning + Self.writerTuning)
            }
            database = opened
            return opened
        }
    }

    /// A commit is durable at the next checkpoint; a crash loses the last ones and never the order.
    private static let tuning = """
        PRAGMA foreign_keys = ON;
        PRAGMA synchronous = NORMAL;
        PRAGMA wal_autocheckpoint = 0;
        PRAGMA temp_store = MEMORY;
        """

    /// The sizes are measured: a bigger cache costs memory, a smaller one time, both for restores.
    private static let writerTuning = """
        PRAGMA cache_size = -24576;
        PRAGMA wal_autocheckpoint = 16000;
        """
}

extension Connection {
    /// Makes the row of the account, in a catalog that has none.
    func makeAccount(_ account: AccountID) throws {
        try transaction(.immediate) {
            let known = try prepare(.account)
            if try known.step() { return }
            let insert = try prepare(.insertAccount)
            insert.bind(blob: account.bytes.span, at: 1)
            try insert.run()
        }
    }

    /// Whether there is any entry, shown or waiting.
    func hasEntries() throws -> Bool {
        let account = try prepare(.account)
        guard try account.step() else { throw CatalogDamage(what: "no account") }
        return try account.int(3) > 0 || tally(.unconfirmed) > 0
    }
}
