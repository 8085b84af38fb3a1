internal import SyncPlatform

/// One account's catalog: a SQLite file with one writer and one reader, each on a thread of its
/// own.
///
/// A list never waits for a restore: readers see the last commit. Writers of all processes take
/// turns at one lock, and only a writer that holds it checkpoints (SQLite before 3.51.3 can damage
/// a WAL when two connections write and checkpoint at once).
final class Catalog: Sendable {
    /// The file; nil for one that lives in memory.
    private let path: String?
    /// Whether it lives in memory, and one connection does both.
    var isInMemory: Bool { path == nil }
    private let reader: Locked<Database?>
    private let writer: Locked<Database?>
    private let writeLock: FileLock
    /// Whether a reader kept the log from being emptied.
    private let isLogLeft = Locked(false)
    private let isReadOnly: Bool
    private let isClosed = Locked(false)
    private let tenancy: Tenancy?
    /// Called before and after each commit, at which a test may want to end the process.
    private let reached: @Sendable (String) throws -> Void

    /// Opens the catalog at its newest version.
    ///
    /// The caller holds the account's lock, exclusively if `isExclusive`; each write holds
    /// `tenancy`, so that none comes after a logout.
    /// - Throws: `Migrator.NeedsExclusiveLock`, else `SyncError`.
    static func open(
        _ places: AccountPlaces, create account: AccountID? = nil, isExclusive: Bool,
        migrator: Migrator = Migrator(), tenancy: Tenancy? = nil,
        reached: @escaping @Sendable (String) throws -> Void = { _ in }
    ) throws -> Catalog {
        let connection = try migrator.open(
            places.catalog, create: account != nil, isExclusive: isExclusive)
        if let account { try connection.makeAccount(account) }
        try connection.execute(tuning)
        return Catalog(
            places, reader: connection, isReadOnly: migrator.isReadOnly, tenancy: tenancy,
            reached: reached)
    }

    /// Makes a catalog that lives in memory and goes with this; who reads waits for who writes.
    static func inMemory(
        _ places: AccountPlaces, _ account: AccountID, tenancy: Tenancy? = nil
    ) throws -> Catalog {
        let connection = try Connection(path: ":memory:", mode: .create)
        try Migrator().make(in: connection)
        try connection.makeAccount(account)
        try connection.execute(tuning)
        return Catalog(places, inMemory: connection, tenancy: tenancy)
    }

    private init(
        _ places: AccountPlaces, reader connection: sending Connection, isReadOnly: Bool,
        tenancy: Tenancy?, reached: @escaping @Sendable (String) throws -> Void
    ) {
        self.isReadOnly = isReadOnly
        self.reached = reached
        self.tenancy = tenancy
        path = places.catalog
        reader = Locked(Database(connection, label: "lazysync.reader"))
        writer = Locked(nil)
        writeLock = FileLock(path: places.locks + "/write")
    }

    private init(
        _ places: AccountPlaces, inMemory connection: sending Connection, tenancy: Tenancy?
    ) {
        isReadOnly = false
        self.tenancy = tenancy
        reached = { _ in }
        path = nil
        let database = Database(connection, label: "lazysync.catalog")
        reader = Locked(database)
        writer = Locked(database)
        writeLock = FileLock(path: places.locks + "/write")
    }

    /// Runs `body` on one snapshot of the catalog.
    func read<Result: Sendable>(
        _ operation: String, _ body: @Sendable (Connection) throws -> Result
    ) async throws(SyncError) -> Result {
        try await SyncError.mapping(operation) {
            guard let reader = reader.withLock({ $0 }) else { throw Tenancy.loggedOut(operation) }
            return try await reader.read(body)
        }
    }

    /// Runs a long look on one snapshot, on a connection of its own: no list waits for it.
    ///
    /// A logout waits for it, and ends it if its task is one that a logout cancels.
    func inspect<Result: Sendable>(
        _ operation: String, _ body: @Sendable (Connection) throws -> Result
    ) async throws(SyncError) -> Result {
        guard let path else { return try await read(operation, body) }
        return try await SyncError.mapping(operation) {
            // Also who only reads makes the log's files.
            let tenant = try enter(operation)
            defer { withExtendedLifetime(tenant) {} }
            var migrator = Migrator()
            migrator.isReadOnly = isReadOnly
            let connection = try migrator.open(path, create: false, isExclusive: false)
            try connection.execute(Self.tuning)
            return try await Database(connection, label: "lazysync.inspector").read(body)
        }
    }

