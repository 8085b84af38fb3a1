internal import SyncPlatform

/// The account that is open: its keys, its session and its server, each made when first needed.
///
/// Opening what is here needs none of them: neither the key store nor libcurl is touched.
actor OpenAccount {
    nonisolated let scope: Settings.Scope
    nonisolated let place: CatalogPlace
    nonisolated var places: AccountPlaces { place.places }
    /// Who is at the account in this process; whoever forgets it must have it alone.
    nonisolated let tenancy: Tenancy
    nonisolated let keyStore: KeyStore
    /// What all transfers of the account go through.
    nonisolated let lane: QueuedRemote.Lane
    private let configuration: EngineConfiguration
    private var knownKeys: AccountKeys?
    private var knownHTTP: HTTPRemote?
    private var watch: Task<Void, Never>?
    private var onLogout: (device: Device, run: @Sendable () async -> Void)?

    init(
        _ scope: Settings.Scope, installID: String, place: CatalogPlace,
        configuration: EngineConfiguration, tenancy: Tenancy
    ) {
        self.scope = scope
        self.place = place
        self.configuration = configuration
        self.tenancy = tenancy
        lane = QueuedRemote.Lane(
            queue: TransferQueue(limits: configuration.limits),
            gate: HostGate(clock: configuration.clock, policy: configuration.policy),
            host: scope.server)
        keyStore = KeyStore.of(
            scope.keyStore, account: scope.account, installID: installID, places: place.places)
    }

    deinit { watch?.cancel() }

    nonisolated func enter(_ operation: String) throws(SyncError) -> FileLock.Token? {
        try tenancy.enter(operation)
    }

    /// Says what is to be done when another program logs the account out.
    func setOnLogout(_ device: Device, _ run: @escaping @Sendable () async -> Void) {
        onLogout = (device, run)
    }

    /// Looks now and then whether another program has logged the account out, from the first time
    /// on that this one has something to do that takes long.
    func watchForLogout() {
        guard watch == nil, let (device, run) = onLogout else { return }
        let account = scope.account
        // Whoever waits to see a logout must not be who keeps the account's lock.
        watch = Task { [weak tenancy = self.tenancy] in
            var seen: FileFacts?
            // Real time, also in tests: it is another process that is waited for.
            while (try? await Task.sleep(for: .milliseconds(200))) != nil,
                tenancy?.isClosed == false
            {
                let facts = try? FileSystem.facts(device.places.settings)
                if facts == seen { continue }
                seen = facts
                if device.isForgotten(account) { return await run() }
            }
        }
    }

    /// The account's keys, from the key store.
    func keys() async throws(SyncError) -> AccountKeys {
        if let knownKeys { return knownKeys }
        let keys = try await SyncError.mapping("read the account's key") {
            try await Blocking.run { [keyStore] in try keyStore.accountKeys() }
        }
        knownKeys = keys
        return keys
    }

    /// Whether the key store has the account's key now; it is asked each time.
    func hasKey() async -> Bool {
        let keys = try? await Blocking.run { [keyStore] in try keyStore.accountKeys() }
        return keys != nil
    }

    /// The server, behind the gate that holds back what the host asked to wait.
    func remote() async throws(SyncError) -> any Remote {
        let remote = GatedRemote(remote: try http(), gate: lane.gate, host: lane.host)
        if let throttled {
            self.throttled = nil
            // What the host asked of a program before this one.
            if let until = await throttled() { lane.gate.hold(lane.host, untilUnix: until) }
        }
        return remote
    }

    /// When the host may be asked again, as the catalog has it; asked once, before the first request.
    private var throttled: (@Sendable () async -> Int64?)?

    func setThrottled(_ throttled: @escaping @Sendable () async -> Int64?) {
        self.throttled = throttled
    }

    /// The server for who sends, behind the same gate.
    func writer() async throws(SyncError) -> any WritableRemote {
        _ = try await remote()
        return GatedWriter(remote: try http(), gate: lane.gate, host: lane.host)
    }

    /// The server without the gate, for calls that a person waits for.
    func http() throws(SyncError) -> HTTPRemote {
        // From here on something may take long.
        watchForLogout()
        if let knownHTTP { return knownHTTP }
        let remote = try SyncError.mapping("connect") {
            var http = HTTPConfiguration(
                caFile: scope.caFile, limitRate: configuration.limitRate)
            // Room beside all thumbnails for what is more urgent; the queue sets the limit.
            http.maxConnectionsPerHost = 24
            let client = HTTPClient(configuration: http)
            let base = try HTTPURL(scope.server)
            let session = Session(
                keys: keyStore, lock: FileLock(path: places.locks + "/session"), client: client,
                base: base, stallSeconds: configuration.stallSeconds)
            return HTTPRemote(
                client: client, base: base, session: session,
                stallSeconds: configuration.stallSeconds)
        }
        knownHTTP = remote
        return remote
    }

    /// How to bring the catalog up to date; the engine says it, since a pass does not know another.
    private var pull: (@Sendable () async throws(SyncError) -> Void)?

    func setPull(_ pull: @escaping @Sendable () async throws(SyncError) -> Void) {
        self.pull = pull
    }

    func pullOnce() async throws(SyncError) {
        try await pull?()
    }

    /// The head that was verified last, as the key store has it; nil if it cannot be read.
    func verifiedHead() async -> Head? {
        let bytes = try? await Blocking.run { [keyStore] in try keyStore.read(.verifiedHead) }
        return bytes.flatMap { $0 }.flatMap { try? Head(parsing: $0.span) }
    }

    /// Keeps the verified head beside the key, so that a lost catalog cannot hide a rollback.
    func keep(_ head: Head) async throws(SyncError) {
        try await SyncError.mapping("keep the verified head") {
            try await Blocking.run { [keyStore] in
                if try keyStore.read(.verifiedHead) == head.bytes { return }
                try keyStore.write(.verifiedHead, head.bytes)
            }
        }
    }

    /// Lets go of the head that is kept beside the key: a person has decided for the server's.
    func dropVerifiedHead() async throws(SyncError) {
        try await SyncError.mapping("let the verified head go") {
            try await Blocking.run { [keyStore] in try keyStore.remove(.verifiedHead) }
        }
    }

    /// `active`, `ended` or `keyMissing`: what the key store says about the session.
    func sessionState() async -> String {
        do {
            let stored = try await Blocking.run { [keyStore] in
                (try keyStore.read(.masterKey), try keyStore.read(.session))
            }
            return stored.0 == nil ? "keyMissing" : stored.1 == nil ? "ended" : "active"
        } catch {
            return "keyMissing"
        }
    }

    /// Lets nobody in any more and drops the keys.
    func close() {
        tenancy.close()
        knownKeys = nil
        knownHTTP = nil
    }
}
