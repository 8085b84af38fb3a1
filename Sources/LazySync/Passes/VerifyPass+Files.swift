internal import SyncPlatform

/// Originals and thumbnails that are marked as here, against their files.
extension VerifyPass {
    // MARK: Originals

    /// What one look at a record's folder tells.
    private enum Look: Sendable {
        /// The file that was proved, unchanged.
        case fits(path: String)
        case changed(path: String)
        case missing
        /// Something that is no file of ours is in its place, or among its files.
        case strange(path: String)
        /// It cannot be looked at now.
        case unreadable
    }

    mutating func checkBlobs() async throws(SyncError) {
        var last = ""
        while true {
            let page = try await catalog.markedBlobs(after: last, limit: Self.page)
            guard let end = page.last else { return }
            let boot = try SyncError.mapping("verify") { try System.bootID() }
            let places = places
            let looks = try await blocking { page.map { Self.look(at: $0, places, boot) } }
            for (blob, look) in zip(page, looks) {
                let place = VerifyPlace.blob(last)
                try await checkCancellation(at: last.isEmpty ? nil : place)
                try await check(blob, look)
                last = blob.record
                await came(to: .blob(last))
                looked()
            }
            last = end.record
            await came(to: .blob(last), isEndOfPage: true)
        }
    }

    private static func look(
        at blob: MarkedBlob, _ places: AccountPlaces, _ boot: String
    ) -> Look {
        do {
            let place = BlobPlace(record: blob.record, under: places.blobs)
            if let path = try place.strangers().first { return .strange(path: path) }
            let expected = place.content(BlobPlace.suffix(of: blob.name))
            let facts = try FileSystem.facts(expected)
            let path = facts == nil ? try place.contentPath() : expected
            guard let path, let facts = try facts ?? FileSystem.facts(path) else { return .missing }
            return HereMark(boot: boot, facts: facts) == blob.mark
                ? .fits(path: path) : .changed(path: path)
        } catch {
            return .unreadable
        }
    }

    private mutating func check(_ blob: MarkedBlob, _ look: Look) async throws(SyncError) {
        switch look {
        case .fits(let path):
            if isChosen(), !isDone(.blob(blob.record)) { try await prove(blob, path) }
        case .changed(let path): try await prove(blob, path)
        case .missing: try await miss(blob)
        case .strange(let path):
            guard try await isStillMarked(blob) else { return }
            var problem = VerifyProblem(kind: .damaged, key: blob.key, path: path)
            problem.detail = "something else is in its place"
            if options.repair { problem.repaired = try await repair.replace(blob) }
            add(problem)
        case .unreadable: report.skipped += 1
        }
    }

    private mutating func miss(_ blob: MarkedBlob) async throws(SyncError) {
        // Somebody may have evicted it since the page was read.
        guard try await isStillMarked(blob) else { return }
        var problem = VerifyProblem(kind: .missing, key: blob.key)
        problem.path = BlobPlace(record: blob.record, under: places.blobs).folder
        if options.repair { problem.repaired = try await repair.forget(blob) }
        add(problem)
    }

    private mutating func prove(_ blob: MarkedBlob, _ path: String) async throws(SyncError) {
        guard let geometry = BlobGeometry(length: UInt64(blob.size)) else { return }
        let proof = BlobProof(
            path: path, tags: BlobPlace(record: blob.record, under: places.blobs).tags,
            blob: try await open(blob.ref, blob.key, .original), geometry: geometry)
        let result: BlobProof.Result
        do throws(SyncError) {
            result = try await run(proof, of: blob.record)
        } catch {
            if error.code == .cancelled { throw error }
            // What is not there any more is missing; anything else is tried again at the next check.
            if FileSystem.isGone(path) { try await miss(blob) } else { report.skipped += 1 }
            return
        }
        guard result.before == result.after, try await isStillMarked(blob) else { return }
        proved(result.bytes)
        let lengthFits = result.after.size == blob.size
        guard result.bad.isEmpty, lengthFits else {
            var problem = VerifyProblem(kind: .damaged, key: blob.key, path: path)
            problem.chunks = Array(result.bad.prefix(1_000))
            if !lengthFits { problem.detail = "\(result.after.size) bytes, not \(blob.size)" }
            if options.repair {
                problem.repaired = try await repair.makeAbsent(
                    result.bad, of: blob, at: path, verified: result.bytes)
            }
            add(problem)
            return
        }
        await renew(blob, path, result.after)
    }

    /// Proves a file while nobody removes it.
    private func run(
        _ proof: BlobProof, of record: String
    ) async throws(SyncError) -> BlobProof.Result {
        let isCancelled = Locked(false)
        let uses = BlobUses(places)
        return try await SyncError.mapping("verify") {
            try await withTaskCancellationHandler {
                try await Blocking.run {
                    let use = try uses.share(record)
                    defer { withExtendedLifetime(use) {} }
                    return try proof.run { isCancelled.withLock { $0 } }
                }
            } onCancel: {
                isCancelled.withLock { $0 = true }
            }
        }
    }

