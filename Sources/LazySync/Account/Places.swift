internal import SyncPlatform

/// Where a device keeps what is LazySync's: the data, cache and config homes.
///
/// | place | what is there | why |
/// |---|---|---|
/// | data | catalogs and locks | the only copy; backed up, fsynced |
/// | cache | blobs and thumbnails | can be had again; the system may purge it |
/// | config | settings, and key files if asked for | a few hundred bytes |
struct Places: Sendable, Hashable {
    let data: String
    let cache: String
    let config: String
    /// The folder that several programs of the user share, if one is named; it may not be there.
    var container: String?

    /// All three under one folder.
    init(home: String) {
        data = home + "/data/lazysync"
        cache = home + "/cache/lazysync"
        config = home + "/config/lazysync"
    }

    /// The XDG places of this user.
    ///
    /// A relative path in an XDG variable is ignored, as its specification says.
    init(environment: (String) -> String?) throws(SyncError) {
        func place(_ variable: String, _ fallback: String) throws(SyncError) -> String {
            if let path = environment(variable), path.hasPrefix("/") { return path + "/lazysync" }
            guard let home = environment("HOME"), home.hasPrefix("/") else {
                throw SyncError(
                    .storage, "find the home folder", "HOME is not set",
                    hint: "set HOME or give --home DIR")
            }
            return home + fallback + "/lazysync"
        }
        data = try place("XDG_DATA_HOME", "/.local/share")
        cache = try place("XDG_CACHE_HOME", "/.cache")
        config = try place("XDG_CONFIG_HOME", "/.config")
    }

    var settings: String { config + "/settings.json" }
    var settingsLock: String { config + "/settings.lock" }

    var keyFiles: String { config + "/keys" }

    /// The private places of one account.
    func account(_ id: AccountID) -> AccountPlaces {
        AccountPlaces(data: "\(data)/\(id)", cache: "\(cache)/\(id)", keyFile: "\(keyFiles)/\(id)")
    }

    /// The places of one account in a container; its keys stay where they are.
    func account(_ id: AccountID, in container: String) -> AccountPlaces {
        AccountPlaces(
            data: "\(container)/lazysync/\(id)", cache: "\(container)/cache/lazysync/\(id)",
            keyFile: "\(keyFiles)/\(id)")
    }
}

/// One account's places; everything under them goes at logout.
struct AccountPlaces: Sendable, Hashable {
    var data: String
    var cache: String
    /// The key file, for those who asked for one instead of the desktop's key store.
    var keyFile: String

    var catalog: String { data + "/" + catalogName }
    var catalogName: String { "catalog.sqlite" }
    /// A catalog that is being made of a file.
    var importing: String { data + "/catalog.importing" }
    var locks: String { data + "/locks" }
    var blobs: String { cache + "/blobs" }
    var thumbnails: String { cache + "/thumbnails" }
    /// The bytes of what was removed and may come back.
    var trash: String { data + "/trash" }

    /// What lies in files and is named by the catalog alone.
    private static let namedFolders = ["spool", "trash"]

    /// Keeps spool and trash beside a catalog that is kept under another name: nobody else knows
    /// what lies in them, and whoever sweeps them would remove it.
    func setFoldersAside(beside catalog: String) throws(FileError) {
        for name in Self.namedFolders where try FileSystem.facts("\(data)/\(name)") != nil {
            try FileSystem.rename("\(data)/\(name)", to: "\(catalog)-\(name)")
        }
        try Directory.sync(data)
    }

    /// An empty file in each of the two folders: where it is missing, somebody emptied the cache.
    static let marker = ".lazysync"

    /// What SQLite keeps beside a database; a journal only until it is in WAL mode.
    static let sideFiles = ["-journal", "-wal", "-shm"]

    /// Removes what an import left that was killed; the caller holds the account's lock.
    func clearUpImport() throws(FileError) {
        guard try FileSystem.facts(importing) != nil else { return }
        // The file itself last: with it, the others are found again.
        for suffix in Self.sideFiles + [""] { try FileSystem.remove(importing + suffix) }
    }

    /// Makes the cache's folders, and refuses links in their place: what is written through one
    /// would not go at logout.
    func makeCacheFolders() throws(FileError) {
        for folder in [cache, blobs, thumbnails] { try Directory.make(folder) }
    }
}
