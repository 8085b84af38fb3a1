internal import SyncPlatform

/// Where an engine keeps its files and how it talks; the defaults are right for a device.
public struct EngineConfiguration: Sendable {
    /// One folder for all files; nil for the user's XDG places.
    public var home: String?
    /// The most bytes a second that come in, for all transfers together; nil for no limit.
    public var limitRate: Int?

    // Chance, time and patience, handed in so that tests can repeat a run.
    var random: any RandomSource = SystemRandom()
    var clock: any WaitingClock = SystemClock()
    var policy = Backoff()
    var stallSeconds = 60.0
    var paging = RestorePass.Paging()
    /// Stands in for the cache's own room.
    var readingRoom: ReadingRoom?
    var limits = TransferQueue.Limits()

    /// Uses the given home, or the user's own places.
    public init(home: String? = nil) {
        self.home = home
    }

    func places() throws(SyncError) -> Places {
        guard let home else { return try Places(environment: System.environment) }
        guard !home.isEmpty else {
            throw SyncError(.invalidInput, "open the home", "the home's path is empty")
        }
        return try SyncError.mapping("open the home") {
            try Directory.make(home)
            return Places(home: try FileSystem.realPath(home))
        }
    }
}

/// The machine's clocks.
struct SystemClock: WaitingClock {
    func wait(_ duration: Duration) async throws {
        try await Task.sleep(for: duration, clock: .continuous)
    }

    private static let start = ContinuousClock.now

    var instant: Duration { Self.start.duration(to: .now) }

    var now: Int64 { System.wallClockSeconds }

    func jitter(_ policy: Backoff, after attempt: Int) -> Duration {
        var random = SystemRandomNumberGenerator()
        return policy.delay(after: attempt, using: &random)
    }
}
