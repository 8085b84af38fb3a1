internal import SyncPlatform

/// Bytes: opening, streaming, saving, thumbnails, and asking again.
extension SyncEngine {
    /// Brings an attachment's bytes here, verified, and answers the file; at once if they are here.
    ///
    /// `progress` is told of the verified bytes and of how many there are.
    /// - Throws: `unavailable` with the reason; the list shows the same reason from then on.
    public func materialize(
        _ key: AttachmentKey, progress: (@Sendable (Int64, Int64) -> Void)? = nil
    ) async throws(SyncError) -> MaterializedFile {
        try requireOpen("open \(key.id)")
        return try await unlessLoggedOut { () async throws(SyncError) in
            try await materializer.file(key, watch: Self.watcher(progress))
        }
    }

    /// Asks again for an attachment that is unavailable, with a new request, and tells what came.
    public func retry(
        _ key: AttachmentKey, progress: (@Sendable (Int64, Int64) -> Void)? = nil
    ) async throws(SyncError) -> Explanation {
        try requireOpen("retry \(key.id)")
        return try await unlessLoggedOut { () async throws(SyncError) in
            let before = try await explain(key)
            // Marked as here and gone from the cache is not here.
            if before.path != nil { return before }
            if before.recordName == nil { try await pullOnce() }
            do throws(SyncError) {
                _ = try await materializer.file(key, again: true, watch: Self.watcher(progress))
            } catch {
                guard case .unavailable = error.code else { throw error }
            }
            return try await explain(key)
        }
    }

    /// Streams verified bytes in order while they come.
    ///
    /// `write` may block, and may throw to stop. What the cache has no room for is streamed all the
    /// same, through a few MiB of memory; its path is empty then.
    public func stream(
        _ key: AttachmentKey, write: @escaping @Sendable (Span<UInt8>) throws -> Void
    ) async throws(SyncError) -> MaterializedFile {
        try requireOpen("open \(key.id)")
        // Whoever writes to a pipe may wait for long: the account's lock is held by what reads and
        // brings the bytes, a piece at a time.
        return try await unlessLoggedOut { () async throws(SyncError) in
            try await SyncError.mapping("open \(key.id)") {
                try await ByteStream(
                    materializer: materializer, key: key, room: readingRoom,
                    reader: { () async throws(SyncError) in try await self.reader(for: key) },
                    write: write
                ).run()
            }
        }
    }

    /// Copies verified bytes to a folder, under a safe form of their own name, or to a new file.
    ///
    /// Never over another file. What the cache has no room for is copied while it comes.
    public func save(
        _ key: AttachmentKey, to destination: String
    ) async throws(SyncError) -> String {
        try requireOpen("save \(key.id)")
        guard let row = try await catalog.attachment(key) else {
            throw SyncError(.noSuchID, "save", "there is no attachment \(key)")
        }
        return try await SyncError.mapping("save \(key.id)") {
            try SaveName.check(destination)
            while true {
                let path = try SaveName.path(for: row.name, in: destination)
                let new = try NewFile(path)
                let file = new.file
                _ = try await self.stream(key) { try file.append($0) }
                do {
                    try new.publish()
                    return path
                } catch let error as FileError {
                    // Somebody else took the name meanwhile; in a folder there are others.
                    guard error.code == .exists, path != destination else {
                        throw SaveName.refusal(error, path)
                    }
                }
            }
        }
    }

    /// Answers an attachment's thumbnail; fetches it if it is not here.
    public func thumbnail(_ key: AttachmentKey) async throws(SyncError) -> MaterializedFile {
        try requireOpen("open the thumbnail of \(key.id)")
        guard let row = try await catalog.attachment(key) else {
            throw SyncError(.noSuchID, "open a thumbnail", "there is no attachment \(key)")
        }
        switch row.thumbnail {
        case .none:
            throw SyncError(
                .unavailable(.addressMissing), "open a thumbnail", "it has no thumbnail",
                hint: "open the attachment itself")
        case .addressAbsent, .addressInvalid:
            let reason: UnavailableReason =
                row.thumbnail == .addressAbsent ? .addressMissing : .addressInvalid
            throw SyncError(.unavailable(reason), "open a thumbnail", reason.help)
        default: break
        }
        return try await unlessLoggedOut { () async throws(SyncError) in
            try await thumbnail(row)
        }
    }

    private func thumbnail(_ row: AttachmentRow) async throws(SyncError) -> MaterializedFile {
        let key = row.key
        // A small photo without a thumbnail is its own.
        guard row.thumbnailRef != nil else {
            return try await materializer.file(key, priority: .visible)
        }
        do throws(SyncError) {
            return try await fetchThumbnail(key)
        } catch  where error.code == .unavailable(.notFound) {
            // It may only be this catalog's old address.
            try await pullOnce()
            let now = try await catalog.attachment(key)?.thumbnailRef
            guard let now, now.recordName != row.thumbnailRef?.recordName else { throw error }
            return try await fetchThumbnail(key)
        }
    }

    // MARK: Thumbnails

    func fetchThumbnails(
        _ progress: (@Sendable (RestoreProgress) -> Void)?
    ) async throws(SyncError) -> Int64 {
        try await catalog.renewFailedThumbnails()
        let due = try await catalog.tallies()[.thumbnailsDue] ?? 0
        guard due > 0 else { return 0 }
        var fetcher = try await thumbnailFetcher()
        if let progress {
            fetcher.progress = { done in
                progress(RestoreProgress(phase: .thumbnails, done: done, total: due, bytes: 0))
            }
        }
        let outcome = try await fetcher.run()
        if let stopped = outcome.stopped {
            guard try await note(stopped) else { throw stopped }
        }
        return outcome.bytes
    }

