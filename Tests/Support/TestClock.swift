import SyncPlatform

@testable import LazySync

/// A clock whose time of day stands still: a wait is noted and over at once.
final class TestClock: WaitingClock {
    private let state: Locked<State>

    private struct State {
        var now: Int64
        var instant = Duration.zero
        var waits: [Duration] = []
    }

    init(now: Int64 = 1_780_000_000) {
        state = Locked(State(now: now))
    }

    /// All waits so far, in their order.
    var waits: [Duration] { state.withLock { $0.waits } }

    /// The time of day; stands until somebody moves it.
    var now: Int64 { state.withLock { $0.now } }

    /// The monotonic time: whoever waited finds that so much has passed.
    var instant: Duration { state.withLock { $0.instant } }

    func advance(by seconds: Int64) {
        state.withLock { state in
            state.now += seconds
            state.instant += .seconds(seconds)
        }
    }

    func wait(_ duration: Duration) async throws {
        let end = state.withLock { state in
            state.waits.append(duration)
            return state.instant + duration
        }
        // Not to wait, but so that a loop that polls leaves the processor to others.
        try await Task.sleep(for: .milliseconds(1))
        state.withLock { $0.instant = max($0.instant, end) }
    }

    /// The longest wait that the policy allows, so that a test can foretell it.
    func jitter(_ policy: Backoff, after attempt: Int) -> Duration {
        min(policy.ceiling, policy.base * (1 << min(max(attempt - 1, 0), 20)))
    }
}
