internal import SyncPlatform

/// Which thumbnails of a batch are to be fetched.
struct ThumbnailAdmission: Sendable {
    var admitted: [ThumbnailWork] = []
    /// Those that do not fit beside newer ones, and those that made room for newer ones.
    var remote: [AttachmentKey] = []
    var refused = 0
    /// Whether some wait for room on the disk.
    var isDiskFull = false
    /// Keeps the room of those that were admitted, until their files are on the account.
    var promise: FileLock.Token?
}

/// Room for thumbnails: a share of the limit, for the newest of them.
extension CacheRoom {
    /// Admits what of a batch, newest first, may be fetched, and makes room for it.
    ///
    /// What does not fit is not due any more: it comes when somebody asks for it, or when the limit
    /// is raised. The caller has the thumbnails' lock.
    func admit(
        _ work: [ThumbnailWork], looks: RecentLooks
    ) async throws(SyncError) -> ThumbnailAdmission {
        await Purge(catalog: catalog, places: places).notice(makesFolders: true)
        return try await catalog.write("make room for thumbnails") { connection in
            var admission = ThumbnailAdmission()
            let wanted = work.reduce(0) { $0 + Self.cost($1) }
            var budget = try ThumbnailBudget(connection, self, wanted: wanted, looks: looks)
            for work in work {
                let answer =
                    work.ref == nil ? try budget.take(photo: work) : try budget.take(work)
                switch answer {
                case .fits: admission.admitted.append(work)
                case .diskFull: admission.isDiskFull = true
                case .doesNotFit:
                    try refuse(work, connection)
                    admission.remote.append(work.key)
                    admission.refused += 1
                }
            }
            admission.remote += budget.gone
            try makeRoom(for: &admission, connection)
            admission.promise = try TransferLocks(places).promise(
                thumbnails: Self.cost(thumbnails: admission.admitted))
            return admission
        }
    }

    /// What became of a thumbnail that a person asked for.
    enum Keeping: Sendable {
        case kept(letGo: [AttachmentKey])
        /// Its attachment has another one by now.
        case changed
        /// All room is promised to others that are being fetched.
        case notNow
        /// There is none, and nothing more can go.
        case noRoom(SyncError)
    }

    /// Keeps a thumbnail that a person asked for; the oldest ones make room, and those that were
    /// looked at lately only if nothing else can.
    ///
    /// There is `noRoom` with `tooLarge` if it is larger than all of their share, with `diskFull` if
    /// nothing can go: not thrown in the transaction, since what went has to be noted.
    func keep(
        _ result: ThumbnailResult, _ bytes: [UInt8], looks: RecentLooks
    ) async throws(SyncError) -> Keeping {
        let work = result.work
        return try await catalog.write("keep a thumbnail") { connection in
            guard let record = work.ref?.recordName,
                let now = try connection.addresses(row: work.row),
                now.thumbnail?.recordName == record, now.state != .none
            else { return .changed }
            var letGo: [AttachmentKey] = []
            // One that is here and damaged has its room.
            if now.state != .here {
                let cost = Self.cost(work)
                var budget = try ThumbnailBudget(
                    connection, self, wanted: cost, looks: looks, sparing: work.row)
                let answer = try budget.take(work, isWanted: true)
                guard answer == .fits else {
                    if try TransferLocks(places).held().promised > 0 { return .notNow }
                    return .noRoom(try noRoom(cost, connection))
                }
                letGo = budget.gone
                let excess = try limit(connection).excess(try use(connection), need: cost)
                guard try evict(connection, atMost: excess, sparing: nil) >= excess else {
                    return .noRoom(try noRoom(cost, connection))
                }
            }
            let store = ThumbnailStore(folder: places.thumbnails)
            do throws(FileError) {
                try store.write(bytes.span, to: store.path(record, type: work.type))
            } catch {
                return .noRoom(SyncError("keep a thumbnail", error))
            }
            var tally = Tally()
            _ = try connection.save(result, &tally)
            try tally.save(connection)
            return .kept(letGo: letGo)
        }
    }

    /// Lets the oldest thumbnails go that are over their share, if the limit was lowered.
    func shrinkThumbnails() async throws(SyncError) {
        var last: KeptThumbnail?
        repeat {
            last = try await catalog.write("make room") { [last] connection in
                var over = try use(connection).thumbnails - limit(connection).thumbnails
                guard over > 0 else { return nil }
                let store = ThumbnailStore(folder: places.thumbnails)
                let page = try connection.oldestThumbnails(after: last, limit: 1_000)
                for thumbnail in page where over > 0 {
                    if try connection.letGo(thumbnail, in: store) != nil { over -= thumbnail.cost }
                }
                return page.last
            }
        } while last != nil
    }

    /// Lets originals go for what was admitted; what they cannot make room for stays due.
    private func makeRoom(
        for admission: inout ThumbnailAdmission, _ connection: Connection
    ) throws {
        let need = admission.admitted.reduce(0) { $0 + Self.cost($1) }
        let excess = try limit(connection).excess(try use(connection), need: need)
        guard excess > 0 else { return }
        var lacking = excess - (try evict(connection, atMost: excess, sparing: nil))
        while lacking > 0, let work = admission.admitted.popLast() {
            lacking -= Self.cost(work)
            admission.isDiskFull = true
        }
    }

    private func refuse(_ work: ThumbnailWork, _ connection: Connection) throws {
        var tally = Tally()
        _ = try connection.save(ThumbnailResult(work: work, state: .notEager, tags: []), &tally)
        try tally.save(connection)
        guard let record = work.ref?.recordName else { return }
        // A process that was killed among its thumbnails may have left it.
        let store = ThumbnailStore(folder: places.thumbnails)
        _ = try? FileSystem.remove(store.path(record, type: work.type))
    }

    private func noRoom(_ cost: Int64, _ connection: Connection) throws -> SyncError {
        let share = try limit(connection).thumbnails
        guard cost <= share else {
            return SyncError(
                .unavailable(.tooLarge), "keep a thumbnail",
                "it does not fit into the thumbnails' share of the cache, \(share) bytes")
        }
        return SyncError.cacheIsFull("keep a thumbnail")
    }

    /// What one takes on the disk.
    private static func cost(_ work: ThumbnailWork) -> Int64 {
        work.ref == nil ? DiskCost.blob(Int64(work.size)) : DiskCost.file(Int64(work.size))
    }

    private static func cost(thumbnails work: [ThumbnailWork]) -> Int64 {
        work.reduce(0) { $0 + ($1.ref == nil ? 0 : cost($1)) }
    }
}
