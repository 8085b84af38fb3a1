internal import SyncPlatform

/// Who is at an account in this process: whatever writes of it holds the account's lock.
///
/// Closing lets nobody new in; the lock is given back when the last who was in is done, and only
/// then can the account be forgotten. So nothing comes back after a logout.
final class Tenancy: Sendable {
    private struct State {
        var token: FileLock.Token?
        var isClosed = false
    }

    private let state: Locked<State>

    /// Takes over the account's lock, shared.
    init(_ token: FileLock.Token?) {
        state = Locked(State(token: token))
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Answers what must be held while something is written.
    func enter(_ operation: String) throws(SyncError) -> FileLock.Token? {
        let (token, isClosed) = state.withLock { ($0.token, $0.isClosed) }
        guard !isClosed else { throw Self.loggedOut(operation) }
        return token
    }

    /// Lets nobody in any more.
    ///
    /// Answers whether this call closed it.
    @discardableResult
    func close() -> Bool {
        state.withLock { state in
            defer { state = State(token: nil, isClosed: true) }
            return !state.isClosed
        }
    }

    static func loggedOut(_ operation: String) -> SyncError {
        SyncError(.notLoggedIn, operation, "the account was logged out")
    }
}
