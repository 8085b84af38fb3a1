internal import SyncPlatform

/// Moves an account's data from one folder to another, in steps that a crash cannot spoil.
///
/// The caller has both places alone. The mark `moving` at the new place names the old one; it stays
/// from before the catalog moves until everything has followed:
///
/// | killed | the next start finds | and |
/// |---|---|---|
/// | before the mark | the catalog at the old place | begins anew |
/// | after the mark | the mark, the catalog at the old place | drops a copy, begins anew |
/// | after the catalog moved | the mark, no catalog at the old place | brings the rest |
/// | after the mark went | at the old place nothing but locks | removes them |
struct CatalogMove {
    /// The catalog cannot be moved now, and nothing is wrong with it where it is.
    struct NotNow: Error {}

    let old: AccountPlaces
    let new: AccountPlaces
    /// Called at each point at which a test may want to end the process.
    var reached: @Sendable (String) throws -> Void = { _ in }

    static let mark = "moving"
    private static let locks = "locks"

    // MARK: Looking

    /// What a folder has under the catalog's name; `looks` is needed only to tell empty from rows.
    static func content(of places: AccountPlaces, looks: Bool) throws -> CatalogLocation.Content {
        guard try FileSystem.facts(places.catalog) != nil else { return .nothing }
        return !looks || hasRows(places.catalog) ? .rows : .empty
    }