    private func thumbnailFetcher() async throws(SyncError) -> ThumbnailFetcher {
        try SyncError.mapping("open the cache") { try opened.places.makeCacheFolders() }
        let remote = try await opened.remote()
        var policy = configuration.policy
        // A thumbnail that does not come in a few tries must not hold up the others.
        policy.attempts = min(policy.attempts, 3)
        let spool = try await catalog.hasSpooled() ? Spool(opened.places) : nil
        return ThumbnailFetcher(
            account: opened.scope.account, keys: try await opened.keys(), catalog: catalog,
            store: thumbnails, spool: spool, locks: TransferLocks(opened.places),
            room: materializer.room,
            fetcher: SmallBlob(remote: remote, policy: policy, clock: configuration.clock),
            lane: opened.lane, desk: desk, looks: looks,
            materialize: { [materializer] key throws(SyncError) in
                try await materializer.file(key, handsOut: false, priority: .thumbnail)
            },
            changed: { [broadcast] key, state in broadcast.send(.thumbnail(key, state)) })
    }

    private func fetchThumbnail(_ key: AttachmentKey) async throws(SyncError) -> MaterializedFile {
        while true {
            let tenant = try opened.enter("open a thumbnail")
            defer { withExtendedLifetime(tenant) {} }
            guard let row = try await catalog.attachment(key) else {
                throw SyncError(.noSuchID, "open a thumbnail", "there is no attachment \(key)")
            }
            // A small photo without one of its own, by now.
            guard let ref = row.thumbnailRef else {
                return try await materializer.file(key, priority: .visible)
            }
            looks.note(row.row)
            let wish = ThumbnailDesk.Wish(record: ref.recordName, key: key)
            let ticket = opened.lane.ticket(.visible)
            let one = await desk.look(wish, ticket, opened.lane.queue) {
                do throws(SyncError) {
                    return try await self.bringThumbnail(wish, ticket)
                } catch {
                    return ThumbnailFetcher.One(stopped: error)
                }
            }
            if let file = try await file(one) { return file }
        }
    }

    /// The file of a thumbnail that came; nil if one has to look again.
    private func file(
        _ one: ThumbnailFetcher.One
    ) async throws(SyncError) -> MaterializedFile? {
        if let stopped = one.stopped {
            // If a restore had it and was cancelled, whoever looks at it has not changed their mind.
            if stopped.code == .cancelled, !Task.isCancelled { return nil }
            _ = try? await note(stopped)
            throw stopped
        }
        guard let result = one.result, let ref = result.work.ref else { return nil }
        // A restore brought it, and notes many at once, later.
        if !one.isDone { try await catalog.save([result]) }
        if let reason = result.reason {
            throw SyncError(.unavailable(reason), "open a thumbnail", reason.help)
        }
        let size = Int64(result.work.size)
        return MaterializedFile(
            key: result.work.key, path: thumbnails.path(ref.recordName, type: result.work.type),
            size: size, bytesFetched: one.received > 0 ? size : 0,
            requests: one.received > 0 ? 1 : 0)
    }

    /// Answers a thumbnail that is here, or brings it, for all who look at it now.
    private func bringThumbnail(
        _ wish: ThumbnailDesk.Wish, _ ticket: TransferQueue.Ticket
    ) async throws(SyncError) -> ThumbnailFetcher.One {
        let tenant = try opened.enter("open a thumbnail")
        defer { withExtendedLifetime(tenant) {} }
        guard let row = try await catalog.attachment(wish.key),
            let (work, tags) = try await catalog.thumbnail(wish.key), let ref = work.ref,
            ref.recordName == wish.record
        else { return ThumbnailFetcher.One() }
        // It is held in memory, and its size is whatever another client wrote.
        guard work.size <= ThumbnailFetcher.largest else {
            throw SyncError(
                .unavailable(.tooLarge), "open a thumbnail", "it is too large for a thumbnail",
                hint: "open the attachment itself")
        }
        let path = thumbnails.path(ref.recordName, type: work.type)
        if row.thumbnail == .here, try await proves(path, work, tags) {
            return ThumbnailFetcher.One(
                result: ThumbnailResult(work: work, state: .here, tags: tags), isDone: true)
        }
        // Only now: one that is here needs no server.
        return try await thumbnailFetcher().look(work, ref, ticket)
    }

    private func proves(
        _ path: String, _ work: ThumbnailWork, _ tags: [UInt8]
    ) async throws(SyncError) -> Bool {
        var opener = RefOpener(keys: try await opened.keys(), account: opened.scope.account)
        guard let ref = work.ref, let geometry = BlobGeometry(length: work.size),
            let blob = opener.blob(
                ref.packed.span, entry: work.key.item, attachment: work.key.id, role: .thumbnail)
        else { return false }
        return thumbnails.proves(path, blob, geometry, tags: tags)
    }

    private static func watcher(
        _ progress: (@Sendable (Int64, Int64) -> Void)?
    ) -> Watchers.Watcher? {
        guard let progress else { return nil }
        return { file, chunks in
            progress(file.geometry.plainBytes(of: chunks), Int64(file.geometry.length))
        }
    }
}
