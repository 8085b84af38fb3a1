internal import SyncPlatform

/// When what failed is tried again by itself: never, unless somebody keeps trying.
///
/// It counts the failures in a row, for each blob and for each condition, and says the time that is
/// noted with the failure.
final class RetrySchedule: Sendable {
    private let policy: Backoff
    private let clock: any WaitingClock
    private let state = Locked(State())

    private struct State {
        var keepers = 0
        var conditions: [UnavailableReason: Round] = [:]
        var blobs: [String: Round] = [:]
    }

    /// The failures so far, and the time of the next try.
    private struct Round {
        var failures = 0
        var next: Int64 = 0
    }

    init(policy: Backoff, clock: any WaitingClock) {
        self.policy = policy
        self.clock = clock
    }

    /// Somebody begins to keep trying.
    func begin() { state.withLock { $0.keepers += 1 } }

    /// Somebody stops.
    func end() { state.withLock { $0.keepers -= 1 } }

    /// The time of the next try after one that failed; nil if none is due by its time.
    func next(
        after reason: UnavailableReason, _ evidence: Evidence, of record: String
    ) -> Timestamp? {
        state.withLock { state in
            guard state.keepers > 0 else { return nil }
            switch reason {
            case .offline, .throttled:
                return next(&state.conditions[reason, default: Round()])
            case .serverError where evidence.code != "certificate":
                return next(&state.blobs[record, default: Round()])
            default: return nil
            }
        }
    }

    private func next(_ round: inout Round) -> Timestamp? {
        let now = clock.now
        // Several that fail at once, for what they share, are one failure.
        if round.next <= now {
            round.failures += 1
            let (seconds, rest) = clock.jitter(policy, after: round.failures).components
            round.next = now + max(1, seconds + (rest > 0 ? 1 : 0))
        }
        return Timestamp(seconds: round.next)
    }

    /// Something came: the counts begin anew.
    func came(_ record: String) {
        state.withLock { state in
            state.conditions = [:]
            state.blobs[record] = nil
        }
    }
}
