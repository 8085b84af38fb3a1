internal import SyncPlatform

/// Where an account's catalog is on this device, and what a person should know of that.
struct CatalogPlace: Sendable {
    let places: AccountPlaces
    /// Whether it is in a container.
    var isShared = false
    var flag: CatalogLocation.Flag?
    /// Whether it can only be read: its log may be elsewhere, and a new one would lose that.
    var isReadOnly = false
    /// Keeps others from moving it, until the account's lock is held.
    var hold: FileLock.Token?
}

/// Finding an account's catalog, and moving it to the container if one is named.
extension Device {
    /// The container that is used: one that was used before, else the one that is named now.
    private func container(_ settings: Settings?) throws(SyncError) -> String? {
        let known = (settings?.containers ?? []) + (places.container.map { [$0] } ?? [])
        return try SyncError.mapping("look at the container") {
            for folder in known where try FileSystem.facts(folder) != nil {
                try Directory.check(folder)
                return folder
            }
            return nil
        }
    }

    /// Decides where an account's catalog is opened, and moves it first if it is to move.
    func locate(_ account: AccountID, create: Bool) throws(SyncError) -> CatalogPlace {
        let old = places.account(account)
        let settings = try self.settings()
        let isNamed = places.container != nil || settings?.containers.isEmpty == false
        // Without a container there is nothing to look at.
        guard isNamed else { return CatalogPlace(places: old) }
        guard let container = try container(settings) else {
            return CatalogPlace(places: old, flag: .containerMissing)
        }
        let new = places.account(account, in: container)
        return try SyncError.mapping("find the catalog") {
            // Before anything lies in it, so that forgetting finds it.
            let isKnown = try remember(container, settings)
            if try isSettled(old, new) {
                try Directory.check(new.data)
                return CatalogPlace(places: try withCache(new, old), isShared: true)
            }
            if !isKnown, try FileSystem.facts(old.catalog) != nil {
                return CatalogPlace(places: old)
            }
            return try settle(account, old, new, create: create)
        }
    }

    /// Whether all of it is at the new place.
    private func isSettled(_ old: AccountPlaces, _ new: AccountPlaces) throws(FileError) -> Bool {
        if try FileSystem.facts(new.catalog) == nil { return false }
        if try FileSystem.facts("\(new.data)/\(CatalogMove.mark)") != nil { return false }
        return try FileSystem.facts(old.data) == nil
    }

    /// A cache on another volume stays where it was.
    private func withCache(
        _ new: AccountPlaces, _ old: AccountPlaces
    ) throws(FileError) -> AccountPlaces {
        var places = new
        if try FileSystem.facts(new.cache) == nil, try FileSystem.facts(old.cache) != nil {
            places.cache = old.cache
        }
        return places
    }

    /// Notes the container in the settings; false if somebody else is changing them now.
    private func remember(_ container: String, _ settings: Settings?) throws -> Bool {
        if settings?.containers.contains(container) == true { return true }
        guard settings != nil,
            let held = try FileLock(path: places.settingsLock).tryLock(.exclusive)
        else { return false }
        defer { withExtendedLifetime(held) {} }
        guard var settings = try Settings.read(places.settings) else { return false }
        settings.containers.append(container)
        try settings.write(places.settings)
        return true
    }

    // MARK: Moving

    /// The places of an account's move, both of them locked or not.
    private func settle(
        _ account: AccountID, _ own: AccountPlaces, _ new: AccountPlaces, create: Bool
    ) throws -> CatalogPlace {
        try Directory.make(FileSystem.folder(of: new.data))
        try Directory.make(new.data)
        try Directory.make(new.locks)
        let hold = try FileLock(path: new.locks + "/location").lock(.exclusive)
        if !create, isForgotten(account) {
            // What was made here came too late; what is not empty is somebody else's.
            _ = try? FileSystem.remove(new.locks + "/location")
            for folder in [new.locks, new.data] { try? Directory.remove(folder) }
            throw Tenancy.loggedOut("find the catalog")
        }
        // Each round does one step and looks again.
        for _ in 0..<8 {
            let (old, isMoving) = try source(own, new)
            let location = try observe(old, new, isMoving: isMoving)
            switch location.action {
            case .useOld(let flag):
                return CatalogPlace(places: own, flag: flag, hold: hold)
            case .useNew:
                return CatalogPlace(places: try withCache(new, own), isShared: true, hold: hold)
            case .move, .dropOld, .finish:
                if let place = try step(location, old, new) {
                    return CatalogPlace(
                        places: place.isShared ? try withCache(new, own) : own,
                        isShared: place.isShared, flag: place.flag, isReadOnly: place.isReadOnly,
                        hold: hold)
                }
            }
        }
        throw SyncError(.storage, "find the catalog", "its places change while they are looked at")
    }

