internal import SyncPlatform

/// Where a device keeps an account's keys; chosen by a person, never one silently for the other.
public enum KeyStoreKind: String, Sendable, Hashable, CaseIterable {
    /// The desktop's Secret Service.
    case secretService = "secret-service"
    /// A file that only its owner can read.
    case file
}

/// One account's secrets on this device: its key, its session and the head it last verified.
///
/// Nothing here ever makes a key: a store that is locked, empty or gone is `keyMissing`.
/// Calls may block on another program.
struct KeyStore: Sendable {
    /// The closed set of what is kept.
    enum Item: String, Sendable, CaseIterable {
        case masterKey = "amk"
        case session
        case verifiedHead = "head"
    }

    private let store: any SecretStore

    init(_ store: any SecretStore) {
        self.store = store
    }

    /// The store of the given kind for an account on this device.
    static func of(
        _ kind: KeyStoreKind, account: AccountID, installID: String, places: AccountPlaces
    ) -> KeyStore {
        switch kind {
        case .secretService:
            KeyStore(SecretService(accountID: "\(account)", installID: installID))
        case .file:
            KeyStore(
                SecretFile(
                    path: places.keyFile, accountID: "\(account)", installID: installID,
                    lock: FileLock(path: places.locks + "/keys")))
        }
    }

    func read(_ item: Item) throws(SecretError) -> [UInt8]? { try store.read(item: item.rawValue) }

    func write(_ item: Item, _ bytes: [UInt8]) throws(SecretError) {
        try store.write(item: item.rawValue, bytes)
    }

    func remove(_ item: Item) throws(SecretError) { try store.remove(item: item.rawValue) }

    /// Removes everything of the account, also what a later version may have added.
    ///
    /// Answers false if the store is locked or gone, so that some of it may still be there.
    func removeAll() -> Bool {
        do throws(SecretError) {
            for item in try store.items() { try store.remove(item: item) }
            return true
        } catch {
            return false
        }
    }

    /// The keys of the account.
    ///
    /// - Throws: `keyMissing` if the store cannot be read or has none.
    func accountKeys() throws(SyncError) -> AccountKeys {
        AccountKeys(masterKey: try readMasterKey(), epoch: 1)
    }

    /// The key that all others come from.
    ///
    /// - Throws: `keyMissing` if the store cannot be read or has none.
    func readMasterKey() throws(SyncError) -> SecretBytes {
        do {
            if var key = try read(.masterKey) {
                defer { ConstantTime.wipe(&key) }
                if key.count == 32 { return SecretBytes(copying: key.span) }
            }
        } catch {
            throw SyncError("read the account's key", error)
        }
        throw SyncError(
            .unavailable(.keyMissing), "read the account's key", "the key store has no key for it")
    }
}
