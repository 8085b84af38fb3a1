internal import SyncPlatform

/// One step of the schema: the SQL that brings a catalog from the version before to this one.
struct MigrationStep: Sendable {
    let version: Int32
    let name: String
    let sql: String
}

/// Brings a catalog file to the newest version of a list of steps, or leaves it as it was.
///
/// Before the first step the whole catalog, its WAL included, is copied to a file beside it; each
/// step is one transaction that ends with both checks and the new version number. A step that fails
/// brings the copy back. Killed anywhere, the next call finishes or is back at the old version:
///
/// | file beside the catalog | means | the next start |
/// |---|---|---|
/// | `.before.tmp` | the copy was being made | makes it anew |
/// | `.before` | steps were running, or had just ended | goes on from where the catalog is |
/// | `.restoring` | the copy was coming back | finishes that |
struct Migrator: Sendable {
    /// The migration has to wait for the account's lock to be exclusive.
    struct NeedsExclusiveLock: Error {}

    var steps = Schema.steps
    var applicationID = Schema.applicationID
    /// Whether the file is only read, since a log that belongs to it is not beside it.
    var isReadOnly = false
    var progress: @Sendable (MigrationProgress) -> Void = { _ in }
    /// Called at each point at which a test may want to end the process.
    var reached: @Sendable (String) throws -> Void = { _ in }

    private var newest: Int32 { steps.last?.version ?? 0 }

    /// Opens a catalog at its newest version; makes it if it is not there and `create` says so.
    ///
    /// - Throws: `NeedsExclusiveLock` if `isExclusive` is false and the file would have to change;
    ///   `SyncError` with `newerCatalog` or `notACatalog`, the file untouched; otherwise what the
    ///   failed step said, after the copy came back.
    func open(_ path: String, create: Bool, isExclusive: Bool) throws -> Connection {
        if !isReadOnly, try FileSystem.facts(path + ".restoring") != nil {
            guard isExclusive else { throw NeedsExclusiveLock() }
            try finishRestoring(path)
        }
        let facts = try FileSystem.facts(path)
        guard create || facts != nil else {
            throw SyncError(.storage, "open the catalog", "there is none at \(path)")
        }
        // SQLite would make it readable by others; its side files take the mode of what is there.
        if facts == nil { _ = try File(path, for: .create) }
        let connection = try connect(path, create: create)
        let version = try identify(connection, path, mayBeNew: create)
        if version < newest {
            if isReadOnly {
                throw SyncError(
                    .storage, "open the catalog",
                    "it is of version \(version), and can only be read now")
            }
            guard !connection.isReadOnly else {
                throw SyncError(
                    .storage, "bring the catalog to version \(newest)",
                    "it has version \(version), and cannot be written where it is",
                    hint: "see that its folder and its disk can be written, and start again")
            }
            guard isExclusive else { throw NeedsExclusiveLock() }
            return try migrate(connection, path, from: version)
        }
        // Also without the exclusive lock: nobody can be migrating. Left here, it would one day be
        // taken for the copy of a later migration, and bring back a catalog of long ago.
        if !connection.isReadOnly { try removeCopy(of: path) }
        return connection
    }

    /// Opens the file for writing, or where that cannot be, on a read-only or a full disk, for
    /// reading.
    private func connect(_ path: String, create: Bool) throws -> Connection {
        if isReadOnly {
            let hasLog = try FileSystem.facts(path + "-wal")?.size ?? 0 > 0
            return try Connection(
                path: path, mode: hasLog ? .readOnly : .immutable, checkpointsOnClose: false)
        }
        do {
            // Closing must not carry the log over into a catalog that is refused.
            let connection = try Connection(
                path: path, mode: create ? .create : .readWrite, checkpointsOnClose: false)
            _ = try connection.userVersion()
            return connection
        } catch {
            // What is only in the log could not be seen without the log.
            guard !create, error.isOfTheDisk, try FileSystem.facts(path + "-wal")?.size ?? 0 == 0
            else { throw error }
            return try Connection(path: path, mode: .immutable, checkpointsOnClose: false)
        }
    }

