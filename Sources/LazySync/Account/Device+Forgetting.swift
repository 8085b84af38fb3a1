internal import SyncPlatform

/// Forgetting: everything of an account goes, but for what stands on one short list.
extension Device {
    /// What stays in the config home when nobody is logged in; nothing in it names an account.
    ///
    /// Something new that is to stay (known accounts, notices that were seen, switches of
    /// experiments) is a file beside these, never in an account's folder, and a name in this list.
    static let staying: Set = ["settings.json", "settings.lock"]

    /// How long a logout waits for other programs that are at the account to notice it.
    private static let patience: UInt32 = 10_000

    /// Removes everything of the accounts that are marked; the mark goes last.
    ///
    /// A key store that is locked or gone keeps its items, and the mark stays for them alone. So it
    /// does if the same account is open again with another key store, and for a program that is
    /// still at the account: it sees the mark and stops, and the next start goes on.
    func finishForgetting(
        _ settings: inout Settings, within milliseconds: UInt32 = 0
    ) throws(SyncError) {
        let before = settings
        for (account, kind) in settings.forgetting {
            let places = places.account(account)
            let isOpen = settings.active?.account == account
            let areGone = try SyncError.mapping("forget an account") {
                let all = foldersOf(account, settings)
                guard let alone = isOpen ? [] : try lockAlone(all, within: milliseconds) else {
                    return false
                }
                defer { withExtendedLifetime(alone) {} }
                // Keys first: without them what is left says least.
                let keys = KeyStore.of(
                    kind, account: account, installID: settings.installID, places: places)
                if kind == .file || !isOpen { try removeKeyFile(places.keyFile) }
                let areKeysGone = kind == .file || keys.removeAll()
                try reached("keys forgotten")
                for folder in isOpen ? [] : all.flatMap({ [$0.cache, $0.data] })
                where try FileSystem.facts(folder) != nil {
                    try Directory.removeTree(folder)
                    try reached("folder forgotten")
                }
                return areKeysGone
            }
            if areGone { settings.forgetting[account] = nil }
        }
        if settings.active == nil, settings.forgetting.isEmpty { settings.containers = [] }
        if settings == before { return }
        try settings.write(places.settings)
        try SyncError.mapping("forget an account") { try reached("all forgotten") }
    }

    /// Whether anything of an account that is to be forgotten still lies in its folders.
    func isLeft(_ account: AccountID, _ settings: Settings) -> Bool {
        let folders = foldersOf(account, settings)
        return folders.contains { (try? FileSystem.facts($0.data)) != nil }
    }

    /// Says that an account cannot be opened before the programs at it have stopped.
    static func stillForgetting(_ operation: String) -> SyncError {
        SyncError(
            .busy, operation, "the account is being forgotten, and another program is still at it",
            hint: "close that program, then try again")
    }

    /// An account's folders, in the private place and in every container.
    private func foldersOf(_ account: AccountID, _ settings: Settings) -> [AccountPlaces] {
        let containers = Set(settings.containers + (places.container.map { [$0] } ?? []))
        return [places.account(account)] + containers.map { places.account(account, in: $0) }
    }

    /// Removes a key file, also one that nobody can read, and what a write of it left.
    func removeKeyFile(_ path: String) throws(FileError) {
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
    ///
    /// Programs that are at it see the mark, and stop.
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
                for places in foldersOf(account, settings)
                where try FileSystem.facts(places.cache) != nil {
                    try Directory.removeTree(places.cache)
                }
            }
            try settings.write(places.settings)
        }
        try SyncError.mapping("log out") { try reached("marked as forgotten") }
    }

    /// Finishes forgetting, and waits for the programs that must stop before.
    func forgetNow(_ settings: Settings) async throws(SyncError) -> Settings {
        try await SyncError.mapping("log out") {
            try await Blocking.run { [self] in
                var settings = settings
                try finishForgetting(&settings, within: Self.patience)
                return settings
            }
        }
    }

    /// Whether the settings say that an account is not, or no longer, the one that is open.
    ///
    /// Settings that are not there or cannot be read say nothing.
    func isForgotten(_ account: AccountID) -> Bool {
        guard let settings = try? self.settings() else { return false }
        return settings.scope?.account != account
    }

    // MARK: What was left behind

    /// Accounts that have something on this device and that the settings do not know, as when
    /// somebody removed the settings alone.
    ///
    /// In the user's own places only: a container may have accounts of programs that keep their
    /// settings elsewhere. Key items in a Secret Service cannot be found: they were kept under an id
    /// that went with the settings.
    func leftBehind(_ settings: Settings?) -> Set<AccountID> {
        let folders = [places.data, places.cache, places.keyFiles]
        var found: Set<AccountID> = []
        for folder in folders {
            // A folder that is not there has nobody in it.
            let names = (try? Directory.list(folder)) ?? []
            for name in names {
                if let account = AccountID(name) { found.insert(account) }
            }
        }
        if let settings {
            for account in settings.forgetting.keys { found.remove(account) }
            if let scope = settings.scope { found.remove(scope.account) }
        }
        return found
    }
}
