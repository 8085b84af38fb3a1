internal import SyncPlatform

/// This device's places and settings, and the two decisions that are made of them: which account's
/// catalog is opened, and what is forgotten.
struct Device: Sendable {
    let places: Places
    let random: any RandomSource

    /// The account whose catalog is to be opened; nil if nobody is logged in.
    ///
    /// Finishes forgetting first, if a mark says that some account is to be forgotten.
    func activeScope() throws(SyncError) -> (scope: Settings.Scope, installID: String)? {
        var settings = try Settings.read(places.settings)
        if settings?.forgetting.isEmpty == false {
            let held = try lockSettings()
            defer { withExtendedLifetime(held) {} }
            settings = try settingsForChange()
        }
        guard let settings, let active = settings.active else {
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
        if var settings = try Settings.read(places.settings) {
            try finishForgetting(&settings)
            return settings
        }
        return Settings(installID: Hex.encode(random.bytes(16).span))
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

    /// Opens an account's catalog, at its newest version, and holds the account's lock.
    func openCatalog(
        _ account: AccountID, create: Bool
    ) throws(SyncError) -> (catalog: Catalog, lock: FileLock.Token) {
        let places = places.account(account)
        return try SyncError.mapping("open the catalog") {
            let lock = FileLock(path: places.locks + "/account")
            if create {
                try Directory.make(places.locks)
            } else if try FileSystem.facts(places.catalog) == nil {
                throw SyncError(
                    .notACatalog, "open the catalog", "there is no catalog at \(places.catalog)",
                    hint: "log in again, and restore")
            }
            do {
                let held = try lock.lock(.shared)
                // An import has the lock alone, so what is there is of one that was killed.
                try places.clearUpImport()
                let catalog = try Catalog.open(
                    places, create: create ? account : nil, isExclusive: false)
                return (catalog, held)
            } catch is Migrator.NeedsExclusiveLock {
                try migrate(places, account, create: create, lock)
                let held = try lock.lock(.shared)
                return (try Catalog.open(places, isExclusive: false), held)
            } catch let error as SQLiteError {
                throw SyncError("open the catalog", error, at: places.catalog)
            }
        }
    }

    private func migrate(
        _ places: AccountPlaces, _ account: AccountID, create: Bool, _ lock: FileLock
    ) throws {
        let held = try lock.lock(.exclusive)
        defer { withExtendedLifetime(held) {} }
        _ = try Catalog.open(places, create: create ? account : nil, isExclusive: true)
    }

    // MARK: Forgetting

    /// Removes everything of the accounts that are marked; the mark goes last.
    ///
    /// A key store that is locked or gone keeps its items, and the mark stays for them alone. So it
    /// does if the same account is open again with another key store.
    func finishForgetting(_ settings: inout Settings) throws(SyncError) {
        for (account, kind) in settings.forgetting {
            let places = places.account(account)
            let isOpen = settings.active?.account == account
            // Keys first: without them what is left says least.
            let keys = KeyStore.of(
                kind, account: account, installID: settings.installID, places: places)
            let keysAreGone = try SyncError.mapping("forget an account") {
                if kind == .file || !isOpen { try removeKeyFile(places.keyFile) }
                let areGone = kind == .file || keys.removeAll()
                if !isOpen {
                    for folder in [places.cache, places.data]
                    where try FileSystem.facts(folder) != nil {
                        try Directory.removeTree(folder)
                    }
                }
                return areGone
            }
            guard keysAreGone else { continue }
            settings.forgetting[account] = nil
            try settings.write(self.places.settings)
        }
    }

    /// Removes a key file, also one that nobody can read, and what a write of it left.
    private func removeKeyFile(_ path: String) throws(FileError) {
        let folder = FileSystem.folder(of: path)
        guard try FileSystem.facts(folder) != nil else { return }
        try FileSystem.remove(path)
        try Directory.removeTemporaries(in: folder)
        try Directory.sync(folder)
    }

    /// Finds out whether a key store can be used, before anybody relies on it.
    func checkKeyStore(_ kind: KeyStoreKind, _ settings: Settings) async throws(SyncError) {
        guard kind == .secretService else { return }
        let store = SecretService(accountID: "", installID: settings.installID)
        try await SyncError.mapping("use the key store") {
            _ = try await Blocking.run { try store.items() }
        }
    }

    /// Marks an account as to be forgotten, durably: from here on it is closed on this device.
    func mark(_ account: AccountID, _ kind: KeyStoreKind, _ settings: inout Settings)
        throws(SyncError)
    {
        if settings.active?.account == account { settings.active = nil }
        settings.forgetting[account] = kind
        do throws(SyncError) {
            try settings.write(places.settings)
        } catch {
            // On a full disk the cache makes room: it goes anyway, and could be had again.
            guard error.code == .unavailable(.diskFull) else { throw error }
            try SyncError.mapping("make room") {
                try Directory.removeTree(places.account(account).cache)
            }
            try settings.write(places.settings)
        }
    }
}