    /// Tells the version, and refuses what is not ours or newer than we are.
    private func identify(
        _ connection: Connection, _ path: String, mayBeNew: Bool
    ) throws -> Int32 {
        let version = try connection.userVersion()
        let id = try connection.applicationID()
        // The file of a first step that was killed is there, but has nothing in it.
        let isNew =
            try mayBeNew && id == 0 && version == 0
            && connection.firstInt("SELECT count(*) FROM sqlite_schema") == 0
        guard id == applicationID || isNew else {
            throw SyncError(
                .notACatalog, "open the catalog", "\(path) is not a catalog of this program")
        }
        guard version <= newest else {
            throw SyncError(
                .newerCatalog, "open the catalog",
                "the catalog has version \(version), this program knows \(newest)",
                hint: "update this program; the catalog was not touched")
        }
        return version
    }

    private func migrate(
        _ connection: Connection, _ path: String, from old: Int32
    ) throws -> Connection {
        let copy = path + ".before"
        if old > 0, try FileSystem.facts(copy) == nil {
            try FileSystem.remove(copy + ".tmp")
            _ = try File(copy + ".tmp", for: .create)
            try connection.copy(to: copy + ".tmp") { done, total in
                progress(MigrationProgress(phase: .copying, done: done, total: total))
            }
            try File(copy + ".tmp", for: .readWrite).sync()
            try FileSystem.rename(copy + ".tmp", to: copy)
            try Directory.sync(FileSystem.folder(of: path))
        }
        try reached("copied")
        let due = steps.filter { $0.version > old }
        for step in due {
            do {
                // One that is killed between two steps has the last one still to come.
                try apply(step, to: connection, checks: step.version == due.last?.version)
            } catch {
                let cause = SyncError("migrate", error)
                if old > 0 { try bringBack(path) }
                throw SyncError(
                    cause.code, "bring the catalog to version \(step.version) (\(step.name))",
                    cause.detail)
            }
            try reached("step \(step.version)")
        }
        // Readers never do this, and the next writer may be long in coming. One that still reads the
        // old version is not waited for.
        try connection.setBusyTimeout(0)
        _ = try? connection.checkpoint(.truncate)
        try connection.setBusyTimeout(Connection.busyTimeout)
        try removeCopy(of: path)
        return connection
    }

    /// Makes a catalog in a database that is empty.
    func make(in connection: Connection) throws {
        for step in steps {
            try apply(step, to: connection, checks: step.version == steps.last?.version)
        }
    }

    /// Takes a step; the last of all checks what has become of the whole file.
    private func apply(
        _ step: MigrationStep, to connection: Connection, checks: Bool
    ) throws {
        // Both only take effect outside of a transaction, and on an empty file.
        if step.version == 1 {
            try connection.execute("PRAGMA page_size = 8192; PRAGMA journal_mode = WAL")
        }
        try connection.transaction(.immediate) {
            let phase = MigrationProgress.Phase.changing(step.version, step.name)
            progress(MigrationProgress(phase: phase, done: 0))
            try connection.execute(step.sql) { done in
                progress(MigrationProgress(phase: phase, done: done))
                try reached("statement \(done) of step \(step.version)")
            }
            try reached("statements of step \(step.version)")
            if checks {
                progress(MigrationProgress(phase: .checking(step.version), done: 0))
                try check(connection)
            }
            try connection.setUserVersion(step.version)
            try connection.setApplicationID(applicationID)
        }
    }

    private func check(_ connection: Connection) throws {
        let broken = try connection.foreignKeyCheck() + connection.integrityCheck()
        guard broken.isEmpty else {
            throw SyncError(.notACatalog, "migrate", broken.prefix(3).joined(separator: "; "))
        }
    }

    // MARK: The copy

    private func removeCopy(of path: String) throws {
        try FileSystem.remove(path + ".before.tmp")
        try FileSystem.remove(path + ".before")
    }

    /// Puts the copy in the catalog's place; the first rename makes the decision durable.
    ///
    /// The connection that failed still has the replaced file, which goes with it.
    private func bringBack(_ path: String) throws {
        try FileSystem.rename(path + ".before", to: path + ".restoring")
        try Directory.sync(FileSystem.folder(of: path))
        try reached("restoring")
        try finishRestoring(path)
    }

    private func finishRestoring(_ path: String) throws {
        // The log of the failed version must not be replayed over the old one.
        try FileSystem.remove(path + "-wal")
        try FileSystem.remove(path + "-shm")
        try reached("log removed")
        try FileSystem.rename(path + ".restoring", to: path)
        try Directory.sync(FileSystem.folder(of: path))
    }
}

extension SQLiteError {
    /// Whether the disk did not let the file be opened for writing.
    fileprivate var isOfTheDisk: Bool {
        switch code {
        case .cannotOpen, .readOnly, .full, .io: true
        default: false
        }
    }
}
