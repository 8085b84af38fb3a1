import CSQLite

/// A compiled statement in the hands of one caller; goes back to its connection when released.
///
/// Parameters count from 1, columns from 0. Values are copied when they are bound. A bind that
/// fails (the value is too big, or there is no such parameter) is reported by the next `step`.
package final class Statement {
    let pointer: OpaquePointer
    let sql: String
    let connection: Connection
    private var bindFailure: Int32 = SQLITE_OK

    init(_ pointer: OpaquePointer, sql: String, connection: Connection) {
        self.pointer = pointer
        self.sql = sql
        self.connection = connection
    }

    deinit {
        connection.statements.giveBack(pointer, sql: sql)
    }

    /// Binds an integer.
    package func bind(_ value: Int64, at index: Int32) {
        note(sqlite3_bind_int64(pointer, index, value))
    }

    /// Binds text.
    package func bind(text: String, at index: Int32) {
        var text = text
        text.withUTF8 { note(bindText($0, to: pointer, at: index)) }
    }

    /// Binds text that the caller knows to be UTF-8.
    package func bind(text: Span<UInt8>, at index: Int32) {
        text.withUnsafeBufferPointer { note(bindText($0, to: pointer, at: index)) }
    }

    /// Binds a blob; an empty one is an empty blob, not NULL.
    package func bind(blob: Span<UInt8>, at index: Int32) {
        if blob.isEmpty {
            note(sqlite3_bind_zeroblob(pointer, index, 0))
            return
        }
        blob.withUnsafeBufferPointer {
            note(sqlite3_bind_blob_copied(pointer, index, $0.baseAddress, UInt64($0.count)))
        }
    }

    /// Binds NULL.
    package func bindNull(at index: Int32) {
        note(sqlite3_bind_null(pointer, index))
    }

    /// Goes to the next row; `false` when there is none.
    package func step() throws(SQLiteError) -> Bool {
        if bindFailure != SQLITE_OK { throw takeBindFailure() }
        let code = sqlite3_step(pointer)
        if code == SQLITE_ROW { return true }
        if code == SQLITE_DONE { return false }
        // The message is of the step: it is read before the reset, which ends what the step began.
        let failure = connection.failure(code, sql)
        sqlite3_reset(pointer)
        throw failure
    }

    /// Runs the statement to its end and makes it ready for the next values; bindings stay.
    package func run() throws(SQLiteError) {
        while try step() {}
        sqlite3_reset(pointer)
    }

    /// Makes the statement ready to run again; bindings stay.
    package func reset() {
        sqlite3_reset(pointer)
    }

    @inline(__always)
    private func note(_ code: Int32) {
        if code != SQLITE_OK, bindFailure == SQLITE_OK { bindFailure = code }
    }

    private func takeBindFailure() -> SQLiteError {
        defer { bindFailure = SQLITE_OK }
        return connection.failure(bindFailure, sql)
    }
}

/// Binds text; an empty buffer may have no address, which would bind NULL.
@inline(__always)
private func bindText(
    _ text: UnsafeBufferPointer<UInt8>, to statement: OpaquePointer, at index: Int32
) -> Int32 {
    guard let address = text.baseAddress, !text.isEmpty else {
        return sqlite3_bind_text_copied(statement, index, "", 0)
    }
    return sqlite3_bind_text_copied(statement, index, address, UInt64(text.count))
}
