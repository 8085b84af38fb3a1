import SyncPlatform

@testable import LazySync

/// A clock that stands still: a wait is noted and over at once.
final class TestClock: WaitingClock {
    private let state: Locked<(now: Int64, waits: [Duration])>

    init(now: Int64 = 1_780_000_000) {
        state = Locked((now, []))
    }

    /// All waits so far, in their order.
    var waits: [Duration] { state.withLock { $0.waits } }

    /// The time of day; stands until somebody moves it.
    var now: Int64 { state.withLock { $0.now } }

    func advance(by seconds: Int64) {
        state.withLock { $0.now += seconds }
    }

    func wait(_ duration: Duration) async throws {
        state.withLock { $0.waits.append(duration) }
        // Not to wait, but so that a loop that polls leaves the processor to others.
        try await Task.sleep(for: .milliseconds(1))
    }

    /// The longest wait that the policy allows, so that a test can foretell it.
    func jitter(_ policy: Backoff, after attempt: Int) -> Duration {
        min(policy.ceiling, policy.base * (1 << min(max(attempt - 1, 0), 20)))
    }
}