    /// Whether a catalog has rows that came from anywhere; one that cannot be read may have some.
    ///
    /// Every table counts, also one of a version to come, but for those that a new catalog fills.
    private static func hasRows(_ path: String) -> Bool {
        let madeEmpty: Set = ["account", "tally"]
        do {
            // A file without a log is looked at without leaving a trace.
            let hasLog = try FileSystem.facts(path + "-wal")?.size ?? 0 > 0
            let catalog = try Connection(
                path: path, mode: hasLog ? .readOnly : .immutable, checkpointsOnClose: false)
            guard try catalog.applicationID() == Schema.applicationID else { return true }
            let names = try catalog.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
            while try names.step() {
                let name = try names.text(0)
                if madeEmpty.contains(name) || name.hasPrefix("sqlite_") { continue }
                guard name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" }) else {
                    return true
                }
                if try catalog.firstInt("SELECT EXISTS(SELECT 1 FROM \"\(name)\")") != 0 {
                    return true
                }
            }
            return false
        } catch {
            return true
        }
    }

    /// What a folder has beside a catalog and its locks.
    static func rest(of places: AccountPlaces) throws(FileError) -> [String] {
        guard try FileSystem.facts(places.data) != nil else { return [] }
        let name = places.catalogName
        return try Directory.list(places.data).filter { $0 != locks && $0 != name }.sorted()
    }

    // MARK: The catalog

    /// Moves the catalog itself.
    ///
    /// - Throws: `NotNow`, or what failed; the catalog is at its old place then, as it was.
    func moveCatalog() throws {
        try settle(old.catalog)
        try reached("settled")
        try clearNew()
        try DurableFile.write(Array(old.data.utf8).span, to: "\(new.data)/\(Self.mark)")
        try reached("marked")
        do {
            try moveMain()
        } catch {
            // Once it has moved, going back would point at nothing.
            guard try FileSystem.facts(old.catalog) != nil else { throw error }
            try? clearNew()
            _ = try? DurableFile.remove("\(new.data)/\(Self.mark)")
            throw error
        }
        try reached("catalog moved")
    }

    private func moveMain() throws {
        do throws(FileError) {
            try FileSystem.rename(old.catalog, to: new.catalog)
        } catch {
            guard error.code == .otherVolume else { throw error }
            try FileSystem.copy(File(old.catalog, for: .read), to: new.catalog)
            try reached("copied")
            // From here on it is at the new place.
            try FileSystem.remove(old.catalog)
        }
        try Directory.sync(new.data)
        try Directory.sync(old.data)
    }

    /// Carries the log over into the file, and makes sure that nobody else has it open.
    private func settle(_ path: String) throws {
        for name in [".before", ".restoring"] where try FileSystem.facts(path + name) != nil {
            // A migration is not over; opening it finishes that.
            throw NotNow()
        }
        try identify(path)
        do throws(SQLiteError) {
            let connection = try Connection(path: path, mode: .readWrite, busyTimeout: 250)
            // Before its first statement a connection knows of no log.
            _ = try connection.userVersion()
            try connection.checkpoint(.truncate)
        } catch {
            if error.code == .busy { throw NotNow() }
            throw error
        }
        // Who closes a catalog last removes its log; a log that stays is somebody's.
        guard try FileSystem.facts(path + "-wal") == nil else { throw NotNow() }
        try FileSystem.remove(path + "-shm")
    }

    /// Leaves alone what opening would refuse.
    private func identify(_ path: String) throws {
        let catalog = try Connection(
            path: path, mode: .readWrite, busyTimeout: 250, checkpointsOnClose: false)
        let newest = Schema.steps.last?.version ?? 0
        guard try catalog.applicationID() == Schema.applicationID,
            try catalog.userVersion() <= newest, !catalog.isReadOnly
        else { throw NotNow() }
    }

    /// Takes an empty or half copied catalog away, and a log that has lost its catalog aside.
    private func clearNew() throws {
        // The file goes first: its log must never lie beside another one.
        if try FileSystem.remove(new.catalog) {
            for suffix in AccountPlaces.sideFiles { try FileSystem.remove(new.catalog + suffix) }
        }
        try setLogAside(new)
        try Directory.sync(new.data)
    }

    /// Keeps a log without a catalog from being taken for another catalog's.
    private func setLogAside(_ places: AccountPlaces) throws {
        try FileSystem.remove(places.catalog + "-shm")
        guard let log = try FileSystem.facts(places.catalog + "-wal") else { return }
        if log.size == 0 {
            try FileSystem.remove(places.catalog + "-wal")
        } else {
            try FileSystem.rename(places.catalog + "-wal", to: "\(places.data)/log-without-catalog")
        }
    }

    // MARK: The rest

    /// Removes the empty catalog of the old place.
    func dropOld() throws {
        if try FileSystem.remove(old.catalog) {
            for suffix in AccountPlaces.sideFiles { try FileSystem.remove(old.catalog + suffix) }
        }
        try Directory.sync(old.data)
    }

    /// Brings everything after the catalog, and removes the mark.
    ///
    /// - Throws: If something could not follow; the mark stays then.
    func finish() throws {
        if try FileSystem.facts(new.catalog) == nil {
            // Nobody knows whose log it is, and it must not become a new catalog's.
            try setLogAside(old)
        } else {
            try moveLog()
        }
        try reached("log moved")
        try Directory.removeTemporaries(in: new.data)
        // Nobody is at either place, so what an import left there is of one that was killed.
        for places in [old, new] { try places.clearUpImport() }
        for name in try Self.rest(of: old) where name != Self.mark {
            try FileSystem.move("\(old.data)/\(name)", to: "\(new.data)/\(name)")
        }
        try reached("rest moved")
        moveCache()
        try reached("cache moved")
        try DurableFile.remove("\(new.data)/\(Self.mark)")
        try reached("mark removed")
        // Nothing but locks is in it.
        try? Directory.removeTree(old.data)
    }

    /// Gives up what could not follow; a log is kept aside.
    func abandonRest() throws {
        if try FileSystem.facts(old.data) != nil { try setLogAside(old) }
        try DurableFile.remove("\(new.data)/\(Self.mark)")
    }

    private func moveLog() throws {
        let log = old.catalog + "-wal"
        try FileSystem.remove(old.catalog + "-shm")
        guard let facts = try FileSystem.facts(log) else { return }
        if facts.size > 0 {
            let target = new.catalog + "-wal"
            // A log of its own there may not be replaced.
            if try FileSystem.facts(target)?.size == 0 { try FileSystem.remove(target) }
            try FileSystem.remove(new.catalog + "-shm")
            try FileSystem.move(log, to: target)
        } else {
            try FileSystem.remove(log)
        }
    }

    /// Takes the cache along; on another volume it stays where it is, and is used there.
    private func moveCache() {
        do throws(FileError) {
            guard try FileSystem.facts(new.cache) == nil, try FileSystem.facts(old.cache) != nil
            else { return }
            try Directory.make(FileSystem.folder(of: new.cache))
            try FileSystem.rename(old.cache, to: new.cache)
        } catch {
            // It can be had again, and is found at the old place as well.
        }
    }

    // MARK: A person's decision

    /// Keeps a catalog under a name with its date, beside the one that is used, and with it what it
    /// alone names.
    ///
    /// Answers the name.
    static func setAside(_ places: AccountPlaces, at time: Timestamp) throws -> String {
        let move = CatalogMove(old: places, new: places)
        // What cannot be read is kept with its log.
        try? move.settle(places.catalog)
        var date = "\(time)"
        date.removeAll { $0 == "-" || $0 == ":" }
        var name = "catalog-\(date).sqlite"
        var count = 1
        while try FileSystem.facts("\(places.data)/\(name)") != nil {
            count += 1
            name = "catalog-\(date)-\(count).sqlite"
        }
        try FileSystem.remove(places.catalog + "-shm")
        if try FileSystem.facts(places.catalog + "-wal") != nil {
            try FileSystem.rename(places.catalog + "-wal", to: "\(places.data)/\(name)-wal")
        }
        try FileSystem.rename(places.catalog, to: "\(places.data)/\(name)")
        try places.setFoldersAside(beside: "\(places.data)/\(name)")
        return name
    }
}
