internal import SyncPlatform

/// The cache: what is kept on this device, and how much of it.
extension SyncEngine {
    /// What the cache takes, and what it may take.
    public func cacheUse() async throws(SyncError) -> CacheUse {
        try requireOpen("look at the cache")
        await noticePurge()
        // On a disk that takes no note the figures are those that were noted last.
        try? await materializer.room.settleAll()
        let tallies = try await catalog.tallies()
        let chosen = try await catalog.cacheLimit()
        let limit = try SyncError.mapping("look at the cache") {
            // Looking makes no folder: the disk may be read-only.
            let places = opened.places
            let isThere = try FileSystem.facts(places.cache) != nil
            let disk = try Directory.diskSpace(at: isThere ? places.cache : places.data)
            return CacheLimit(chosen: chosen, diskBytes: disk).bytes
        }
        return CacheUse(
            originals: Int64(tallies[.cacheBytes] ?? 0),
            thumbnails: Int64(tallies[.thumbnailBytes] ?? 0), limit: limit,
            isLimitChosen: chosen != nil, pinned: try await catalog.pinnedBytes(),
            pinsAll: try await catalog.pinsAll())
    }

    /// Sets what the cache may take, in bytes; nil for the usual limit.
    ///
    /// What is over it goes at once, least recently opened first; what is pinned, in use or was
    /// just handed out stays. A quarter of it is for thumbnails, of which the oldest go; with a
    /// higher limit, those that did not fit come with the next restore.
    public func setCacheLimit(_ bytes: Int64?) async throws(SyncError) {
        try requireOpen("set the cache's limit")
        if let bytes, bytes < 0 {
            throw SyncError(.invalidInput, "set the cache's limit", "it cannot be negative")
        }
        let before = try await cacheUse().limit
        let room = materializer.room
        _ = try await room.noting({ room.mayGo($0) }) { () async throws(SyncError) in
            try await self.catalog.setCacheLimit(bytes)
            try await room.shrink()
        }
        if try await cacheUse().limit > before {
            try await catalog.renewSkippedThumbnails()
            try await catalog.noteRoom()
        }
        broadcast.send(.catalog)
    }

    /// Keeps an attachment's bytes on this device, and brings them here if they are not.
    ///
    /// It stays pinned if they do not come; `keepPinned` asks for them again.
    public func pin(
        _ key: AttachmentKey, progress: (@Sendable (Int64, Int64) -> Void)? = nil
    ) async throws(SyncError) -> MaterializedFile {
        try await setPinned(key, true)
        return try await materialize(key, progress: progress)
    }

    /// Lets an attachment's bytes go when room is needed.
    public func unpin(_ key: AttachmentKey) async throws(SyncError) {
        try await setPinned(key, false)
    }

    /// Pins every attachment, also those to come, or none any more.
    ///
    /// Brings nothing here: ``keepPinned(_:)`` does.
    public func setAllPinned(_ arePinned: Bool) async throws(SyncError) {
        try requireOpen("pin everything")
        try await catalog.pinAll(arePinned)
        if !arePinned { try await catalog.noteRoom() }
        broadcast.send(.catalog)
    }

    /// Brings the bytes of all pinned attachments here; one that does not come stops no other.
    ///
    /// Those that have no usable address are missing, too. `progress` is told how many were tried
    /// of how many, and what came.
    /// - Throws: What keeps all of them from coming, such as `offline`.
    public func keepPinned(
        _ progress: (@Sendable (PinProgress) -> Void)? = nil
    ) async throws(SyncError) -> PinReport {
        try await working("keep what is pinned") { () async throws(SyncError) in
            try await self.keepPinnedHere(progress)
        }
    }

    private func keepPinnedHere(
        _ progress: (@Sendable (PinProgress) -> Void)?
    ) async throws(SyncError) -> PinReport {
        var report = PinReport()
        var watch: PinWatch?
        if let progress {
            watch = PinWatch(try await catalog.countPinnedNotHere(), progress)
        }
        var row: Int64 = 0
        while let end = try await noteMissing(after: row, &report, watch) { row = end }
        var last = ""
        while true {
            let page = try await catalog.pinnedNotHere(after: last, limit: 256)
            guard let end = page.last else { return report }
            last = end.record
            try await keep(page.map(\.key), &report, watch)
        }
    }

    /// Notes some of those that nothing can be asked for; answers the row of the last one.
    private func noteMissing(
        after row: Int64, _ report: inout PinReport, _ watch: PinWatch?
    ) async throws(SyncError) -> Int64? {
        let page = try await catalog.pinnedWithoutAddress(after: row, limit: 256)
        for attachment in page {
            report.missing[attachment.key] = attachment.reason
            watch?.tried(attachment.key, came: false)
        }
        return page.last?.row
    }