    /// Runs `body` in one transaction, under the lock of all writers.
    ///
    /// `isDurable`: when it returns, it is on the disk, as what cannot be had again must be.
    func write<Result: Sendable>(
        _ operation: String, isDurable: Bool = false,
        _ body: @escaping @Sendable (Connection) throws -> Result
    ) async throws(SyncError) -> Result {
        try await SyncError.mapping(operation) {
            let tenant = try enter(operation)
            defer { withExtendedLifetime(tenant) {} }
            let database = try opened(operation)
            return try await database.perform { [self] connection in
                let held = try writeLock.lock(.exclusive)
                defer { withExtendedLifetime(held) {} }
                if isDurable { try connection.execute("PRAGMA synchronous = FULL") }
                defer {
                    if isDurable { try? connection.execute("PRAGMA synchronous = NORMAL") }
                }
                let result = try connection.transaction(.immediate) {
                    let result = try body(connection)
                    try reached("commit: \(operation)")
                    return result
                }
                try reached("committed: \(operation)")
                if isLogLeft.withLock({ $0 }) { emptyLog(connection) }
                return result
            }
        }
    }

    /// Carries the log over into the file and empties it, and lets SQLite look after its
    /// statistics.
    func settle() async throws(SyncError) {
        try await SyncError.mapping("settle the catalog") {
            let tenant = try enter("settle the catalog")
            defer { withExtendedLifetime(tenant) {} }
            let database = try opened("settle the catalog")
            try await database.perform { [self] connection in
                let held = try writeLock.lock(.exclusive)
                defer { withExtendedLifetime(held) {} }
                try connection.execute("PRAGMA optimize")
                emptyLog(connection)
            }
        }
    }

    /// Carries the log over and cuts it to nothing; if a reader is in the way, the next write tries
    /// again, and so does whoever writes to the catalog next.
    ///
    /// The caller has the lock of all writers.
    private func emptyLog(_ connection: Connection) {
        do throws(SQLiteError) {
            // A reader may stay for long, and a writer is waiting behind this.
            try connection.setBusyTimeout(0)
            try connection.checkpoint(.truncate)
            isLogLeft.withLock { $0 = false }
        } catch {
            isLogLeft.withLock { $0 = error.code == .busy }
        }
        try? connection.setBusyTimeout(Connection.busyTimeout)
    }

    /// Answers what must be held while anything of the account is written, also beside the catalog.
    ///
    /// - Throws: `notLoggedIn` after a logout.
    func enter(_ operation: String) throws(SyncError) -> FileLock.Token? {
        if isClosed.withLock({ $0 }) { throw Tenancy.loggedOut(operation) }
        return try tenancy?.enter(operation)
    }

    /// Lets go of the file as soon as what is going on has ended; nothing works any more then.
    func close() {
        isClosed.withLock { $0 = true }
        reader.withLock { $0 = nil }
        writer.withLock { $0 = nil }
    }

    private func opened(_ operation: String) throws -> Database {
        if isReadOnly { throw Self.onlyRead(operation) }
        return try writer.withLock { database in
            if isClosed.withLock({ $0 }) { throw Tenancy.loggedOut(operation) }
            if let database { return database }
            guard let path else { throw Tenancy.loggedOut(operation) }
            let log = try FileSystem.facts(path + "-wal")?.size ?? 0
            if log > Self.largestIdleLog { isLogLeft.withLock { $0 = true } }
            let opened = try Database(path: path, mode: .readWrite, label: "lazysync.writer") {
                connection throws(SQLiteError) in
                try connection.execute(Self.tuning + Self.writerTuning)
            }
            database = opened
            return opened
        }
    }

    static func onlyRead(_ operation: String) -> SyncError {
        SyncError(
            .storage, operation, "the catalog can only be read until all of it has moved",
            hint: "see that both its folders can be reached; the next start tries again")
    }

    /// A commit is durable at the next checkpoint; a crash loses the last ones and never the order.
    private static let tuning = """
        PRAGMA foreign_keys = ON;
        PRAGMA synchronous = NORMAL;
        PRAGMA wal_autocheckpoint = 0;
        PRAGMA temp_store = MEMORY;
        """

    /// A log that is larger was left by somebody who could not empty it.
    private static let largestIdleLog: Int64 = 32 << 20

    /// The sizes are measured: a bigger cache costs memory, a smaller one time, both for restores.
    ///
    /// The log is carried over at 125 MiB, and what a slow reader made of it is cut off then.
    private static let writerTuning = """
        PRAGMA cache_size = -24576;
        PRAGMA wal_autocheckpoint = 16000;
        PRAGMA journal_size_limit = 134217728;
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
        if account.int(3) > 0 { return true }
        // What was added or removed here may be all that there is.
        return try tally(.unconfirmed) > 0 || hasWaiting() || hasSpooled() || hasTrash()
    }
}
