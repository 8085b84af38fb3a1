internal import SyncPlatform

/// This device's places and settings, and the two decisions that are made of them: which account's
/// catalog is opened, and what is forgotten.
struct Device: Sendable {
    let places: Places
    let random: any RandomSource
    var reached: @Sendable (String) throws -> Void = { _ in }
    /// Told how far a catalog is on its way to a newer version.
    var migrating: @Sendable (MigrationProgress) -> Void = { _ in }
    /// How long a migration waits for other programs to close the catalog, in milliseconds.
    var patience: UInt32 = 10_000
    /// Whether catalogs live in memory, for tests.
    var keepsCatalogInMemory = false
    private let known = KnownSettings()

    init(places: Places, random: any RandomSource) {
        self.places = places
        self.random = random
    }

    init(_ configuration: EngineConfiguration) throws(SyncError) {
        self.init(places: try configuration.places(), random: configuration.random)
        reached = configuration.reached
        if let migrating = configuration.migrating { self.migrating = migrating }
        patience = configuration.patience
        keepsCatalogInMemory = configuration.keepsCatalogInMemory
    }

    /// The settings as they are now; nil if there are none.
    func settings() throws(SyncError) -> Settings? { try known.read(places.settings) }

    /// Says that nobody is logged in, and what is left of whom.
    func nobodyIsLoggedIn(_ operation: String) throws(SyncError) -> SyncError {
        let left = leftBehind(try self.settings()).sorted()
        guard let first = left.first else {
            return SyncError(.notLoggedIn, operation, "nobody is logged in")
        }
        let name = left.count == 1 ? "account \(first)" : "\(left.count) accounts"
        return SyncError(
            .notLoggedIn, operation, "nobody is logged in, and there are files of \(name) here",
            hint: "log in again to go on with them, or log out to remove them")
    }

    /// The account whose catalog is to be opened; nil if nobody is logged in.
    ///
    /// Finishes forgetting first, if a mark says that some account is to be forgotten. Launch and
    /// logout ask here, login asks `settingsForChange`; all go by `Settings.scope`.
    func activeScope() throws(SyncError) -> (scope: Settings.Scope, installID: String)? {
        var settings = try self.settings()
        if settings?.forgetting.isEmpty == false {
            let held = try lockSettings()
            defer { withExtendedLifetime(held) {} }
            settings = try settingsForChange()
        }
        guard let settings, let active = settings.scope else {
            // A login may have been killed at its first step; or one is at it right now.
            if let held = try lockSettingsUnlessHeld() {
                try clearUp()
                withExtendedLifetime(held) {}
            }
            return nil
        }
        return (active, settings.installID)
    }

    /// Reads the settings for a change, and makes them if there are none; the caller holds the
    /// lock.
    func settingsForChange() throws(SyncError) -> Settings {
        try clearUp()
        var settings: Settings
        if let known = try Settings.read(places.settings) {
            settings = known
            try finishForgetting(&settings)
        } else {
            settings = Settings(installID: Hex.encode(random.bytes(16).span))
        }
        // Before anything lies in it, so that forgetting finds it.
        if let container = places.container, !settings.containers.contains(container) {
            let facts = try SyncError.mapping("look at the container") {
                try FileSystem.facts(container)
            }
            if facts != nil { settings.containers.append(container) }
        }
        return settings
    }

    /// Removes what a write of the settings left that was killed; the caller holds the lock.
    private func clearUp() throws(SyncError) {
        try SyncError.mapping("clear up") {
            guard try FileSystem.facts(places.config) != nil else { return }
            try Directory.removeTemporaries(in: places.config)
        }
    }

    /// One process at a time changes the settings.
    func lockSettings() throws(SyncError) -> FileLock.Token {
        try SyncError.mapping("lock the settings") {
            try Directory.make(places.config)
            return try FileLock(path: places.settingsLock).lock(.exclusive)
        }
    }

    private func lockSettingsUnlessHeld() throws(SyncError) -> FileLock.Token? {
        try SyncError.mapping("lock the settings") {
            guard try FileSystem.facts(places.settingsLock) != nil else { return nil }
            return try FileLock(path: places.settingsLock).tryLock(.exclusive)
        }
    }

    /// Opens an account's catalog, where it is and at its newest version, and holds the account's
    /// lock.
    ///
    /// - Throws: `notLoggedIn` if the account is being forgotten meanwhile.
    func openCatalog(
        _ account: AccountID, create: Bool
    ) throws(SyncError) -> (catalog: Catalog, tenancy: Tenancy, place: CatalogPlace) {
        do throws(SyncError) {
            var place = try locate(account, create: create)
            let (catalog, tenancy) = try SyncError.mapping("open the catalog") {
                try openCatalog(account, at: place, create: create)
            }
            // The account's lock keeps it where it is from here on.
            place.hold = nil
            // Who waited for the lock may have waited for a logout.
            if !create, isForgotten(account) { throw Tenancy.loggedOut("open the catalog") }
            return (catalog, tenancy, place)
        } catch {
            if !create, isForgotten(account) { throw Tenancy.loggedOut("open the catalog") }
            throw error
        }
    }

    private func openCatalog(
        _ account: AccountID, at place: CatalogPlace, create: Bool
    ) throws -> (Catalog, Tenancy) {
        let places = place.places
        let lock = FileLock(path: places.locks + "/account")
        if create || keepsCatalogInMemory {
            try Directory.make(places.locks)
        } else if try FileSystem.facts(places.catalog) == nil {
            throw SyncError(
                .notACatalog, "open the catalog", "there is no catalog at \(places.catalog)",
                hint: place.flag == .containerMissing
                    ? "make the container's folder reachable, or log out and in, and restore"
                    : "log in again, and restore")
        }
        if keepsCatalogInMemory {
            let tenancy = Tenancy(try lock.lock(.shared))
            return (try Catalog.inMemory(places, account, tenancy: tenancy), tenancy)
        }
        var migrator = Migrator()
        migrator.isReadOnly = place.isReadOnly
        migrator.progress = migrating
        do {
            if let opened = try open(places, create ? account : nil, migrator, lock) {
                return opened
            }
            // Each round waits out whoever migrates, and gives who only reads a moment to close.
            let round: UInt32 = 250
            for _ in 0...patience / round {
                if let held = try lock.lock(.exclusive, within: round) {
                    defer { withExtendedLifetime(held) {} }
                    _ = try Catalog.open(
                        places, create: create ? account : nil, isExclusive: true,
                        migrator: migrator)
                }
                if let opened = try open(places, nil, migrator, lock) { return opened }
            }
        } catch let error as SQLiteError {
            throw SyncError("open the catalog", error, at: places.catalog)
        }
        throw SyncError(
            .busy, "bring the catalog to a newer version",
            "another program has the older one open",
            hint: "close it and start again; until then it goes on with the older version")
    }

    /// Opens the catalog as it is; nil if it has to be brought to a newer version first.
    private func open(
        _ places: AccountPlaces, _ account: AccountID?, _ migrator: Migrator, _ lock: FileLock
    ) throws -> (Catalog, Tenancy)? {
        do {
            let tenancy = Tenancy(try lock.lock(.shared))
            // An import has the lock alone, so what is there is of one that was killed.
            try places.clearUpImport()
            let catalog = try Catalog.open(
                places, create: account, isExclusive: false, migrator: migrator, tenancy: tenancy,
                reached: reached)
            return (catalog, tenancy)
        } catch is Migrator.NeedsExclusiveLock {
            return nil
        }
    }
}
