internal import SyncPlatform

/// The account that is open: its keys, its session and its server, each made when first needed.
///
/// Opening what is here needs none of them: neither the key store nor libcurl is touched.
actor OpenAccount {
    nonisolated let scope: Settings.Scope
    nonisolated let places: AccountPlaces
    nonisolated let keyStore: KeyStore
    /// What all transfers of the account go through.
    nonisolated let lane: QueuedRemote.Lane
    private let configuration: EngineConfiguration
    private var knownKeys: AccountKeys?
    private var knownRemote: GatedRemote?
    /// The account's lock, shared; whoever forgets the account must have it alone.
    private var lock: FileLock.Token?

    init(
        _ scope: Settings.Scope, installID: String, places: AccountPlaces,
        configuration: EngineConfiguration, lock: FileLock.Token?
    ) {
        self.scope = scope
        self.places = places
        self.configuration = configuration
        self.lock = lock
        lane = QueuedRemote.Lane(
            queue: TransferQueue(limits: configuration.limits),
            gate: HostGate(clock: configuration.clock, policy: configuration.policy),
            host: scope.server)
        keyStore = KeyStore.of(
            scope.keyStore, account: scope.account, installID: installID, places: places)
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

    func remote() throws(SyncError) -> any Remote {
        if let knownRemote { return knownRemote }
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
            let remote = HTTPRemote(
                client: client, base: base, session: session,
                stallSeconds: configuration.stallSeconds)
            return GatedRemote(remote: remote, gate: lane.gate, host: lane.host)
        }
        knownRemote = remote
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

    /// Whether nobody has closed it.
    func isOpen() -> Bool { lock != nil }

    /// Gives the account's lock back and drops the keys.
    func close() {
        lock = nil
        knownKeys = nil
        knownRemote = nil
    }
}
