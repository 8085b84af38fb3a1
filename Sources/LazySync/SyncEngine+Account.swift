internal import SyncPlatform

/// Logging in and out.
extension SyncEngine {
    /// Logs in and opens the account; its key goes into the key store that was asked for.
    ///
    /// Logging in again to the account that is open renews its session and keeps its catalog.
    /// Killed anywhere, nothing is half there: the next start forgets what was not finished.
    /// - Throws: `anotherAccount` if another account is open; `loginRefused`; `mismatch` if the
    ///   server lies; `unavailable(.keyMissing)` if the key store does not take the key.
    public static func login(
        _ request: LoginRequest, _ configuration: EngineConfiguration = EngineConfiguration()
    ) async throws(SyncError) -> SyncEngine {
        let device = Device(places: try configuration.places(), random: configuration.random)
        let held = try device.lockSettings()
        defer { withExtendedLifetime(held) {} }
        var settings = try device.settingsForChange()
        let (request, base, client) = try connect(request, configuration)
        if let active = settings.active {
            guard active.name == request.account, active.server == base.string else {
                throw SyncError(
                    .anotherAccount, "log in", "the account \(active.name) is open on this device")
            }
        }
        // Before anything else: who has no key store is told so at once, and nothing is half there.
        try await device.checkKeyStore(request.keyStore, settings)
        let login = Login(client: client, base: base, stallSeconds: configuration.stallSeconds)
        let result = try await login.run(request)
        if let active = settings.active, active.account != result.account {
            throw SyncError(
                .mismatch, "log in", "the server has another account under the same name",
                hint: "log out first; what is on this device goes with that")
        }
        let scope = Settings.Scope(
            account: result.account, name: request.account, server: base.string,
            caFile: request.caFile, keyStore: request.keyStore)
        // What was left in another key store is forgotten as soon as that one is open.
        let former = settings.active?.keyStore ?? settings.forgetting[result.account]
        if former == nil { try device.mark(result.account, request.keyStore, &settings) }
        let engine: SyncEngine
        do throws(SyncError) {
            try prepare(scope, result, settings, device)
            engine = try await open(scope, settings.installID, device, configuration, create: true)
        } catch {
            // If this does not work either, the next start does it.
            try? device.finishForgetting(&settings)
            throw error
        }
        settings.forgetting[result.account] = former == request.keyStore ? nil : former
        settings.active = scope
        // The step that makes it true.
        try settings.write(device.places.settings)
        try device.finishForgetting(&settings)
        try await engine.catalog.clearConditions([.signedOut, .keyMissing])
        return engine
    }

    /// Reads the address and the file of certificates, and answers with both made whole.
    private static func connect(
        _ request: LoginRequest, _ configuration: EngineConfiguration
    ) throws(SyncError) -> (request: LoginRequest, base: HTTPURL, client: HTTPClient) {
        var request = request
        if let file = request.caFile { request.caFile = try certificates(file) }
        do throws(HTTPError) {
            let server = request.server.hasSuffix("/") ? request.server : request.server + "/"
            let base = try HTTPURL(server)
            guard base.query == nil else {
                throw HTTPError(.badURL, operation: "address", detail: "a query")
            }
            let client = HTTPClient(
                configuration: HTTPConfiguration(
                    caFile: request.caFile, limitRate: configuration.limitRate))
            return (request, base, client)
        } catch {
            throw SyncError(
                .invalidInput, "log in", "not a server's address: \(error.detail)",
                hint: "use https://HOST/, or http:// for this machine alone")
        }
    }

    /// The whole path of a file of certificates; it is kept, and used from other folders later.
    private static func certificates(_ file: String) throws(SyncError) -> String {
        do {
            let path = try FileSystem.realPath(file)
            let text = String(
                decoding: try File(path, for: .read).readAll(limit: 16 << 20), as: UTF8.self)
            guard text.contains("-----BEGIN ") else {
                throw SyncError(.invalidInput, "log in", "'\(file)' holds no certificates in PEM")
            }
            return path
        } catch {
            if let error = error as? SyncError { throw error }
            throw SyncError(.invalidInput, "log in", "cannot read '\(file)': \(error)")
        }
    }

