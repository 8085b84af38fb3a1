internal import SyncPlatform

/// Both ways in one: once, or for as long as somebody wants.
extension SyncEngine {
    /// Brings here what others changed, and sends what was changed here.
    ///
    /// - Throws: as `restore` and `push`.
    public func run(
        thumbnails: Bool = true, restoring: (@Sendable (RestoreProgress) -> Void)? = nil,
        pushing: (@Sendable (PushProgress) -> Void)? = nil
    ) async throws(SyncError) -> RunReport {
        try await working("run") { () async throws(SyncError) in
            let restore = try await self.restoreHere(thumbnails: thumbnails, progress: restoring)
            let push = try await self.pushHere(asksAgain: true, pushing)
            return RunReport(restore: restore, push: push)
        }
    }

    /// Stays: brings what others change as soon as they have, and sends what is changed here, by
    /// this program or another.
    ///
    /// What may pass by itself is waited for, longer each time. It ends when its task is cancelled,
    /// without an error, and when nothing more can be done without a person.
    /// - Throws: `mismatch`, `tooManyDeletions`, `notLoggedIn`, `unavailable(.signedOut)`,
    ///   `.keyMissing`, `newerCatalog`, `storage`.
    public func watch(
        _ tell: @escaping @Sendable (WatchEvent) -> Void = { _ in }
    ) async throws(SyncError) {
        do throws(SyncError) {
            try await working("watch") { () async throws(SyncError) in
                try await self.watchHere(tell)
            }
        } catch {
            guard error.code == .cancelled else { throw error }
        }
    }

    private func watchHere(_ tell: @escaping @Sendable (WatchEvent) -> Void) async throws(SyncError)
    {
        var failures = 0
        while true {
            do throws(SyncError) {
                // Before, so that a change during the work is seen after it.
                let mark = try await catalog.changeMark()
                let restore = try await restoreHere(thumbnails: true, progress: nil)
                let push = try await pushHere(asksAgain: false, nil)
                tell(.done(RunReport(restore: restore, push: push)))
                try await waitForChange(since: push.waiting == 0 ? .none : mark)
                failures = 0
            } catch {
                guard error.isTransient else { throw error }
                failures += 1
                tell(.failed(error))
                let delay = configuration.clock.jitter(configuration.policy, after: failures)
                let asked = Duration.seconds(error.retryAfter ?? 0)
                try await SyncError.mapping("watch") {
                    try await configuration.clock.wait(max(delay, asked))
                }
            }
        }
    }

    /// How long the server is asked to keep a call that waits for a head, in seconds.
    private static let headWait = 50
    /// How often other programs' changes are looked for.
    private static let look: Duration = .seconds(1)

    /// Waits until the server has another head, something was changed here, or what was refused is
    /// to be sent again.
    private func waitForChange(since mark: ChangeMark) async throws(SyncError) {
        let (catalog, clock) = (catalog, configuration.clock)
        // Whatever the server says, no round follows another at once.
        try await SyncError.mapping("watch") { try await clock.wait(Self.look) }
        let seq = try await catalog.cursor().after
        let before = try await catalog.changeMark()
        // Something came in while the last push was under way.
        if mark != before { return }
        let due = try await catalog.nextUpload()
        let remote = try await opened.writer()
        try await SyncError.mapping("watch") {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    while try await remote.head(after: seq, wait: Self.headWait) == nil {
                        try await clock.wait(Self.look)
                    }
                }
                group.addTask {
                    var seen: Int64?
                    while true {
                        // The mark walks over all that waits: only if anything was written at all.
                        let now = try await catalog.dataVersion()
                        if now != seen, try await catalog.changeMark() != before { return }
                        seen = now
                        if let due, due <= clock.now { return }
                        try await clock.wait(Self.look)
                    }
                }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }
}
