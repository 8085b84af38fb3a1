internal import SyncPlatform

/// Makes room in the cache before bytes are written, so that its limit holds at every moment.
///
/// What a record's files may take is reserved in the catalog, under the lock of all writers, so
/// that processes cannot promise the same room twice. What was opened least recently goes; never
/// what is in use, pinned, or was handed out a short while ago. A reservation that outlived its
/// process is trimmed to what is on the disk as soon as somebody needs room.
struct CacheRoom: Sendable {
    let catalog: Catalog
    let places: AccountPlaces
    let clock: any WaitingClock

    /// How long a path that was handed out is safe, in seconds, and how old a note of that may get
    /// before it is written anew: together 10 minutes at the least.
    static let safeSeconds: Int64 = 660
    static let noteSeconds: Int64 = 60

    private static let page = 256
    /// What a limit that was lowered frees in one transaction.
    private static let step: Int64 = 256 << 20

    init(catalog: Catalog, places: AccountPlaces, clock: any WaitingClock) {
        self.catalog = catalog
        self.places = places
        self.clock = clock
    }

    /// Remembers that a record was asked for, and reserves room for more of its bytes.
    ///
    /// `whole` is what it takes when it is complete (``DiskCost``), beyond which nothing is
    /// reserved. The caller shares the record's use. `isFetched` says that what is here is about to
    /// be a part again: then it is not marked any more, so that nothing claims it.
    ///
    /// Answers false, and reserves nothing, if the attachment does not name the record any more.
    /// - Throws: `tooLarge` if the whole could not be here beside what is pinned; `diskFull` if
    ///   there is no room now.
    @discardableResult
    func reserve(
        _ record: String, row: Int64, bytes: Int64, whole: Int64, isFetched: Bool = false
    ) async throws(SyncError) -> Bool {
        await Purge(catalog: catalog, places: places).notice(makesFolders: true)
        let outcome = try await catalog.write("make room") { connection -> Reservation in
            guard try connection.want(record, through: row) else { return .notNamed }
            let known = try connection.blobRecord(record)
            let held = known?.held ?? 0
            let wanted = max(min(held + bytes, whole), held)
            // Not thrown in here: what went has to be noted whether or not it was enough.
            let refusal = try makeRoom(
                connection, for: record, need: wanted - held, whole: whole)
            if let refusal { return .refused(refusal) }
            if isFetched, known?.mark != nil { try connection.unmark(record, verified: 0) }
            try connection.noteOpened(record, handedAt: nil)
            try connection.hold(record, wanted, was: held)
            return .reserved
        }
        switch outcome {
        case .reserved: return true
        case .notNamed: return false
        case .refused(let error): throw error
        }
    }

    private enum Reservation: Sendable { case reserved, notNamed, refused(SyncError) }

    /// Trims what is reserved for a record to what is on the disk, unless somebody still uses it.
    func settle(_ record: String) async throws(SyncError) {
        try await catalog.write("settle a reservation") { connection in
            guard let known = try connection.blobRecord(record), known.mark == nil, known.held > 0,
                let alone = try uses.tryAlone(record)
            else { return }
            defer { withExtendedLifetime(alone) {} }
            try connection.hold(record, try onDisk(record), was: known.held)
        }
    }

    /// Trims what dead processes reserved and did not use, so that what is told of the cache is what
    /// is on the disk.
    func settleAll() async throws(SyncError) {
        let parts = try await catalog.read("look at reservations") { connection in
            try connection.heldParts(limit: 1_000)
        }
        guard !parts.isEmpty else { return }
        let stale = try SyncError.mapping("look at reservations") {
            let inUse = try uses.held()
            return parts.filter { part in
                !inUse.contains(part.record)
                    && ((try? onDisk(part.record)) ?? part.held) < part.held
            }
        }
        for part in stale { try await settle(part.record) }
    }

    /// Brings the cache below its limit, if that was lowered, as far as it can be now.
    func shrink() async throws(SyncError) {
        try await shrinkThumbnails()
        // Some at a time: others wait to write meanwhile.
        while true {
            let freed = try await catalog.write("make room") { connection in
                let excess = try limit(connection).excess(try use(connection), need: 0)
                return try evict(connection, atMost: min(excess, Self.step), sparing: nil)
            }
            if freed == 0 { return }
        }
    }

    // MARK: Eviction by a person's word

    /// What became of a record that was to go.
    enum Eviction: Sendable { case gone(Int64), isPinned, isInUse, notHere }