    /// Puts keys, folders and the catalog in place.
    private static func prepare(
        _ scope: Settings.Scope, _ result: Login.Result, _ settings: Settings, _ device: Device
    ) throws(SyncError) {
        let places = device.places.account(scope.account)
        let keys = KeyStore.of(
            scope.keyStore, account: scope.account, installID: settings.installID, places: places)
        try SyncError.mapping("keep the account's key") {
            try Directory.make(places.locks)
            try Directory.make(places.cache)
            try keys.write(.session, result.tokens.stored)
            var key = result.masterKey.withBytes { [UInt8](copying: $0) }
            defer { ConstantTime.wipe(&key) }
            try keys.write(.masterKey, key)
            // Back-up programs pass over a folder that says so.
            let tag = "Signature: 8a477f597d28d172789f06886806bc55\n"
            try DurableFile.write(tag.utf8Span.span, to: places.cache + "/CACHEDIR.TAG")
        }
    }

    /// Logs out the account that is open on this device, also if its catalog cannot be opened.
    ///
    /// Answers its name, and whether the server could be told.
    /// - Throws: `unavailable(.keyMissing)` if all is forgotten but what a locked key store holds.
    public static func logout(
        _ configuration: EngineConfiguration = EngineConfiguration()
    ) async throws(SyncError) -> (account: String, isServerTold: Bool) {
        let device = Device(places: try configuration.places(), random: configuration.random)
        guard let (scope, installID) = try device.activeScope() else {
            throw SyncError(.notLoggedIn, "log out", "nobody is logged in")
        }
        do throws(SyncError) {
            let engine = try await open(scope, installID, device, configuration, create: false)
            return (engine.account, try await engine.logout())
        } catch  where error.code == .notACatalog {
            let account = OpenAccount(
                scope, installID: installID, places: device.places.account(scope.account),
                configuration: configuration, lock: nil)
            let held = try device.lockSettings()
            defer { withExtendedLifetime(held) {} }
            var settings = try device.settingsForChange()
            return (scope.name, try await forget(account, device, &settings))
        }
    }

    func forget() async throws(SyncError) -> Bool {
        try requireOpen("log out")
        let held = try device.lockSettings()
        defer { withExtendedLifetime(held) {} }
        var settings = try device.settingsForChange()
        await close()
        return try await Self.forget(opened, device, &settings)
    }

    /// Forgets an account; the caller holds the settings' lock.
    private static func forget(
        _ account: OpenAccount, _ device: Device, _ settings: inout Settings
    ) async throws(SyncError) -> Bool {
        let scope = account.scope
        // Nobody may be at the account while its files go.
        let alone = try SyncError.mapping("log out") {
            try Directory.make(account.places.locks)
            return try FileLock(path: account.places.locks + "/account").tryLock(.exclusive)
        }
        guard let alone else {
            throw SyncError(
                .busy, "log out", "another program is using the account",
                hint: "close it and log out again; nothing was forgotten")
        }
        defer { withExtendedLifetime(alone) {} }
        try device.mark(scope.account, scope.keyStore, &settings)
        let isServerTold = await endSession(try? await account.remote())
        try device.finishForgetting(&settings)
        guard settings.forgetting[scope.account] == nil else {
            throw SyncError(
                .unavailable(.keyMissing), "log out",
                "all of the account is gone but its keys, since the key store is locked or gone",
                hint: "unlock it: the next sync removes them")
        }
        return isServerTold
    }

    private static func endSession(_ remote: (any Remote)?) async -> Bool {
        guard let remote else { return false }
        do throws(RemoteFailure) {
            try await remote.endSession()
            return true
        } catch {
            // A session that the server has ended already needs no telling.
            return error.reason == .signedOut
        }
    }
}