    /// Brings some bytes here, a few files at a time: nobody waits for them.
    private func keep(
        _ keys: [AttachmentKey], _ report: inout PinReport, _ watch: PinWatch?
    ) async throws(SyncError) {
        var rest = keys[...]
        var stopped: SyncError?
        await withTaskGroup(of: (AttachmentKey, Result<MaterializedFile, SyncError>).self) {
            group in
            for key in rest.prefix(Self.pinsAtOnce) {
                group.addTask { (key, await self.fetchPinned(key, watch)) }
            }
            rest = rest.dropFirst(Self.pinsAtOnce)
            while let (key, result) = await group.next() {
                switch result {
                case .success(let file):
                    report.fetched += 1
                    report.bytes += file.bytesFetched
                    watch?.tried(key, came: true)
                case .failure(let error):
                    stopped = stopped ?? report.note(error, key)
                    watch?.tried(key, came: false)
                }
                guard stopped == nil, let next = rest.popFirst() else { continue }
                group.addTask { (next, await self.fetchPinned(next, watch)) }
            }
        }
        if let stopped { throw stopped }
    }

    private func fetchPinned(
        _ key: AttachmentKey, _ watch: PinWatch?
    ) async -> Result<MaterializedFile, SyncError> {
        do throws(SyncError) {
            return .success(
                try await materializer.file(
                    key, handsOut: false, priority: .background, watch: watch?.watcher(key)))
        } catch {
            return .failure(error)
        }
    }

    private static let pinsAtOnce = 4

    /// Removes an attachment's bytes from this device; its address and its thumbnail stay.
    ///
    /// Answers what that freed.
    /// - Throws: `pinned` if it is pinned, `busy` if somebody uses them.
    public func evict(_ key: AttachmentKey) async throws(SyncError) -> Int64 {
        try requireOpen("evict \(key.id)")
        guard let row = try await catalog.attachment(key) else {
            throw SyncError(.noSuchID, "evict", "there is no attachment \(key)")
        }
        guard let ref = row.ref else { return 0 }
        let room = materializer.room
        let record = ref.recordName
        let (outcome, unnoted) = try await room.noting({ $0.record == record }) {
            () async throws(SyncError) in
            try await room.evict(record)
        }
        switch outcome {
        case .gone(let bytes):
            try await catalog.noteRoom()
            broadcast.send(.attachment(key, .remote, bytes: 0))
            return bytes + unnoted
        case .notHere: return 0
        case .isPinned:
            throw SyncError(.pinned, "evict \(key.id)", "it is pinned", hint: "unpin it first")
        case .isInUse:
            throw SyncError(
                .busy, "evict \(key.id)", "somebody is using it, or it cannot be removed now",
                hint: "try again when it is closed")
        }
    }

    /// Removes all bytes that are neither pinned nor in use; addresses and thumbnails stay.
    public func evictAll() async throws(SyncError) -> EvictionReport {
        try requireOpen("evict everything")
        let room = materializer.room
        var (evicted, unnoted) = try await room.noting({ _ in true }) {
            () async throws(SyncError) in
            try await room.evictAll()
        }
        evicted.bytes += unnoted
        if evicted.files > 0 {
            try await catalog.noteRoom()
            broadcast.send(.catalog)
        }
        return evicted
    }

    /// Notices if somebody emptied the cache; costs two looks at the disk if not.
    func noticePurge() async {
        if await Purge(catalog: catalog, places: opened.places).notice() {
            broadcast.send(.catalog)
        }
    }

    private func setPinned(_ key: AttachmentKey, _ isPinned: Bool) async throws(SyncError) {
        let operation = isPinned ? "pin \(key.id)" : "unpin \(key.id)"
        try requireOpen(operation)
        guard let row = try await catalog.attachment(key) else {
            throw SyncError(.noSuchID, operation, "there is no attachment \(key)")
        }
        guard row.isPinned != isPinned else { return }
        try await catalog.pin(row: row.row, isPinned)
        if !isPinned { try await catalog.noteRoom() }
        // Its state stays; a list draws it anew.
        broadcast.send(.attachment(key, try await states(of: [row])[0].state, bytes: 0))
    }
}

extension PinReport {
    /// Notes why one did not come; answers the error if it is not about that one alone.
    fileprivate mutating func note(_ error: SyncError, _ key: AttachmentKey) -> SyncError? {
        guard case .unavailable(let reason) = error.code,
            !reason.isShared || error.failure?.isBrokenTransfer == true
        else { return error }
        missing[key] = reason
        return nil
    }
}
