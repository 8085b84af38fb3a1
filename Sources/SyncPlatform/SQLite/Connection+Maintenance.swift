import CSQLite

extension Connection {
    /// How far a checkpoint goes; the names are SQLite's.
    package enum Checkpoint: Sendable {
        case passive, full, restart, truncate
    }

    /// Carries the log's pages over into the database.
    ///
    /// - Returns: The pages in the log, and those of them that are now in the database.
    /// - Throws: `busy` if readers or a writer kept it from finishing; what was carried over is.
    @discardableResult
    package func checkpoint(_ kind: Checkpoint) throws(SQLiteError) -> (log: Int, done: Int) {
        let mode =
            switch kind {
            case .passive: SQLITE_CHECKPOINT_PASSIVE
            case .full: SQLITE_CHECKPOINT_FULL
            case .restart: SQLITE_CHECKPOINT_RESTART
            case .truncate: SQLITE_CHECKPOINT_TRUNCATE
            }
        var log: Int32 = 0
        var done: Int32 = 0
        try check(sqlite3_wal_checkpoint_v2(pointer, "main", mode, &log, &done), "checkpoint")
        return (Int(log), Int(done))
    }

    /// Copies the database, with what is only in its log, into a new file at `path`.
    ///
    /// The copy is of one moment; if somebody writes meanwhile, it begins anew. A copy that failed
    /// leaves a file behind that the caller removes. `progress` is told of the pages that are
    /// copied, and of how many there are.
    /// - Throws: `constraint` if there is a database at `path` already.
    package func copy(
        to path: String, progress: (Int, Int) -> Void = { _, _ in }
    ) throws(SQLiteError) {
        let target = try Connection(path: path, mode: .create)
        guard try target.firstInt("PRAGMA page_count") == 0 else {
            throw SQLiteError(.constraint, operation: "copy", detail: "the target is not empty")
        }
        guard let backup = sqlite3_backup_init(target.pointer, "main", pointer, "main") else {
            throw target.failure(sqlite3_extended_errcode(target.pointer), "copy")
        }
        var code = SQLITE_OK
        while code == SQLITE_OK {
            code = sqlite3_backup_step(backup, Self.pagesAtOnce)
            let total = Int(sqlite3_backup_pagecount(backup))
            progress(total - Int(sqlite3_backup_remaining(backup)), total)
        }
        let finished = sqlite3_backup_finish(backup)
        guard code == SQLITE_DONE else {
            throw target.failure(finished == SQLITE_OK ? code : finished, "copy")
        }
        try target.check(finished, "copy")
    }

    private static let pagesAtOnce: Int32 = 4_096

    /// What SQLite finds wrong with the file; empty if nothing is.
    ///
    /// Reads all of it.
    package func integrityCheck() throws(SQLiteError) -> [String] {
        do throws(SQLiteError) {
            let lines = try strings("PRAGMA integrity_check", column: 0)
            return lines == ["ok"] ? [] : lines
        } catch  where error.code == .corrupt || error.code == .notADatabase {
            // Too damaged to be checked to the end.
            return [error.detail]
        }
    }

    /// The tables with rows whose parent is missing, once a row; empty if there are none.
    package func foreignKeyCheck() throws(SQLiteError) -> [String] {
        try strings("PRAGMA foreign_key_check", column: 0)
    }

    /// How SQLite would run `sql`, one line a step; for tests that no query walks a table.
    package func queryPlan(_ sql: String) throws(SQLiteError) -> [String] {
        try strings("EXPLAIN QUERY PLAN " + sql, column: 3)
    }

    /// The number that the file's owner keeps in its header for the schema's version.
    package func userVersion() throws(SQLiteError) -> Int32 {
        Int32(truncatingIfNeeded: try firstInt("PRAGMA user_version"))
    }

    /// Sets the schema's version; part of the transaction that is open.
    package func setUserVersion(_ version: Int32) throws(SQLiteError) {
        try execute("PRAGMA user_version = \(version)")
    }

    /// The number in the file's header that says whose file it is.
    package func applicationID() throws(SQLiteError) -> Int32 {
        Int32(truncatingIfNeeded: try firstInt("PRAGMA application_id"))
    }

    /// Marks the file as ours; part of the transaction that is open.
    package func setApplicationID(_ id: Int32) throws(SQLiteError) {
        try execute("PRAGMA application_id = \(id)")
    }

    /// The first column of the first row as an integer; 0 if there is no row.
    package func firstInt(_ sql: String) throws(SQLiteError) -> Int64 {
        let statement = try prepare(sql)
        return try statement.step() ? statement.int(0) : 0
    }

    private func strings(_ sql: String, column: Int32) throws(SQLiteError) -> [String] {
        let statement = try prepare(sql)
        var lines: [String] = []
        while try statement.step() { lines.append(try statement.text(column)) }
        return lines
    }
}
