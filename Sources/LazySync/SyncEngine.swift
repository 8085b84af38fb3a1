internal import SyncPlatform

/// One account on this device: its list, its thumbnails, and any bytes the moment they are opened.
///
/// ```swift
/// let engine = try await SyncEngine.open()
/// let report = try await engine.restore()
/// print("\(report.attachments) attachments, \(report.addressesMissing) without an address")
///
/// let newest = try await engine.attachments(AttachmentQuery(type: "image", limit: 50))
/// if let photo = newest.first {
///     let file = try await engine.materialize(photo.key)
///     print(file.path)
/// }
/// ```
public actor SyncEngine {
    let configuration: EngineConfiguration
    let device: Device
    let opened: OpenAccount
    let catalog: Catalog
    let materializer: Materializer
    let thumbnails: ThumbnailStore
    nonisolated let broadcast: Broadcast
    nonisolated let schedule: RetrySchedule
    let desk = ThumbnailDesk()
    let looks = RecentLooks()
    var pulling: Task<Void, any Error>?
    var reads: [ReadKey: WeakReads] = [:]
    /// How to end what is going on, by numbers of its own.
    var works: [Int: @Sendable () -> Void] = [:]
    var workCount = 0
    /// The settings as they were when they were last looked at.
    var seenSettings: FileFacts?

    /// The account's name.
    public nonisolated var account: String { opened.scope.name }
    /// The server's address.
    public nonisolated var server: String { opened.scope.server }

    /// Opens the account that is logged in on this device.
    ///
    /// - Throws: `notLoggedIn`; `newerCatalog` and `notACatalog` with the file untouched; `storage`.
    public static func open(
        _ configuration: EngineConfiguration = EngineConfiguration()
    ) async throws(SyncError) -> SyncEngine {
        let device = try Device(configuration)
        guard let (scope, installID) = try device.activeScope() else {
            throw try device.nobodyIsLoggedIn("open the account")
        }
        return try await open(scope, installID, device, configuration, create: false)
    }

    static func open(
        _ scope: Settings.Scope, _ installID: String, _ device: Device,
        _ configuration: EngineConfiguration, create: Bool
    ) async throws(SyncError) -> SyncEngine {
        let configuration = configuration.telling
        // It may wait for other programs, or change all of the catalog.
        let (catalog, tenancy, place) = try await SyncError.mapping("open the account") {
            try await Blocking.run { try device.openCatalog(scope.account, create: create) }
        }
        let account = OpenAccount(
            scope, installID: installID, place: place, configuration: configuration,
            tenancy: tenancy)
        let engine = SyncEngine(account, catalog, device, configuration)
        await account.setPull { [weak engine] () async throws(SyncError) in
            try await engine?.pullOnce()
        }
        await account.setThrottled { [weak catalog] in
            try? await catalog?.conditions()[.throttled]?.nextAttempt?.seconds
        }
        await account.setOnLogout(device) { [weak engine] in await engine?.close() }
        return engine
    }

    private init(
        _ account: OpenAccount, _ catalog: Catalog, _ device: Device,
        _ configuration: EngineConfiguration
    ) {
        opened = account
        self.catalog = catalog
        self.device = device
        self.configuration = configuration
        let broadcast = Broadcast()
        self.broadcast = broadcast
        thumbnails = ThumbnailStore(folder: account.places.thumbnails)
        let schedule = RetrySchedule(policy: configuration.policy, clock: configuration.clock)
        self.schedule = schedule
        materializer = Materializer(
            account: account.scope.account, catalog: catalog, places: account.places,
            access: account, lane: account.lane, schedule: schedule, policy: configuration.policy,
            clock: configuration.clock
        ) { key, state, bytes in
            broadcast.send(.attachment(key, state, bytes: bytes))
        }
    }

    /// Changes as they happen, for a list that updates itself.
    ///
    /// Nothing that happened before is sent: ask for the page first, then listen.
    public nonisolated func changes() -> AsyncStream<StateChange> {
        Task { [opened] in await opened.watchForLogout() }
        return broadcast.stream()
    }

    /// Brings the catalog up to date: addresses only, and then thumbnails, newest first.
    ///
    /// Run again it goes on where it was, and fetches only what changed. A report says what is
    /// here; `isComplete` is false if something is missing.
    /// - Throws: `unavailable` for what kept the manifest from coming, `mismatch` if the server's
    ///   answers do not add up, `tooManyDeletions` if a person should decide. What was stored stays.
    public func restore(
        thumbnails: Bool = true, progress: (@Sendable (RestoreProgress) -> Void)? = nil
    ) async throws(SyncError) -> RestoreReport {
        try await working("restore") { () async throws(SyncError) in
            try await self.restoreHere(thumbnails: thumbnails, progress: progress)
        }
    }

    func restoreHere(
        thumbnails: Bool, progress: (@Sendable (RestoreProgress) -> Void)?
    ) async throws(SyncError) -> RestoreReport {
        let clock = ContinuousClock()
        let start = clock.now
        await noticePurge()
        let pull = try await pull(progress)
        var report = RestoreReport()
        report.bytes = pull.bytes
        if thumbnails { report.bytes += try await fetchThumbnails(progress) }
        // Where nothing was stored there is nothing to carry over.
        if pull.entries > 0 || report.bytes > pull.bytes { try await catalog.settle() }
        try await count(&report)
        // What a lost connection kept from coming is still due, and as much missing as what failed.
        if thumbnails {
            report.thumbnailsFailed += try await catalog.tallies()[.thumbnailsDue] ?? 0
        }
        report.head = pull.head?.seq ?? 0
        report.verified = true
        report.seconds = start.duration(to: clock.now) / .seconds(1)
        if pull.heldDeletions > 0 {
            throw SyncError(
                .tooManyDeletions, "restore",
                "the account's head removes \(pull.heldDeletions) items at once; they are still here"
            )
        }
        return report
    }

    /// Forgets the session, the scope, and everything of the account on this device.
    ///
    /// Answers whether the server could be told; if not, its session lives on there.
    /// - Throws: `unsentChanges`, and nothing was done, if something waits to be sent, unless the
    ///   caller says that it is to be lost.
    public func logout(discardingUnsent: Bool = false) async throws(SyncError) -> Bool {
        try requireOpen("log out")
        return try await Self.forget(
            opened, device, unless: discardingUnsent ? nil : catalog
        ) { await self.close() }
    }

    // MARK: Pulling

    /// Brings the catalog up to date once, for all who ask at the same time.
    func pullOnce() async throws(SyncError) {
        let task =
            pulling
            ?? Task {
                defer { pulling = nil }
                _ = try await self.pull(nil)
            }
        pulling = task
        try await SyncError.mapping("bring the catalog up to date") { try await task.value }
    }

    func pull(
        _ progress: (@Sendable (RestoreProgress) -> Void)?
    ) async throws(SyncError) -> RestorePass.Outcome {
        do throws(SyncError) {
            let tenant = try opened.enter("bring the catalog up to date")
            defer { withExtendedLifetime(tenant) {} }
            let held = try await lockPulls()
            defer { withExtendedLifetime(held) {} }
            var pass = RestorePass(
                account: opened.scope.account, keys: try await accountKeys(), catalog: catalog,
                remote: try await opened.remote(), policy: configuration.policy,
                clock: configuration.clock, random: configuration.random)
            // Once a person has decided for the server's account, no head is too low.
            if try await !catalog.isTrusting() {
                pass.floor = Head.newer(
                    await opened.verifiedHead(),
                    try await catalog.authenticImportedHead(opened.scope.account, pass.keys))
            }
            pass.paging = configuration.paging
            if let progress {
                pass.progress = { done, total in
                    progress(RestoreProgress(phase: .addresses, done: done, total: total, bytes: 0))
                }
            }
            let outcome = try await pass.run()
            if let head = outcome.head { try await opened.keep(head) }
            try await catalog.emptyOthersTrash(
                before: configuration.clock.now - TidyPass.trashSeconds)
            try await Sweep(catalog: catalog, places: opened.places).run()
            try await catalog.clearConditions([
                .offline, .throttled, .signedOut, .keyMissing, .diskFull,
            ])
            if outcome.entries > 0 { broadcast.send(.catalog) }
            return outcome
        } catch {
            // A disk too full for this note must not hide what it was about.
            _ = try? await note(error)
            throw error
        }
    }

    /// The account's key, if it opens what it opened before.
    func accountKeys() async throws(SyncError) -> AccountKeys {
        let keys = try await opened.keys()
        // What came from a file proves nothing about a key.
        guard try await !catalog.isImported() else { return keys }
        let rows = try await catalog.attachments(after: .start, type: nil, limit: 8)
        guard let row = rows.first(where: { $0.ref != nil }), let ref = row.ref else { return keys }
        // Every address in the catalog unwrapped when it came.
        var opener = RefOpener(keys: keys, account: opened.scope.account)
        let isOurs = opener.isValid(
            ref.packed.span, entry: row.key.item, attachment: row.key.id, role: .original)
        guard isOurs else { throw SyncError.anotherKey("read the account's key") }
        return keys
    }

    /// Keeps other pulls, and whoever sends entries, away from the manifest.
    func lockPulls() async throws(SyncError) -> FileLock.Token {
        try await lock("outbox", "wait for another restore")
    }

    func lock(_ name: String, _ operation: String) async throws(SyncError) -> FileLock.Token {
        let path = opened.places.locks + "/" + name
        return try await SyncError.mapping(operation) {
            try await Blocking.run { try FileLock(path: path).lock(.exclusive) }
        }
    }

    /// Keeps a reason that belongs to the device, the host or the account; false if it is no such.
    func note(_ error: SyncError) async throws(SyncError) -> Bool {
        guard case .unavailable(let reason) = error.code, reason.isShared else { return false }
        let now = configuration.clock.now
        var evidence = error.failure?.evidence ?? Evidence()
        evidence.lastAttempt = Timestamp(seconds: now)
        evidence.nextAttempt = error.failure?.nextAttempt(after: now)
        try await catalog.setCondition(reason, evidence)
        return true
    }

    private func count(_ report: inout RestoreReport) async throws(SyncError) {
        let tallies = try await catalog.tallies()
        func count(_ name: Tally.Name) -> Int { tallies[name] ?? 0 }
        report.items = count(.items)
        report.attachments = count(.attachments)
        report.addressesComplete = count(.addressesComplete)
        report.addressesMissing = count(.addressesMissing)
        report.thumbnailsHere = count(.thumbnailsHere)
        report.thumbnailsFailed = count(.thumbnailsFailed)
        report.unreadable = try await catalog.unreadable()
    }
}

extension OpenAccount: Materializer.AccountAccess {}
