/// How long to wait before a try is made again, and when a verb gives up.
///
/// 250 ms doubling to 30 s with full jitter. The count starts again with verified progress.
struct Backoff: Sendable, Hashable {
    var base: Duration = .milliseconds(250)
    var ceiling: Duration = .seconds(30)
    /// Tries without verified progress before giving up.
    var attempts = 8
    /// Failed connections in a row before giving up.
    var connections = 3

    /// Draws the wait after the given number of failed tries, from 1.
    func delay(after attempt: Int, using random: inout some RandomNumberGenerator) -> Duration {
        let doublings = min(max(attempt - 1, 0), 20)
        let most = min(ceiling, base * (1 << doublings))
        return most * Double.random(in: 0...1, using: &random)
    }
}

/// The count of one blob's tries; a value that a loop asks what to do next.
///
/// A failed connection says nothing about the blob, so it uses up no try; it has a count of its own.
struct Attempts: Sendable, Hashable {
    private(set) var withoutProgress = 0
    private(set) var failedConnections = 0

    /// The failures since the last progress, of either kind: how far to back off.
    var inARow: Int { withoutProgress + failedConnections }

    /// Counts a try that ended: with verified bytes, with a failed connection, or with neither.
    mutating func count(progress: Bool, connectionFailed: Bool) {
        if progress { self = Attempts() }
        if connectionFailed {
            failedConnections += 1
        } else {
            withoutProgress += 1
            failedConnections = 0
        }
    }

    /// Whether the policy says to stop trying.
    func isOver(_ policy: Backoff) -> Bool {
        withoutProgress >= policy.attempts || failedConnections >= policy.connections
    }
}
