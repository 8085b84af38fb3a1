import CSQLite

/// The columns of the row that `step` went to; counted from 0.
extension Statement {
    /// Whether the column is NULL.
    package func isNull(_ column: Int32) -> Bool {
        sqlite3_column_type(pointer, column) == SQLITE_NULL
    }

    /// The integer in a column; 0 if it is NULL.
    package func int(_ column: Int32) -> Int64 {
        sqlite3_column_int64(pointer, column)
    }

    /// The text in a column, embedded NULs included; empty if it is NULL.
    ///
    /// - Throws: `corrupt` if the bytes are not UTF-8: nothing writes such text.
    package func text(_ column: Int32) throws(SQLiteError) -> String {
        // The text first, then its length: the order in which SQLite converts only once.
        guard let start = sqlite3_column_text(pointer, column) else { return "" }
        let count = Int(sqlite3_column_bytes(pointer, column))
        let bytes = UnsafeBufferPointer(start: start, count: count)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw SQLiteError(.corrupt, operation: sql, detail: "text is not UTF-8")
        }
        return text
    }

    /// A copy of the blob in a column; empty if it is NULL.
    package func blob(_ column: Int32) -> [UInt8] {
        guard let start = sqlite3_column_blob(pointer, column) else { return [] }
        let count = Int(sqlite3_column_bytes(pointer, column))
        return [UInt8](UnsafeRawBufferPointer(start: start, count: count))
    }

    /// Lends the blob in a column without a copy; empty if it is NULL.
    ///
    /// The bytes are SQLite's and go with the next `step`, which `body` must not call.
    package func withBlob<Result, Failure>(
        _ column: Int32, _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let start = sqlite3_column_blob(pointer, column) else { return try body(Span()) }
        let count = Int(sqlite3_column_bytes(pointer, column))
        let bytes = UnsafeBufferPointer(
            start: start.assumingMemoryBound(to: UInt8.self), count: count)
        return try body(bytes.span)
    }
}