    /// Removes a record's bytes, also if its path was just handed out; not what is pinned or in use.
    func evict(_ record: String) async throws(SyncError) -> Eviction {
        let (outcome, claimed) = try await catalog.write("evict") {
            connection -> (Eviction, Claimed?) in
            guard let known = try connection.blobRecord(record), known.held > 0 else {
                return (.notHere, nil)
            }
            if try connection.isPinned(record) { return (.isPinned, nil) }
            return (.isInUse, try claim(record, connection))
        }
        guard let claimed else { return outcome }
        let removed = try await remove([claimed])
        return removed.files == 1 ? .gone(removed.bytes) : .isInUse
    }

    /// Removes everything that is neither pinned nor in use; thumbnails stay.
    func evictAll() async throws(SyncError) -> EvictionReport {
        var total = EvictionReport()
        var last: CachedBlob?
        while true {
            let (page, claimed) = try await catalog.write("evict") { [last] connection in
                let page = try connection.leastRecentlyOpened(after: last, limit: Self.claims)
                return (
                    page,
                    try page.compactMap { $0.isPinned ? nil : try claim($0.record, connection) }
                )
            }
            guard let end = page.last else { return total }
            let pinned = page.count { $0.isPinned }
            let removed = try await remove(claimed)
            total.files += removed.files
            total.bytes += removed.bytes
            total.pinned += pinned
            total.inUse += page.count - pinned - removed.files
            last = end
        }
    }

    /// As many locks as are held at once.
    private static let claims = 64

    /// A record that nobody uses and that is not marked as here any more, whatever happens next.
    private struct Claimed: Sendable {
        let record: String
        let alone: FileLock.Token
    }

    /// Takes a record's mark away; nil if somebody uses it.
    ///
    /// In a transaction of its own before the files go: killed in between, nothing claims to be here
    /// that is not.
    private func claim(_ record: String, _ connection: Connection) throws -> Claimed? {
        guard let alone = try uses.tryAlone(record) else { return nil }
        if try connection.blobRecord(record)?.mark != nil {
            try connection.unmark(record, verified: 0)
        }
        return Claimed(record: record, alone: alone)
    }

    /// Removes files, and then what is known of them; what cannot be removed stays on the account.
    private func remove(
        _ claimed: [Claimed]
    ) async throws(SyncError) -> (files: Int, bytes: Int64) {
        guard !claimed.isEmpty else { return (0, 0) }
        let gone = try await SyncError.mapping("evict") {
            try await Blocking.run { [places] in
                claimed.compactMap { claimed -> (String, Int64)? in
                    let place = BlobPlace(record: claimed.record, under: places.blobs)
                    guard let bytes = try? place.onDisk(), (try? place.remove()) != nil else {
                        return nil
                    }
                    return (claimed.record, bytes)
                }
            }
        }
        try await catalog.write("evict") { connection in
            for (record, _) in gone { try connection.forgetEvicted(record) }
        }
        withExtendedLifetime(claimed) {}
        return (gone.count, gone.reduce(0) { $0 + $1.1 })
    }

    // MARK: Room, inside a transaction

    var uses: BlobUses { BlobUses(places) }

    /// Evicts until `need` more bytes fit; answers why they do not.
    private func makeRoom(
        _ connection: Connection, for record: String?, need: Int64, whole: Int64
    ) throws -> SyncError? {
        guard need > 0 else { return nil }
        let limit = try limit(connection)
        let use = try use(connection)
        let excess = limit.excess(use, need: need)
        guard excess > 0 else { return nil }
        // Only now: it walks over all that is pinned.
        guard try couldHold(connection, limit, record, whole, thumbnails: use.thumbnails) else {
            return SyncError(
                .unavailable(.tooLarge), "make room",
                "it does not fit into the cache's limit of \(limit.bytes) bytes with what is pinned"
            )
        }
        // If not enough could go, nothing should.
        let possible = try evictable(connection, upTo: excess, sparing: record)
        guard possible >= excess,
            try evict(connection, atMost: excess, sparing: record) >= excess
        else {
            return SyncError.cacheIsFull("make room")
        }
        return nil
    }

    func limit(_ connection: Connection) throws -> CacheLimit {
        CacheLimit(
            chosen: try connection.cacheLimit(),
            diskBytes: min(try Directory.diskSpace(at: cacheFolder), Self.endless))
    }

    func use(_ connection: Connection) throws -> CacheLimit.Use {
        let promised = try TransferLocks(places).held().promised
        let free = min(Int64(clamping: try Directory.freeSpace(at: cacheFolder)), Self.endless)
        return CacheLimit.Use(
            originals: Int64(try connection.tally(.cacheBytes)),
            // Those that are being fetched have their room as if they were here.
            thumbnails: Int64(try connection.tally(.thumbnailBytes)) + promised,
            // So have others the room that was reserved for them and is not written to yet.
            free: free - promised - (try unwritten(connection)))
    }

