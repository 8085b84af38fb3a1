import CSQLite

extension Connection {
    /// When a transaction takes its lock.
    package enum Transaction: Sendable {
        /// At once, for writing: what is read in it cannot be overtaken before it is written.
        case immediate
        /// At the first statement; for reading from one snapshot.
        case deferred
    }

    /// Runs `body` in a transaction: all of it lasts, or none.
    ///
    /// Rolls back when `body` throws and when the commit fails. Transactions do not nest: the inner
    /// one fails.
    package func transaction<Result>(
        _ kind: Transaction, _ body: () throws -> Result
    ) throws -> Result {
        try prepare(kind == .immediate ? "BEGIN IMMEDIATE" : "BEGIN").run()
        do {
            let result = try body()
            try prepare("COMMIT").run()
            return result
        } catch {
            rollback()
            throw error
        }
    }

    /// Ends the transaction without its changes; a full disk or an interrupt may have done so.
    private func rollback() {
        if isInTransaction { sqlite3_exec(pointer, "ROLLBACK", nil, nil, nil) }
    }

    /// Runs `body`, asking `keepGoing` every few thousand steps of SQLite's machine.
    ///
    /// When it says `false`, the running statement fails with `interrupted`. The question is asked
    /// on this connection's thread and must not use the connection.
    package func watched<Result, Failure>(
        by keepGoing: @escaping () -> Bool, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let outer = progress
        watch(keepGoing)
        defer { watch(outer) }
        return try body()
    }

    private func watch(_ keepGoing: (() -> Bool)?) {
        progress = keepGoing
        guard keepGoing != nil else {
            sqlite3_progress_handler(pointer, 0, nil, nil)
            return
        }
        // Unretained: the handler runs only inside calls that this object makes.
        let context = Unmanaged.passUnretained(self).toOpaque()
        sqlite3_progress_handler(
            pointer, 4_000,
            { context in
                guard let context else { return 0 }
                let connection = Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue()
                return connection.progress?() == false ? 1 : 0
            }, context)
    }
}
