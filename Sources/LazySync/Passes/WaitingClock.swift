/// Waiting and its randomness, handed in: a test's clock waits for nothing.
protocol WaitingClock: Sendable {
    /// Waits on a monotonic clock; ends early with the task.
    func wait(_ duration: Duration) async throws
    /// The time since some moment, which never goes back and is no time of day.
    var instant: Duration { get }
    /// The time of day in Unix seconds, for people.
    var now: Int64 { get }
    /// Draws how long to wait after a failed try.
    func jitter(_ policy: Backoff, after attempt: Int) -> Duration
}
