import SyncPlatform

@testable import LazySync
@testable import MockServer

/// A clock that stands until a test moves it: whoever waits on it really waits.
final class HeldClock: WaitingClock {
    private let state = Watched(State())
    private let start: Int64

    private struct State: Sendable {
        var instant = Duration.zero
        var count = 0
        var sleepers: [Int: Sleeper] = [:]
    }

    private struct Sleeper: Sendable {
        let duration: Duration
        let end: Duration
        let wake: @Sendable ((any Error)?) -> Void
    }

    init(now: Int64 = 1_780_000_000) {
        start = now
    }

    var now: Int64 { start + instant.components.seconds }
    var instant: Duration { state.value.instant }

    /// How long those wait who wait now.
    var waits: [Duration] { state.value.sleepers.values.map(\.duration) }

    /// Moves time on, and wakes those whose wait is over.
    func advance(by duration: Duration) {
        let over = state.change { state in
            state.instant += duration
            let over = state.sleepers.filter { $0.value.end <= state.instant }
            for id in over.keys { state.sleepers[id] = nil }
            return over
        }
        for sleeper in over.values { sleeper.wake(nil) }
    }

    /// Waits, in real time, until those who wait are as wanted.
    func waitFor(_ condition: @escaping @Sendable ([Duration]) -> Bool) async throws {
        try await state.wait { condition($0.sleepers.values.map(\.duration)) }
    }

    func wait(_ duration: Duration) async throws {
        let id = state.change { state in
            state.count += 1
            return state.count
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                let isOver = state.change { state in
                    if duration <= .zero || Task.isCancelled { return true }
                    state.sleepers[id] = Sleeper(
                        duration: duration, end: state.instant + duration
                    ) { error in
                        if let error {
                            continuation.resume(throwing: error)
                        } else {
                            continuation.resume()
                        }
                    }
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let sleeper = state.change { $0.sleepers.removeValue(forKey: id) }
            sleeper?.wake(CancellationError())
        }
        try Task.checkCancellation()
    }

    /// The longest wait that the policy allows, so that a test can foretell it.
    func jitter(_ policy: Backoff, after attempt: Int) -> Duration {
        min(policy.ceiling, policy.base * (1 << min(max(attempt - 1, 0), 20)))
    }
}
