/// A connection on a thread of its own, for callers that must not block.
///
/// A call costs one hop of some 16 µs: many rows go into one call. The bodies are synchronous, so
/// nothing can come between two of their statements.
package actor Database {
    private let executor: QueueExecutor
    private let connection: Connection

    /// The thread that this actor runs on.
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Takes over a connection that start-up code has opened and prepared.
    package init(_ connection: sending Connection, label: String = "lazysync.database") {
        executor = QueueExecutor(label: label)
        self.connection = connection
    }

    /// Opens a connection and lets `configure` prepare it.
    package init(
        path: String, mode: Connection.Mode, label: String = "lazysync.database",
        configure: (Connection) throws(SQLiteError) -> Void = { _ in }
    ) throws(SQLiteError) {
        executor = QueueExecutor(label: label)
        connection = try Connection(path: path, mode: mode)
        try configure(connection)
    }

    /// Runs `body` on the connection, outside of any transaction.
    package func perform<Result: Sendable, Failure>(
        _ body: @Sendable (Connection) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(connection)
    }

    /// Runs `body` in a transaction that holds the write lock from its beginning.
    ///
    /// It is not cut short by a cancellation: either all of it is done, or it failed.
    package func write<Result: Sendable>(
        _ body: @Sendable (Connection) throws -> Result
    ) throws -> Result {
        try connection.transaction(.immediate) { try body(connection) }
    }

    /// Runs `body` on one snapshot; cancelling the task interrupts the statement that runs.
    ///
    /// - Throws: `CancellationError` if the task was cancelled, else what `body` throws.
    package func read<Result: Sendable>(
        _ body: @Sendable (Connection) throws -> Result
    ) throws -> Result {
        try Task.checkCancellation()
        return try connection.transaction(.deferred) {
            do {
                // Asked on the thread that runs the query, so a cancellation cannot hit the next
                // one.
                return try connection.watched(by: { !Task.isCancelled }) { try body(connection) }
            } catch let error as SQLiteError where error.code == .interrupted {
                try Task.checkCancellation()
                throw error
            }
        }
    }
}
