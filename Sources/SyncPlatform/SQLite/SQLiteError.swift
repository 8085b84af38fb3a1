import CSQLite
import Glibc

/// What SQLite refused or failed to do.
///
/// Holds the statement's text and never a value that was bound to it.
package struct SQLiteError: Error, Sendable {
    /// The kinds of failure that callers tell apart.
    package enum Code: Sendable, Equatable {
        case busy, full, readOnly, corrupt, notADatabase, cannotOpen, constraint, interrupted, io
        case tooBig, noMemory, other
    }

    /// What callers branch on.
    package let code: Code
    /// SQLite's extended result code, for the log.
    package let extendedCode: Int32
    /// What was run: the SQL's text, or the name of the call.
    package let operation: String
    /// SQLite's own words.
    package let detail: String

    /// `systemError` is the `errno` behind an I/O failure, 0 if there is none.
    init(extendedCode: Int32, systemError: Int32 = 0, operation: String, detail: String) {
        // A full disk can show itself as a log's index that cannot grow or a file that cannot be
        // made.
        let isFull = systemError == ENOSPC || systemError == EDQUOT
        code = isFull ? .full : Code(extendedCode)
        self.extendedCode = extendedCode
        self.operation = operation
        self.detail = detail
    }

    init(_ code: Code, operation: String, detail: String) {
        self.code = code
        extendedCode = SQLITE_ERROR
        self.operation = operation
        self.detail = detail
    }
}

extension SQLiteError.Code {
    init(_ extendedCode: Int32) {
        switch extendedCode & 0xff {
        case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: self = .busy
        case SQLITE_FULL: self = .full
        case SQLITE_READONLY: self = .readOnly
        case SQLITE_CORRUPT: self = .corrupt
        case SQLITE_NOTADB: self = .notADatabase
        case SQLITE_CANTOPEN, SQLITE_PERM: self = .cannotOpen
        case SQLITE_CONSTRAINT: self = .constraint
        case SQLITE_INTERRUPT: self = .interrupted
        case SQLITE_IOERR: self = .io
        case SQLITE_TOOBIG: self = .tooBig
        case SQLITE_NOMEM: self = .noMemory
        default: self = .other
        }
    }
}

extension SQLiteError: CustomStringConvertible {
    /// One line for the log.
    package var description: String { "\(operation): \(detail) (SQLite \(extendedCode))" }
}
