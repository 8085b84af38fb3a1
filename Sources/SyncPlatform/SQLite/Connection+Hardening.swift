import CSQLite

/// The name and the flags that a database is opened with.
struct DatabaseLocation {
    let name: String
    let flags: Int32

    /// Names it; `resolvesLinks` if there was found to be one in the path.
    init(
        path: String, mode: Connection.Mode, resolvesLinks: Bool = false
    ) throws(SQLiteError) {
        let common = SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW
        switch mode {
        case .readOnly, .immutable: flags = common | SQLITE_OPEN_READONLY | Self.uri(for: mode)
        case .readWrite: flags = common | SQLITE_OPEN_READWRITE
        case .create: flags = common | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        }
        // Most paths have no link in them: whether this one does, SQLite finds out by itself.
        let isPlain = mode != .immutable && path.hasPrefix("/") && !path.utf8.contains(0)
        if path == ":memory:" || (isPlain && !resolvesLinks) {
            name = path
            return
        }
        let resolved = try Self.resolvingFolder(of: path)
        name = mode == .immutable ? "file:\(Self.escaped(resolved))?immutable=1" : resolved
    }

    private static func uri(for mode: Connection.Mode) -> Int32 {
        mode == .immutable ? SQLITE_OPEN_URI : 0
    }

    /// The path with the links in its folder resolved.
    ///
    /// NOFOLLOW refuses a link anywhere in the path, and a home folder behind one is common; only
    /// the database's own name must not be one. An absolute path is never taken for a URI either.
    private static func resolvingFolder(of path: String) throws(SQLiteError) -> String {
        let failed = SQLiteError(
            extendedCode: SQLITE_CANTOPEN, operation: "open", detail: "no such folder")
        guard !path.utf8.contains(0), let files = sqlite3_vfs_find(nil) else { throw failed }
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let name = slash.map { path[path.utf8.index(after: $0)...] } ?? path[...]
        let folder = slash.map { path[...$0] } ?? "."
        guard !name.isEmpty else { throw failed }

        let capacity = files.pointee.mxPathname + 1
        var resolved = [CChar](repeating: 0, count: Int(capacity))
        let code = files.pointee.xFullPathname?(files, String(folder), capacity, &resolved)
        // The low byte is 0 too when links were resolved on the way.
        guard let code, code & 0xff == SQLITE_OK else { throw failed }
        let bytes = resolved.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        guard let base = String(validating: bytes, as: UTF8.self) else { throw failed }
        return base == "/" ? "/\(name)" : "\(base)/\(name)"
    }

    /// The path with the three characters escaped that mean something in a URI.
    private static func escaped(_ path: String) -> String {
        var result = ""
        for character in path.unicodeScalars {
            switch character {
            case "%": result += "%25"
            case "?": result += "%3f"
            case "#": result += "%23"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }
}

extension Connection {
    /// Distrusts what the file says about itself and bounds what a statement may be.
    func harden() throws(SQLiteError) {
        try configure(SQLITE_DBCONFIG_DEFENSIVE, to: 1, "defensive")
        try configure(SQLITE_DBCONFIG_TRUSTED_SCHEMA, to: 0, "trusted_schema")
        // A misspelt column in double quotes is an error, not a string.
        try configure(SQLITE_DBCONFIG_DQS_DML, to: 0, "dqs_dml")
        try configure(SQLITE_DBCONFIG_DQS_DDL, to: 0, "dqs_ddl")
        sqlite3_limit(pointer, SQLITE_LIMIT_LENGTH, 64 << 20)
        sqlite3_limit(pointer, SQLITE_LIMIT_SQL_LENGTH, 100_000)
        // No statement is as long as the account.
        sqlite3_limit(pointer, SQLITE_LIMIT_VARIABLE_NUMBER, 100)
        // VACUUM attaches the database it writes.
        sqlite3_limit(pointer, SQLITE_LIMIT_ATTACHED, 1)
    }

    /// Sets a switch, and makes sure that it holds: an old library ignores what it does not know.
    func configure(_ option: Int32, to value: Int32, _ name: String) throws(SQLiteError) {
        var now: Int32 = -1
        try check(sqlite3_db_config_int(pointer, option, value, &now), name)
        guard now == value else {
            throw SQLiteError(.other, operation: name, detail: "the switch does not hold")
        }
    }
}
