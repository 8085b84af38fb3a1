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
        let device = try Device(configuration)
        let held = try device.lockSettings()
        defer { withExtendedLifetime(held) {} }
        var settings = try device.settingsForChange()
        let (request, base, client) = try connect(request, configuration)
        if let active = settings.scope {
            guard active.name == request.account, active.server == base.string else {
                throw SyncError(
                    .anotherAccount, "log in", "the account \(active.name) is open on this device")
            }
        }
        // Before anything else: who has no key store is told so at once, and nothing is half there.
        try await device.checkKeyStore(request.keyStore, settings)
        let login = Login(client: client, base: base, stallSeconds: configuration.stallSeconds)
        let result = try await login.run(request)
        if let active = settings.scope, active.account != result.account {
            throw SyncError(
                .mismatch, "log in", "the server has another account under the same name",
                hint: "log out first; what is on this device goes with that")
        }
        let scope = Settings.Scope(
            account: result.account, name: request.account, server: base.string,
            caFile: request.caFile, keyStore: request.keyStore)
        if settings.scope == nil, settings.forgetting[result.account] != nil,
            device.isLeft(result.account, settings)
        {
            throw Device.stillForgetting("log in")
        }
        // What was left in another key store is forgotten as soon as that one is open.
        let former = settings.scope?.keyStore ?? settings.forgetting[result.account]
        if former == nil {
            try device.mark(result.account, request.keyStore, &settings)
        } else {
            // The container too is noted before anything lies in it.
            try settings.write(device.places.settings)
        }
        let engine: SyncEngine
        do throws(SyncError) {
            try prepare(scope, result, settings, device, isNew: former == nil)
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
    static func connect(
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
        _ scope: Settings.Scope, _ result: Login.Result, _ settings: Settings, _ device: Device,
        isNew: Bool
    ) throws(SyncError) {
        let place = try device.locate(scope.account, create: true)
        defer { withExtendedLifetime(place.hold) {} }
        let places = place.places
        let keys = KeyStore.of(
            scope.keyStore, account: scope.account, installID: settings.installID, places: places)
        try SyncError.mapping("keep the account's key") {
            try Directory.make(places.locks)
            try Directory.make(places.cache)
            // One that was left behind is of another installation, and would be refused.
            if isNew { try device.removeKeyFile(places.keyFile) }
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
    /// Answers its name, and whether the server could be told. If nobody is logged in, it forgets
    /// what is left of accounts that the settings do not know any more.
    /// - Throws: `unsentChanges`, and nothing was done, if something waits to be sent, unless the
    ///   caller says that it is to be lost; `unavailable(.keyMissing)` if all is forgotten but what a
    ///   locked key store holds; `busy` if another program does not stop: the next start goes on.
    public static func logout(
        _ configuration: EngineConfiguration = EngineConfiguration(),
        discardingUnsent: Bool = false
    ) async throws(SyncError) -> (account: String, isServerTold: Bool) {
        let device = try Device(configuration)
        guard let (scope, installID) = try device.activeScope() else {
            return try await forgetLeftBehind(device)
        }
        do throws(SyncError) {
            let engine = try await open(scope, installID, device, configuration, create: false)
            return (
                engine.account, try await engine.logout(discardingUnsent: discardingUnsent)
            )
        } catch  where error.code == .notACatalog {
            let account = OpenAccount(
                scope, installID: installID,
                place: CatalogPlace(places: device.places.account(scope.account)),
                configuration: configuration, tenancy: Tenancy(nil))
            return (scope.name, try await forget(account, device))
        }
    }

    /// Forgets what is left of accounts that the settings do not know any more.
    private static func forgetLeftBehind(
        _ device: Device
    ) async throws(SyncError) -> (account: String, isServerTold: Bool) {
        let nobody = SyncError(.notLoggedIn, "log out", "nobody is logged in")
        if device.leftBehind(try device.settings()).isEmpty { throw nobody }
        let held = try device.lockSettings()
        defer { withExtendedLifetime(held) {} }
        var settings = try device.settingsForChange()
        let accounts = device.leftBehind(settings)
        guard settings.scope == nil, !accounts.isEmpty else { throw nobody }
        for account in accounts { settings.forgetting[account] = .file }
        try settings.write(device.places.settings)
        settings = try await device.forgetNow(settings)
        guard settings.forgetting.keys.allSatisfy({ !accounts.contains($0) }) else {
            throw stillInUse
        }
        return (accounts.map { "\($0)" }.sorted().joined(separator: ", "), false)
    }

    /// Forgets an account: the mark first, then the session, then what is on this device; not if a
    /// change waits in the catalog.
    static func forget(
        _ account: OpenAccount, _ device: Device, unless catalog: Catalog? = nil,
        close: () async -> Void = {}
    ) async throws(SyncError) -> Bool {
        let held = try device.lockSettings()
        defer { withExtendedLifetime(held) {} }
        var settings = try device.settingsForChange()
        let scope = account.scope
        guard settings.scope?.account == scope.account else {
            await close()
            throw Tenancy.loggedOut("log out")
        }
        // Other programs see it and stop, as this one does.
        settings = try await catalog.unlessUnsent { [settings] in
            var settings = settings
            try device.mark(scope.account, scope.keyStore, &settings)
            return settings
        }
        await close()
        let isServerTold = await endSession(try? await account.remote())
        settings = try await device.forgetNow(settings)
        guard settings.forgetting[scope.account] != nil else { return isServerTold }
        if device.isLeft(scope.account, settings) { throw stillInUse }
        throw SyncError(
            .unavailable(.keyMissing), "log out",
            "all of the account is gone but its keys, since the key store is locked or gone",
            hint: "unlock it: the next sync removes them")
    }

    private static var stillInUse: SyncError {
        SyncError(
            .busy, "log out", "the account is closed, but another program is still at its files",
            hint: "close it: the next sync removes what is left")
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
