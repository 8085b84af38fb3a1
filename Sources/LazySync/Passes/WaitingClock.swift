/// Waiting and its randomness, handed in: a test's clock waits for nothing.
protocol WaitingClock: Sendable {
    /// Waits on a monotonic clock; ends early with the task.
    func wait(_ duration: Duration) async throws
    /// Waits before a call is made again, for a reason that a person may want to know.
    func wait(_ duration: Duration, because reason: UnavailableReason) async throws
    /// The time since some moment, which never goes back and is no time of day.
    var instant: Duration { get }
    /// The time of day in Unix seconds, for people.
    var now: Int64 { get }
    /// Draws how long to wait after a failed try.
    func jitter(_ policy: Backoff, after attempt: Int) -> Duration
}

extension WaitingClock {
    func wait(_ duration: Duration, because reason: UnavailableReason) async throws {
        try await wait(duration)
    }
}

/// A clock that says before a call is made again how long that takes, and why.
struct TellingClock: WaitingClock {
    let clock: any WaitingClock
    let tell: @Sendable (TransferWait) -> Void

    func wait(_ duration: Duration) async throws { try await clock.wait(duration) }

    func wait(_ duration: Duration, because reason: UnavailableReason) async throws {
        tell(TransferWait(reason: reason, duration: duration))
        try await clock.wait(duration, because: reason)
    }

    var instant: Duration { clock.instant }
    var now: Int64 { clock.now }

    func jitter(_ policy: Backoff, after attempt: Int) -> Duration {
        clock.jitter(policy, after: attempt)
    }
}