    /// Marks a file again that was touched and is still right, so that the next open need not prove
    /// it.
    private func renew(_ blob: MarkedBlob, _ path: String, _ proved: FileFacts) async {
        // On a disk that cannot be written to, the next open proves it.
        try? await catalog.write("mark a file again") { connection in
            guard try connection.blobRecord(blob.record)?.mark == blob.mark else { return }
            let file = try File(path, for: .read)
            // The lock may have taken long: only what was proved is marked.
            guard try file.facts() == proved else { return }
            let mark = HereMark(boot: try System.bootID(), facts: proved)
            guard mark != blob.mark else { return }
            if file.noted(.backup) == nil {
                // What is read-only takes no attribute.
                try file.setMode(0o600)
                file.note(.backup, "false")
            }
            try file.setMode(0o400)
            let facts = try file.facts()
            guard facts.size == proved.size, facts.mtimeNs == proved.mtimeNs else { return }
            try connection.setMark(HereMark(boot: mark.boot, facts: facts), of: blob.record)
        }
    }

    private func isStillMarked(_ blob: MarkedBlob) async throws(SyncError) -> Bool {
        try await catalog.read("look a record up") { connection in
            try connection.blobRecord(blob.record)?.mark == blob.mark
        }
    }

    // MARK: Thumbnails

    mutating func checkThumbnails() async throws(SyncError) {
        let store = ThumbnailStore(folder: places.thumbnails)
        var last: KeptThumbnail?
        while true {
            let page = try await catalog.keptThumbnails(after: last, limit: Self.page)
            guard let end = page.last?.thumbnail else { return }
            let sizes = try await blocking {
                page.map { one in
                    let path = store.path(one.thumbnail.ref.recordName, type: one.thumbnail.type)
                    return (path, Self.size(of: path))
                }
            }
            for (one, (path, size)) in zip(page, sizes) {
                try await checkCancellation(at: last.map(Self.place))
                try await check(one.thumbnail, one.key, path, size, store)
                last = one.thumbnail
                await came(to: Self.place(one.thumbnail))
                looked()
            }
            last = end
            await came(to: Self.place(end), isEndOfPage: true)
        }
    }

    /// The file's length; nil if it is gone, less than nothing if it cannot be looked at now.
    private static func size(of path: String) -> Int64? {
        do throws(FileError) {
            return try FileSystem.facts(path)?.size
        } catch {
            return -1
        }
    }

    private mutating func check(
        _ thumbnail: KeptThumbnail, _ key: AttachmentKey, _ path: String, _ size: Int64?,
        _ store: ThumbnailStore
    ) async throws(SyncError) {
        guard let size else {
            try await complain(.thumbnailMissing, thumbnail, key, path)
            return
        }
        guard size >= 0 else {
            report.skipped += 1
            return
        }
        guard size == thumbnail.size else {
            try await complain(.thumbnailDamaged, thumbnail, key, path)
            return
        }
        guard isChosen(), !isDone(Self.place(thumbnail)),
            let geometry = BlobGeometry(length: UInt64(thumbnail.size)),
            let (work, tags) = try await catalog.thumbnail(key),
            work.ref == thumbnail.ref
        else { return }
        let blob = try await open(thumbnail.ref, key, .thumbnail)
        let isRight: Bool? = try await blocking {
            if (try? File(path, for: .read)) == nil { return nil }
            return store.proves(path, blob, geometry, tags: tags)
        }
        switch isRight {
        case true?: proved(size)
        case false?: try await complain(.thumbnailDamaged, thumbnail, key, path)
        case nil: report.skipped += 1
        }
    }

    private mutating func complain(
        _ kind: VerifyProblem.Kind, _ thumbnail: KeptThumbnail, _ key: AttachmentKey,
        _ path: String
    ) async throws(SyncError) {
        // It may have made room for another one since the page was read.
        let now = try await catalog.attachment(key)
        guard now?.thumbnail == .here, now?.thumbnailRef == thumbnail.ref else { return }
        var problem = VerifyProblem(kind: kind, key: key, path: path)
        if options.repair { problem.repaired = try await repair.renew(thumbnail) }
        add(problem)
    }

    private static func place(_ thumbnail: KeptThumbnail) -> VerifyPlace {
        .thumbnail(createdAt: thumbnail.createdAt, row: thumbnail.row)
    }

    // MARK: Both

    private var repair: CacheRepair { CacheRepair(catalog: catalog, places: places) }

    /// Whether a check before this one, which was interrupted, has come by there.
    private func isDone(_ place: VerifyPlace) -> Bool {
        guard let resumed else { return false }
        return place <= resumed
    }

    func open(
        _ ref: CloudBlobRef, _ key: AttachmentKey, _ role: BlobRole
    ) async throws(SyncError) -> SealedBlob {
        var opener = RefOpener(keys: try await keys(), account: account)
        let blob = opener.blob(ref.packed.span, entry: key.item, attachment: key.id, role: role)
        // Every address unwrapped when it came, so it is the key that is another one now.
        guard let blob else { throw SyncError.anotherKey("verify") }
        return blob
    }
}
