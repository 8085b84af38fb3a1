internal import SyncPlatform

/// Working under the account's lock, and ending when the account is logged out.
extension SyncEngine {
    /// Whether the account was logged out, here or by another program; then nothing works any more.
    func requireOpen(_ operation: String) throws(SyncError) {
        _ = try opened.enter(operation)
        // A look at the file costs a microsecond, reading it only happens after a change.
        let facts = try? FileSystem.facts(device.places.settings)
        if facts == seenSettings { return }
        seenSettings = facts
        guard device.isForgotten(opened.scope.account) else { return }
        opened.tenancy.close()
        Task { await close() }
        throw Tenancy.loggedOut(operation)
    }

    /// Answers what must be held while files of the account are read or written; for what takes no
    /// longer than one look at a disk, or can be ended in another way.
    func enter(_ operation: String) throws(SyncError) -> FileLock.Token? {
        try requireOpen(operation)
        return try opened.enter(operation)
    }

    /// Does what takes long: under the account's lock, and so that a logout can end it.
    func working<Result: Sendable>(
        _ operation: String, _ body: @escaping @Sendable () async throws -> Result
    ) async throws(SyncError) -> Result {
        try requireOpen(operation)
        await opened.watchForLogout()
        // From here to where it can be ended nothing may come between.
        let tenant = try opened.enter(operation)
        let task = Task {
            defer { withExtendedLifetime(tenant) {} }
            return try await body()
        }
        workCount += 1
        let number = workCount
        works[number] = { task.cancel() }
        defer { works[number] = nil }
        do {
            return try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch {
            if opened.tenancy.isClosed { throw Tenancy.loggedOut(operation) }
            throw SyncError(operation, error)
        }
    }

    /// Says that the account was logged out where a logout has ended the work.
    func unlessLoggedOut<Result>(
        _ body: () async throws(SyncError) -> Result
    ) async throws(SyncError) -> Result {
        do {
            return try await body()
        } catch {
            if opened.tenancy.isClosed { throw Tenancy.loggedOut(error.operation) }
            throw error
        }
    }

    /// Ends everything that is going on, and gives the account's lock back when it has ended.
    func close() async {
        broadcast.finish()
        await opened.close()
        // Who waits there, be it for the end of a pause, waits for nothing now.
        await opened.lane.queue.close()
        for cancel in works.values { cancel() }
        pulling?.cancel()
        desk.cancelAll()
        await materializer.cancelAll()
        for shared in reads.values { await shared.reads?.cancelAll() }
        catalog.close()
    }
}
