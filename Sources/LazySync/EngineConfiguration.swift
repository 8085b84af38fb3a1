internal import SyncPlatform

/// Where an engine keeps its files and how it talks; the defaults are right for a device.
public struct EngineConfiguration: Sendable {
    /// One folder for all files; nil for the user's XDG places.
    public var home: String?
    /// The folder that several programs of one user share; nil for what `SYNC_CONTAINER` names.
    ///
    /// `home` wins over it. The catalog moves there once, with all that belongs to it; one whose
    /// folder is not there is no reason to stop.
    public var container: String?
    /// The most bytes a second that come in, for all transfers together; nil for no limit.
    public var limitRate: Int?
    /// Told how far the catalog is, if the first start of a newer version has to change it.
    public var migrating: (@Sendable (MigrationProgress) -> Void)?
    /// Told of each wait before the server is asked again, when it begins.
    public var waiting: (@Sendable (TransferWait) -> Void)?
    /// Whether the catalog lives in memory and goes with the engine: for an app's own tests.
    ///
    /// It behaves as one in a file does; it is empty whenever the account is opened, and a restore
    /// fills it. Keys, settings and the cache are where they always are.
    public var keepsCatalogInMemory = false

    // Chance, time and patience, handed in so that tests can repeat a run.
    var random: any RandomSource = SystemRandom()
    var clock: any WaitingClock = SystemClock()
    var policy = Backoff()
    var stallSeconds = 60.0
    /// How long a migration waits for other programs to close the catalog, in milliseconds.
    var patience: UInt32 = 10_000
    var paging = RestorePass.Paging()
    /// Stands in for the cache's own room.
    var readingRoom: ReadingRoom?
    var limits = TransferQueue.Limits()
    /// Makes the small picture of a photo that is added; nil if it is none, or cannot be read.
    var thumbnail: @Sendable (File) -> [UInt8]? = { ImageScaler().thumbnail(of: $0) }
    var environment: @Sendable (String) -> String? = System.environment
    /// Called at each step of a move of the catalog and of a push, and before and after each commit:
    /// the points at which a test may want to end the process.
    var reached: @Sendable (String) throws -> Void = { _ in }

    /// Uses the given home, or the user's own places.
    public init(home: String? = nil) {
        self.home = home
    }

    /// The same, with a clock that tells of its waits if somebody wants to know.
    var telling: EngineConfiguration {
        var copy = self
        copy.waiting = nil
        if let waiting { copy.clock = TellingClock(clock: clock, tell: waiting) }
        return copy
    }

    func places() throws(SyncError) -> Places {
        guard let home else {
            var places = try Places(environment: environment)
            if let named = container ?? environment("SYNC_CONTAINER") {
                // What is not there has no real path yet.
                places.container = (try? FileSystem.realPath(named)) ?? named
            }
            return places
        }
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
