/// Waiting between two tries: for a time of one's own, or for the host.
extension Attempts {
    /// Counts a failed call, and waits before the next try.
    ///
    /// - Throws: The failure, if it is not worth another try.
    mutating func wait(
        after failure: RemoteFailure, _ policy: Backoff, _ clock: any WaitingClock
    ) async throws {
        count(progress: false, connectionFailed: failure.isConnection)
        guard failure.next != .never, failure.code != Problem.cursorExpired, !isOver(policy) else {
            throw failure
        }
        try await pause(after: failure, policy, clock)
    }

    /// Waits as long as a failure makes necessary; a second look is taken at once.
    ///
    /// What the host asked for is waited for at its gate, by the next request, this one's and all
    /// others: there a person's word ends the wait.
    /// - Throws: The failure, if the host asked for longer than a try may wait.
    func pause(
        after failure: RemoteFailure, _ policy: Backoff, _ clock: any WaitingClock
    ) async throws {
        if let seconds = failure.retryAfter {
            guard Duration.seconds(seconds) <= policy.ceiling else { throw failure }
        } else if failure.next == .later {
            try await clock.wait(clock.jitter(policy, after: inARow), because: failure.reason)
        }
    }
}

extension Backoff {
    /// Makes a call until it is answered, as often as this policy allows.
    ///
    /// - Throws: The last failure; `CancellationError`.
    func retrying<Answer>(
        _ clock: any WaitingClock, _ call: () async throws(RemoteFailure) -> Answer
    ) async throws -> Answer {
        var attempts = Attempts()
        while true {
            do throws(RemoteFailure) {
                return try await call()
            } catch {
                try await attempts.wait(after: error, self, clock)
            }
        }
    }
}
