internal import SyncPlatform

/// Sends each change to all who listen.
///
/// A listener that is slow loses the oldest changes, never the newest: what it draws stays true.
final class Broadcast: Sendable {
    private let state = Locked(State())
    private static let kept = 1_024

    private struct State {
        var listeners: [Int: AsyncStream<StateChange>.Continuation] = [:]
        var count = 0
        var isFinished = false
    }

    func stream() -> AsyncStream<StateChange> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: StateChange.self, bufferingPolicy: .bufferingNewest(Self.kept))
        let ticket = state.withLock { state -> Int? in
            guard !state.isFinished else { return nil }
            state.count += 1
            state.listeners[state.count] = continuation
            return state.count
        }
        guard let ticket else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { $0.listeners[ticket] = nil }
        }
        return stream
    }

    /// Whether anybody listens: if not, a change need not be looked up.
    var isHeard: Bool { state.withLock { !$0.listeners.isEmpty } }

    func send(_ change: StateChange) {
        let listeners = state.withLock { Array($0.listeners.values) }
        for listener in listeners { listener.yield(change) }
    }

    /// Ends all streams.
    func finish() {
        let listeners = state.withLock { state in
            state.isFinished = true
            defer { state.listeners = [:] }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.finish() }
    }
}
