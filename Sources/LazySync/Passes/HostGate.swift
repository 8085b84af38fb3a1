internal import SyncPlatform

/// Holds back all requests to a host that asked to wait, whoever it was told to.
///
/// Time is the clock's monotonic one: a wait does not end sooner because somebody set the watch.
final class HostGate: Sendable {
    private let clock: any WaitingClock
    /// Longer waits are not waited for.
    private let longest: Duration
    private let state = Locked(State())

    private struct State {
        var holds: [String: Hold] = [:]
        /// What those do who wait now, by a number of their own.
        var sleepers: [Int: Task<Void, any Error>] = [:]
        var count = 0
    }

    private struct Hold: Sendable {
        var until: Duration
        var status: Int?
        var code: String?
    }

    init(clock: any WaitingClock, policy: Backoff) {
        self.clock = clock
        longest = policy.ceiling
    }

    /// Whether requests may go out at this moment.
    func isOpen(_ host: String) -> Bool { hold(host) == nil }

    /// Waits until requests may go out.
    ///
    /// - Throws: `throttled` with the time that is left, at once, if that is longer than a try may
    ///   wait.
    func pass(_ host: String) async throws(RemoteFailure) {
        while let held = hold(host) {
            let left = held.until - clock.instant
            guard left <= longest else { throw Self.throttled(held, left) }
            await sleep(left, host)
            if Task.isCancelled { throw .cancelled() }
        }
    }

    /// Sleeps until the time is over, the task is cancelled, or somebody opens the gate.
    private func sleep(_ duration: Duration, _ host: String) async {
        let sleeper = Task { [clock] in try await clock.wait(duration, because: .throttled) }
        let number = state.withLock { state in
            state.count += 1
            state.sleepers[state.count] = sleeper
            return state.count
        }
        // Whoever opened it just before could not know of this one.
        if isOpen(host) { sleeper.cancel() }
        await withTaskCancellationHandler {
            _ = await sleeper.result
        } onCancel: {
            sleeper.cancel()
        }
        state.withLock { $0.sleepers[number] = nil }
    }

    /// Takes note of a failure: if the host asked to wait, everybody waits.
    func learn(_ failure: RemoteFailure, from host: String) {
        guard failure.reason == .throttled, !failure.isUnsent,
            let seconds = failure.retryAfter, seconds > 0
        else { return }
        let until = clock.instant + .seconds(seconds)
        state.withLock { state in
            guard until > state.holds[host]?.until ?? .zero else { return }
            state.holds[host] = Hold(until: until, status: failure.status, code: failure.code)
        }
    }

    /// Holds requests back until a time of the day that was noted when the host asked for it.
    ///
    /// The watch may have been set since: an hour at the most, which is as long as a host may ask.
    func hold(_ host: String, untilUnix time: Int64) {
        let left = min(time - clock.now, Problem.longestWait)
        guard left > 0 else { return }
        let until = clock.instant + .seconds(left)
        state.withLock { state in
            guard until > state.holds[host]?.until ?? .zero else { return }
            state.holds[host] = Hold(until: until)
        }
    }

    /// Lets requests out again, also those that wait: a person's word counts more than a host's.
    func open(_ host: String) {
        let sleepers = state.withLock { state in
            guard state.holds.removeValue(forKey: host) != nil else {
                return [Task<Void, any Error>]()
            }
            return Array(state.sleepers.values)
        }
        // Those of another host look at their own time again.
        for sleeper in sleepers { sleeper.cancel() }
    }

    private func hold(_ host: String) -> Hold? {
        let now = clock.instant
        return state.withLock { state in
            if let hold = state.holds[host], hold.until <= now { state.holds[host] = nil }
            return state.holds[host]
        }
    }

    private static func throttled(_ hold: Hold, _ left: Duration) -> RemoteFailure {
        var failure = RemoteFailure(
            .throttled, "the server asked to wait", status: hold.status, code: hold.code)
        let (seconds, rest) = left.components
        failure.retryAfter = seconds + (rest > 0 ? 1 : 0)
        failure.isUnsent = true
        return failure
    }
}

/// The server behind its gate: no call goes out while the host asked to wait.
struct GatedRemote: Remote {
    let remote: any Remote
    let gate: HostGate
    let host: String

    func manifestPage(
        after: UInt64, page: String?, limit: Int
    ) async throws(RemoteFailure) -> ManifestPage {
        try await gate.passing(host) { () async throws(RemoteFailure) in
            try await remote.manifestPage(after: after, page: page, limit: limit)
        }
    }

    func entries(_ ids: [EntryID]) async throws(RemoteFailure) -> ManifestPage {
        try await gate.passing(host) { () async throws(RemoteFailure) in
            try await remote.entries(ids)
        }
    }

    func blob(
        _ request: BlobRequest, into sink: any HTTPSink
    ) async throws(RemoteFailure) -> HTTPHead {
        try await gate.passing(host) { () async throws(RemoteFailure) in
            try await remote.blob(request, into: sink)
        }
    }

    /// Says goodbye whatever the host asked for: nothing comes after it.
    func endSession() async throws(RemoteFailure) {
        try await remote.endSession()
    }
}

extension HostGate {
    /// Sends when requests may go out, and takes note of what the host says.
    func passing<Result>(
        _ host: String, _ send: () async throws(RemoteFailure) -> Result
    ) async throws(RemoteFailure) -> Result {
        try await pass(host)
        do throws(RemoteFailure) {
            return try await send()
        } catch {
            learn(error, from: host)
            throw error
        }
    }
}
