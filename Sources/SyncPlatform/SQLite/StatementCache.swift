import CSQLite

/// The compiled statements of a connection that nobody uses now, by their text.
struct StatementCache {
    /// More texts than the product has; a bound all the same.
    private static let capacity = 200
    private var idle: [String: OpaquePointer] = [:]

    /// Takes the statement out, so that it cannot be handed out twice.
    mutating func take(_ sql: String) -> OpaquePointer? {
        idle.removeValue(forKey: sql)
    }

    /// Keeps a statement for the next who asks.
    ///
    /// Reset at once: a half-read SELECT would hold its snapshot and keep the log from shrinking.
    mutating func giveBack(_ statement: OpaquePointer, sql: String) {
        sqlite3_reset(statement)
        sqlite3_clear_bindings(statement)
        guard idle.count < Self.capacity, idle[sql] == nil else {
            sqlite3_finalize(statement)
            return
        }
        idle[sql] = statement
    }

    mutating func removeAll() {
        for statement in idle.values { sqlite3_finalize(statement) }
        idle.removeAll()
    }
}
