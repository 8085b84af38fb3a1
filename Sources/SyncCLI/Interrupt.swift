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
        let sources = Host.endingSignals.map { signal in
            // Dispatch takes the signal over itself: nothing has to be ignored or blocked first.
            let source = DispatchSource.makeSignalSource(signal: signal)
            source.setEventHandler {
                if task.isCancelled { Host.exit(.interrupted) }
                task.cancel()
            }
            source.resume()
            return source
        }
        defer { for source in sources { source.cancel() } }
        do {
            return try await task.value
        } catch {
            throw task.isCancelled ? Failure.interrupted : error
        }
    }
}
