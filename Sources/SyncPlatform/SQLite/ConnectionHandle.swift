import CSQLite

/// The `sqlite3 *` of one connection; closes it when the last reference goes.
///
/// Unchecked: the pointer is constant, and from other threads only `sqlite3_interrupt` is called
/// with it, which SQLite allows as long as the connection is not closed; the reference sees to
/// that.
final class ConnectionHandle: @unchecked Sendable {
    let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        // The v2 form never fails: a statement still in use would only put the closing off.
        sqlite3_close_v2(pointer)
    }
}

/// Stops what a connection is running, from any thread.
///
/// Does not keep the connection open, and does nothing once it is closed or when nothing runs.
package struct Interrupter: Sendable {
    private weak let handle: ConnectionHandle?

    init(_ handle: ConnectionHandle) {
        self.handle = handle
    }

    /// Makes the statements that run now fail with `interrupted`; those that begin later do not.
    package func interrupt() {
        if let handle { sqlite3_interrupt(handle.pointer) }
    }
}
