import CSQLite

/// One SQLite connection, used by one executor at a time.
///
/// Opened without SQLite's own mutexes; whoever owns it serializes. Extended result codes are on,
/// the schema is not trusted, the file's inner tables cannot be written, and symbolic links at the
/// database's own name are refused.
package final class Connection {
    /// How the file is opened.
    package enum Mode: Sendable {
        case readOnly, readWrite, create
        /// A file that nobody can change, as on a read-only disk: no locks, and `-wal` is not read.
        case immutable
    }

    /// How long a lock is waited for unless somebody says otherwise, in milliseconds.
    package static let busyTimeout: Int32 = 5_000

    let handle: ConnectionHandle
    var statements = StatementCache()
    var progress: (() -> Bool)?

    /// The raw pointer; valid as long as this connection is.
    var pointer: OpaquePointer { handle.pointer }

    /// Opens the database at `path`; `:memory:` is a new one that lives in memory.
    ///
    /// SQLite reads the file at the first statement: a file that is not a database is noticed then.
    /// - Throws: `cannotOpen` if the file is not there, is a symbolic link or may not be opened.
    package init(
        path: String, mode: Mode, busyTimeout: Int32 = Connection.busyTimeout,
        checkpointsOnClose: Bool = true
    ) throws(SQLiteError) {
        var location = try DatabaseLocation(path: path, mode: mode)
        var opened: OpaquePointer?
        var code = sqlite3_open_v2(location.name, &opened, location.flags, nil)
        if code == Self.linkInPath {
            sqlite3_close_v2(opened)
            location = try DatabaseLocation(path: path, mode: mode, resolvesLinks: true)
            code = sqlite3_open_v2(location.name, &opened, location.flags, nil)
        }
        // SQLite hands back a handle even when opening fails; it must be closed.
        guard let opened else {
            throw SQLiteError(extendedCode: code, operation: "open", detail: "no memory")
        }
        handle = ConnectionHandle(opened)
        guard code == SQLITE_OK else { throw failure(code, "open") }
        try check(sqlite3_busy_timeout(opened, busyTimeout), "busy_timeout")
        try harden()
        try configure(
            SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, to: checkpointsOnClose ? 0 : 1, "no_ckpt_on_close")
    }

    /// `SQLITE_CANTOPEN_SYMLINK`, which is too much of a macro for Swift.
    private static let linkInPath = SQLITE_CANTOPEN | 6 << 8

    deinit {
        statements.removeAll()
    }

    /// Runs every statement of `sql`, whose text is code and never holds a value.
    package func execute(_ sql: String) throws(SQLiteError) {
        try check(sqlite3_exec(pointer, sql, nil, nil, nil), sql)
    }

    /// Runs statement after statement of `sql`, and tells after each how many are done.
    package func execute(_ sql: String, then done: (Int) throws -> Void) throws {
        var text = sql
        try text.withUTF8 { utf8 in
            try utf8.withMemoryRebound(to: CChar.self) { characters in
                var rest = characters[...]
                var count = 0
                while let start = UnsafeBufferPointer(rebasing: rest).baseAddress {
                    var compiled: OpaquePointer?
                    var tail: UnsafePointer<CChar>?
                    let code = sqlite3_prepare_v2(
                        pointer, start, Int32(clamping: rest.count), &compiled, &tail)
                    try check(code, sql)
                    // Nothing but blanks and comments are left.
                    guard let compiled else { return }
                    try run(once: compiled, sql)
                    count += 1
                    try done(count)
                    rest = rest.dropFirst(tail.map { $0 - start } ?? rest.count)
                }
            }
        }
    }

    private func run(once statement: OpaquePointer, _ sql: String) throws(SQLiteError) {
        defer { sqlite3_finalize(statement) }
        var code = sqlite3_step(statement)
        while code == SQLITE_ROW { code = sqlite3_step(statement) }
        if code != SQLITE_DONE { throw failure(sqlite3_extended_errcode(pointer), sql) }
    }

    /// Waits so long for locks from now on, in milliseconds.
    package func setBusyTimeout(_ milliseconds: Int32) throws(SQLiteError) {
        try check(sqlite3_busy_timeout(pointer, milliseconds), "busy_timeout")
    }

    /// The statement for `sql`, reset and without bindings; compiled once, then reused.
    ///
    /// One that is in use is not handed out a second time; a new one is compiled. The texts are
    /// code: they are compared as strings, so they should be ASCII.
    package func prepare(_ sql: String) throws(SQLiteError) -> Statement {
        if let idle = statements.take(sql) {
            return Statement(idle, sql: sql, connection: self)
        }
        return Statement(try compile(sql), sql: sql, connection: self)
    }

    /// Stops what runs here, from another thread.
    package var interrupter: Interrupter { Interrupter(handle) }

    /// Whether the file was opened, or could only be opened, for reading.
    package var isReadOnly: Bool { sqlite3_db_readonly(pointer, "main") == 1 }

    /// The rows that the last INSERT, UPDATE or DELETE changed.
    package var changes: Int64 { sqlite3_changes64(pointer) }

    /// The row id of the last INSERT.
    package var lastInsertRowID: Int64 { sqlite3_last_insert_rowid(pointer) }

    /// Whether a transaction is open.
    package var isInTransaction: Bool { sqlite3_get_autocommit(pointer) == 0 }

    private func compile(_ sql: String) throws(SQLiteError) -> OpaquePointer {
        var compiled: OpaquePointer?
        var text = sql
        let (code, isAll) = text.withUTF8 { utf8 in
            utf8.withMemoryRebound(to: CChar.self) { characters -> (Int32, Bool) in
                var tail: UnsafePointer<CChar>?
                let code = sqlite3_prepare_v3(
                    pointer, characters.baseAddress, Int32(clamping: characters.count),
                    UInt32(SQLITE_PREPARE_PERSISTENT), &compiled, &tail)
                guard let tail, let start = characters.baseAddress else { return (code, true) }
                return (code, utf8[(tail - start)...].allSatisfy { $0 <= UInt8(ascii: " ") })
            }
        }
        try check(code, sql)
        guard let compiled else {
            throw SQLiteError(.other, operation: sql, detail: "no statement in the text")
        }
        guard isAll else {
            sqlite3_finalize(compiled)
            throw SQLiteError(.other, operation: sql, detail: "more than one statement")
        }
        return compiled
    }

    /// Throws what SQLite says about a call on this connection that just failed.
    @inline(__always)
    func check(_ code: Int32, _ operation: @autoclosure () -> String) throws(SQLiteError) {
        if code != SQLITE_OK { throw failure(code, operation()) }
    }

    @inline(never)
    func failure(_ code: Int32, _ operation: String) -> SQLiteError {
        // A bind that fails leaves the connection's message alone; then the code's own words do.
        let isLast = sqlite3_extended_errcode(pointer) == code
        let words = isLast ? sqlite3_errmsg(pointer) : sqlite3_errstr(code)
        let detail = words.map { String(cString: $0) } ?? ""
        let concernsFiles = [SQLITE_IOERR, SQLITE_CANTOPEN].contains(code & 0xff)
        return SQLiteError(
            extendedCode: code, systemError: concernsFiles ? sqlite3_system_errno(pointer) : 0,
            operation: operation, detail: detail)
    }
}