    /// What was reserved for transfers that go on, and is still free on the disk.
    private func unwritten(_ connection: Connection) throws -> Int64 {
        let inUse = try uses.held()
        guard !inUse.isEmpty else { return 0 }
        return try connection.heldParts(limit: 1_000).filter { inUse.contains($0.record) }
            .reduce(0) { $0 + max($1.held - ((try? onDisk($1.record)) ?? $1.held), 0) }
    }

    /// Some file systems answer with a number that nothing can be added to.
    private static let endless: Int64 = 1 << 60

    /// The cache's folder, or where it will be.
    private var cacheFolder: String {
        get throws(FileError) {
            try places.makeCacheFolders()
            return places.cache
        }
    }

    /// How much could go now, as far as it is of interest.
    func evictable(
        _ connection: Connection, upTo enough: Int64, sparing record: String?
    ) throws -> Int64 {
        let inUse = try uses.held()
        var possible: Int64 = 0
        try walk(connection, sparing: record) { blob in
            if !inUse.contains(blob.record) { possible += mayGo(blob) ? blob.held : unused(blob) }
            return possible < enough
        }
        return possible
    }

    /// Frees what was opened least recently until it is enough, and answers how much that is.
    func evict(
        _ connection: Connection, atMost excess: Int64, sparing record: String?
    ) throws -> Int64 {
        guard excess > 0 else { return 0 }
        var freed: Int64 = 0
        try walk(connection, sparing: record) { blob in
            freed += try free(blob, connection, enough: excess - freed)
            return freed < excess
        }
        return freed
    }

    /// Shows what holds room, least recently opened first, but for one, until `body` has enough.
    func walk(
        _ connection: Connection, sparing record: String?, _ body: (CachedBlob) throws -> Bool
    ) throws {
        var last: CachedBlob?
        repeat {
            let page = try connection.leastRecentlyOpened(after: last, limit: Self.page)
            for blob in page where blob.record != record {
                guard try body(blob) else { return }
            }
            last = page.last
        } while last != nil
    }

    /// What is reserved for a record beyond what its files take, if nobody uses it.
    func unused(_ blob: CachedBlob) -> Int64 {
        guard blob.isPart, let onDisk = try? onDisk(blob.record) else { return 0 }
        return max(blob.held - onDisk, 0)
    }

    func mayGo(_ blob: CachedBlob) -> Bool { !blob.isPinned && !isSafe(blob) }

    /// Whether a path was handed out so short a time ago that another note is not worth it.
    static func isNoted(_ blob: BlobRecord, at now: Int64) -> Bool {
        guard let handedAt = blob.handedAt else { return false }
        return abs(now - handedAt) < noteSeconds
    }

    private func isSafe(_ blob: CachedBlob) -> Bool {
        guard let handedAt = blob.handedAt else { return false }
        // Also if the clock was set back meanwhile.
        return abs(clock.now - handedAt) < Self.safeSeconds
    }

    /// Trims a part to what is on the disk, and if that is not enough, removes it if it may go.
    private func free(
        _ blob: CachedBlob, _ connection: Connection, enough: Int64
    ) throws -> Int64 {
        if blob.isPart, let alone = try uses.tryAlone(blob.record) {
            defer { withExtendedLifetime(alone) {} }
            // What cannot be looked at now is passed over.
            guard let now = try? onDisk(blob.record) else { return 0 }
            let onDisk = min(now, blob.held)
            if blob.held - onDisk >= enough || !mayGo(blob) {
                try connection.hold(blob.record, onDisk, was: blob.held)
                return blob.held - onDisk
            }
        }
        return try mayGo(blob) && remove(blob.record, connection) ? blob.held : 0
    }

    /// Removes a record's files and what is known of them; false if somebody uses them, or they
    /// cannot be removed now, and then they stay on the account.
    private func remove(_ record: String, _ connection: Connection) throws -> Bool {
        guard let alone = try uses.tryAlone(record) else { return false }
        defer { withExtendedLifetime(alone) {} }
        do throws(FileError) {
            try BlobPlace(record: record, under: places.blobs).remove()
        } catch {
            return false
        }
        try connection.forgetEvicted(record)
        return true
    }

    /// What a record's files take on the disk now.
    private func onDisk(_ record: String) throws -> Int64 {
        try BlobPlace(record: record, under: places.blobs).onDisk()
    }
}

extension SyncError {
    /// It is the cache that has no room, and not the disk: other things help.
    static func cacheIsFull(_ operation: String) -> SyncError {
        SyncError(
            .unavailable(.diskFull), operation,
            "what is in the cache is in use, was just opened, or is pinned",
            hint: "raise the cache's limit, evict or unpin something, or wait ten minutes")
    }
}
