internal import SyncPlatform

/// Sending what was changed here, and what a person decides when the server does not add up.
extension SyncEngine {
    /// Sends every change that waits; first what others sent is brought here and merged.
    ///
    /// A report says what went and what the server did not take; `isComplete` is false if something
    /// still waits.
    /// - Throws: `unavailable` for what kept everything from being sent, `mismatch` if the server's
    ///   answers do not add up: then nothing is sent until a person decides.
    public func push(
        progress: (@Sendable (PushProgress) -> Void)? = nil
    ) async throws(SyncError) -> PushReport {
        try await working("push") { () async throws(SyncError) in
            try await self.pushHere(asksAgain: true, progress)
        }
    }

    func pushHere(
        asksAgain: Bool, _ progress: (@Sendable (PushProgress) -> Void)?
    ) async throws(SyncError) -> PushReport {
        let clock = ContinuousClock()
        let start = clock.now
        do throws(SyncError) {
            // One push at a time, so that no blob is sent twice; pulls may go on meanwhile.
            let held = try await lock("push", "wait for another push")
            defer { withExtendedLifetime(held) {} }
            var pass = PushPass(
                account: opened.scope.account, keys: try await accountKeys(), catalog: catalog,
                places: opened.places, remote: try await opened.writer(),
                policy: configuration.policy, clock: configuration.clock,
                random: configuration.random, hooks: pushHooks)
            pass.asksAgain = asksAgain
            if let progress { pass.progress = progress }
            var report = try await pass.run()
            try await catalog.sweepSpool(Spool(opened.places))
            if report.items > 0 { broadcast.send(.catalog) }
            // What cannot be deleted at the store now can be later.
            _ = try? await tidy()
            report.seconds = start.duration(to: clock.now) / .seconds(1)
            return report
        } catch {
            _ = try? await note(error)
            throw error
        }
    }

    /// Deletes at the store what is due; how much that was.
    func tidy() async throws(SyncError) -> Int {
        // Nobody waits for it: it is tried once, and again with a later push.
        var policy = configuration.policy
        (policy.attempts, policy.connections, policy.ceiling) = (1, 1, .seconds(1))
        let pass = TidyPass(
            catalog: catalog, remote: try await opened.writer(), policy: policy,
            clock: configuration.clock, random: configuration.random
        ) { [weak self] () async throws(SyncError) in
            try await self?.pull(nil).entries ?? 0
        }
        let deleted = try await pass.run()
        try await sweepDropped()
        return deleted
    }

    private var pushHooks: PushPass.Hooks {
        PushPass.Hooks(
            pull: { [weak self] () async throws(SyncError) in try await self?.pullOnce() },
            lock: { [weak self] () async throws(SyncError) in
                guard let self else { throw Tenancy.loggedOut("push") }
                return try await self.lockPulls()
            },
            keepHead: { [opened] head async throws(SyncError) in try await opened.keep(head) },
            keep: { [weak self] rows in await self?.keepPinned(rows) },
            changed: { [weak self, broadcast] key in
                if broadcast.isHeard { Task { await self?.tell(key) } }
            },
            bytes: { [weak self] key async throws(SyncError) in
                try await self?.cachedFile(key)
            },
            reached: configuration.reached)
    }

    /// Takes what is pinned out of the spool into the cache, before the spool lets it go.
    private func keepPinned(_ rows: [Int64]) async {
        for key in (try? await catalog.pinnedUploads(of: rows)) ?? [] {
            // What does not fit now comes when what is pinned is kept again.
            _ = try? await materializer.file(key, handsOut: false, priority: .background)
        }
    }

    /// The file of an attachment whose bytes are here.
    private func cachedFile(_ key: AttachmentKey) async throws(SyncError) -> File? {
        guard let row = try await catalog.attachment(key), let ref = row.ref,
            let path = try await materializer.here(row, ref)
        else { return nil }
        return try? File(path, for: .read)
    }

    /// Tells of an attachment whose upload begins or ends.
    private func tell(_ key: AttachmentKey) async {
        guard let row = try? await catalog.attachment(key),
            let attachment = try? await states(of: [row]).first
        else { return }
        broadcast.send(.attachment(key, attachment.state, bytes: attachment.size))
    }

    // MARK: A person's decisions

    /// Takes the server's account as it is now, whatever was verified before: everything is read
    /// again from the beginning.
    ///
    /// The server's versions replace those that are here, also with lower ones; what only this
    /// device has is kept, and waits to be sent. Killed in between, the next restore goes on.
    /// - Throws: as `restore`; `mismatch` if the server's answers do not add up in themselves.
    public func trustServer(
        progress: (@Sendable (RestoreProgress) -> Void)? = nil
    ) async throws(SyncError) -> RestoreReport {
        try await working("trust") { () async throws(SyncError) in
            try await self.beginTrusting()
            return try await self.restoreHere(thumbnails: true, progress: progress)
        }
    }

    private func beginTrusting() async throws(SyncError) {
        // It goes with this function, before the restore wants it.
        let held = try await lockPulls()
        defer { withExtendedLifetime(held) {} }
        // Only a server that can be asked, and with the account's key: what fails has no effect.
        _ = try await accountKeys()
        try await SyncError.mapping("trust") { [writer = try await opened.writer()] in
            _ = try await writer.head(after: 0, wait: 0)
        }
        // Killed in between, the catalog still has its own, and the person decides again.
        try await opened.dropVerifiedHead()
        try reached("head dropped")
        try await catalog.beginTrusting()
        try reached("distrusted")
    }

    private func reached(_ point: String) throws(SyncError) {
        try SyncError.mapping("trust") { try configuration.reached(point) }
    }

    /// Carries out the removals that are held because there are more than a person would expect.
    ///
    /// Answers how many items went, into the trash.
    public func carryOutDeletions() async throws(SyncError) -> Int {
        let count = try await decide("carry out deletions") { store in try store.deleteBuried() }
        try await sweepDropped()
        return count
    }

    /// Keeps the items whose removal is held: they are written live again with the next push.
    ///
    /// Answers how many they are.
    public func keepDeleted() async throws(SyncError) -> Int {
        try await decide("keep what is to be deleted") { store in try store.overruleBuried() }
    }

    private func decide(
        _ operation: String, _ body: @escaping @Sendable (inout EntryStore) throws -> Int
    ) async throws(SyncError) -> Int {
        try await working(operation) { () async throws(SyncError) in
            let held = try await self.lockPulls()
            defer { withExtendedLifetime(held) {} }
            return try await self.change(operation, body)
        }
    }
}
