import Dispatch

/// The signals that ask the command to end: SIGINT and SIGTERM.
enum Interrupt {
    /// Runs work that the first signal cancels; a second one does not wait for it.
    ///
    /// - Throws: what the work throws, and `Failure.interrupted` for whatever it throws after a
    ///   signal.
    static func cancelling<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let task = Task { try await work() }
        for signal in Host.endingSignals {
            // Dispatch takes the signal over itself: nothing has to be ignored or blocked first.
            let source = DispatchSource.makeSignalSource(signal: signal)
            source.setEventHandler {
                // The source holds itself and is never cancelled: the process ends with the work,
                // and clearing up would start two threads first.
                withExtendedLifetime(source) {}
                if task.isCancelled { Host.exit(.interrupted) }
                task.cancel()
            }
            source.resume()
        }
        do {
            return try await task.value
        } catch {
            throw task.isCancelled ? Failure.interrupted : error
        }
    }
}
