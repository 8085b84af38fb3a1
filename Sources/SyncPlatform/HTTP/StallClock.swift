/// Notices that a transfer moves less than a byte a second.
///
/// libcurl has a check of its own, but not for a request that waits for another one's connection,
/// and with seconds as its smallest measure.
struct StallClock {
    let limit: Duration
    private var mark: ContinuousClock.Instant
    private var markedBytes = 0

    init(limit: Duration, now: ContinuousClock.Instant) {
        self.limit = limit
        mark = now
    }

    /// How often to look: an eighth of the limit, and at least every second.
    var interval: Duration { min(limit / 8, .seconds(1)) }

    /// Begins anew, after a pause that was not the server's.
    mutating func restart(now: ContinuousClock.Instant, bytes: Int) {
        mark = now
        markedBytes = bytes
    }

    /// Whether the transfer counts as stalled, having moved `bytes` since its beginning.
    mutating func isStalled(now: ContinuousClock.Instant, bytes: Int) -> Bool {
        // A body that is sent once more begins at its first byte.
        if bytes < markedBytes { restart(now: now, bytes: bytes) }
        let elapsed = now - mark
        let moved = bytes - markedBytes
        if moved > 0, .seconds(moved) >= elapsed {
            restart(now: now, bytes: bytes)
            return false
        }
        return elapsed >= limit
    }
}