    /// The old place: the one that a mark names, else the private one.
    private func source(
        _ own: AccountPlaces, _ new: AccountPlaces
    ) throws -> (places: AccountPlaces, isMoving: Bool) {
        let mark = "\(new.data)/\(CatalogMove.mark)"
        guard try FileSystem.facts(mark) != nil else { return (own, false) }
        var old = own
        old.data = String(decoding: try DurableFile.read(mark, limit: 1 << 14), as: UTF8.self)
        guard old.data != own.data, old.data.hasPrefix("/") else { return (own, true) }
        // Another program's private place, which this one may not even see.
        return (old, true)
    }

    private func observe(
        _ old: AccountPlaces, _ new: AccountPlaces, isMoving: Bool
    ) throws -> CatalogLocation {
        let (first, second) = (
            try FileSystem.facts(old.catalog), try FileSystem.facts(new.catalog)
        )
        let areBoth = first != nil && second != nil
        return CatalogLocation(
            container: .there,
            old: try CatalogMove.content(of: old, looks: areBoth && !isMoving),
            oldHasRest: try FileSystem.facts(old.data) != nil,
            new: try CatalogMove.content(of: new, looks: areBoth && !isMoving),
            isMoving: isMoving)
    }

    /// Does one step; answers where the catalog is to be opened if it goes no further now.
    private func step(
        _ location: CatalogLocation, _ old: AccountPlaces, _ new: AccountPlaces
    ) throws -> CatalogPlace? {
        let stay = CatalogPlace(places: old)
        guard let alone = try lockAlone([old, new]) else {
            if location.old != .nothing { return stay }
            return try unfinished(location, old, new, isTold: false)
        }
        defer { withExtendedLifetime(alone) {} }
        var move = CatalogMove(old: old, new: new)
        move.reached = reached
        switch location.action {
        case .finish:
            do {
                // Not to be seen is not the same as gone.
                let isOurs = old.data.hasPrefix(places.data + "/")
                if !isOurs, !location.oldHasRest { throw CatalogMove.NotNow() }
                try move.finish()
                return nil
            } catch {
                return try unfinished(location, old, new, isTold: true)
            }
        case .dropOld:
            try move.dropOld()
            return nil
        default:
            do {
                try move.moveCatalog()
                return nil
            } catch is CatalogMove.NotNow {
                return stay
            } catch {
                // It has moved, or is where it was and as it was.
                if try FileSystem.facts(old.catalog) == nil { return nil }
                return CatalogPlace(places: old, flag: .moveFailed)
            }
        }
    }

    /// The new place, when not all has followed; it is only read if the log may be what is missing.
    private func unfinished(
        _ location: CatalogLocation, _ old: AccountPlaces, _ new: AccountPlaces, isTold: Bool
    ) throws(FileError) -> CatalogPlace {
        let log = try FileSystem.facts(old.catalog + "-wal")
        let isCut = location.isMoving || log != nil
        return CatalogPlace(
            places: new, isShared: true, flag: isCut || isTold ? .moveUnfinished : nil,
            isReadOnly: isCut)
    }

    /// Has an account's places alone; nil if anybody is at one of them.
    func lockAlone(
        _ all: [AccountPlaces], within milliseconds: UInt32 = 0
    ) throws(FileError) -> [FileLock.Token]? {
        var tokens: [FileLock.Token] = []
        for places in all {
            let facts = try FileSystem.facts(places.data)
            guard facts?.kind == .directory else { continue }
            try Directory.make(places.locks)
            let lock = FileLock(path: places.locks + "/account")
            let token = try lock.lock(.exclusive, within: milliseconds)
            guard let token else { return nil }
            tokens.append(token)
        }
        return tokens
    }

    // MARK: A person's decision

    /// Settles which of two places holds the catalog; the other's is kept under a dated name.
    func adopt(
        shared: Bool, _ account: AccountID, at time: Timestamp
    ) throws(SyncError) -> String? {
        try SyncError.mapping("adopt a place") {
            let settings = try self.settings()
            guard let container = try container(settings) else { throw Self.nothingToDecide }
            let own = places.account(account)
            let new = places.account(account, in: container)
            guard try FileSystem.facts(new.data) != nil else { throw Self.nothingToDecide }
            try Directory.make(new.locks)
            let hold = try FileLock(path: new.locks + "/location").lock(.exclusive)
            let (old, isMoving) = try source(own, new)
            let location = try observe(old, new, isMoving: isMoving)
            guard let alone = try lockAlone([old, new], within: 1_000) else {
                throw SyncError(
                    .busy, "adopt a place", "another program is using the account",
                    hint: "close it, then decide again")
            }
            var kept: String?
            switch location.action {
            case .useOld(.twoPlaces):
                let loser = shared ? old : new
                kept = try CatalogMove.setAside(loser, at: time)
            case .finish where shared:
                // Whoever says so does without what could not follow.
                try CatalogMove(old: old, new: new).abandonRest()
            default: throw Self.nothingToDecide
            }
            withExtendedLifetime((hold, alone)) {}
            return kept
        }
    }

    private static var nothingToDecide: SyncError {
        SyncError(
            .invalidInput, "adopt a place", "the account's catalog is in one place only",
            hint: "'sync status' says where")
    }
}
