internal import SyncPlatform

/// One transfer: the record's lock, its missing chunks, and what is noted if they do not come.
extension Materializer {
    /// Brings one record here under its lock, and tells what came of it, once for all who wait.
    func transfer(
        _ row: AttachmentRow, _ ref: CloudBlobRef, again: Bool, handsOut: Bool,
        _ ticket: TransferQueue.Ticket, _ watchers: Watchers
    ) async throws -> Fetched {
        changed(row.key, .pending, 0)
        do {
            let fetched = try await fetchBetweenPauses(
                row, ref, again: again, handsOut: handsOut, ticket, watchers)
            changed(row.key, .here, row.size)
            return fetched
        } catch {
            let cause = Self.isGone(error) ? await cause(of: error, row, ref) : error
            if cause is AddressChanged {
                changed(row.key, .remote, 0)
                throw cause
            }
            throw await note(cause, row, ref.recordName)
        }
    }

    /// Fetches under the record's lock, which others may have while somebody pauses this process.
    private func fetchBetweenPauses(
        _ row: AttachmentRow, _ ref: CloudBlobRef, again: Bool, handsOut: Bool,
        _ ticket: TransferQueue.Ticket, _ watchers: Watchers
    ) async throws -> Fetched {
        let record = ref.recordName
        defer { paused.withLock { _ = $0.remove(record) } }
        var (bytes, requests) = (Int64(0), 0)
        var again = again
        var pause: Paused?
        while true {
            do {
                var fetched = try await fetchUnderLock(
                    row, ref, again: again, handsOut: handsOut, ticket, watchers)
                fetched.bytes += bytes
                fetched.requests += requests
                withExtendedLifetime(pause) {}
                return fetched
            } catch let now as Paused {
                pause = now
                bytes += now.fetched.bytes
                requests += now.fetched.requests
                // Another process may have brought all of it meanwhile.
                again = false
                try await lane.queue.pass(ticket)
            }
        }
    }

    private func fetchUnderLock(
        _ row: AttachmentRow, _ ref: CloudBlobRef, again: Bool, handsOut: Bool,
        _ ticket: TransferQueue.Ticket, _ watchers: Watchers
    ) async throws -> Fetched {
        let record = ref.recordName
        let (blob, geometry) = try await sealedBlob(row, ref)
        let held = try await takeLock(record)
        defer { withExtendedLifetime(held) {} }
        paused.withLock { _ = $0.remove(record) }
        // Whoever held the lock may have brought the bytes meanwhile.
        let now = try await self.row(row.key)
        if !again, let path = try await here(now, ref),
            try await isNoted(now, ref, handsOut: handsOut)
        {
            return Fetched(path: path)
        }
        // From here on nobody else removes the record's files.
        let use = try await Blocking.run { [places] in
            try places.makeCacheFolders()
            return try BlobUses(places).share(record)
        }
        let whole = DiskCost.blob(row.size)
        guard
            try await room.reserve(
                record, row: row.row, bytes: whole, whole: whole, isFetched: true)
        else { throw AddressChanged() }
        defer { withExtendedLifetime(use) {} }
        try await SyncError.mapping("open \(row.key.id)") { [places] in
            try await Blocking.run { try TrashFolder(places).giveBack(record) }
        }
        do {
            return try await fetch(row, record, blob, geometry, handsOut, ticket, watchers)
        } catch let error as FileError where error.code == .notFound {
            // Somebody emptied the cache meanwhile, and took the file that was being written.
            _ = try access.enter("open \(row.key.id)")
            try places.makeCacheFolders()
            return try await fetch(row, record, blob, geometry, handsOut, ticket, watchers)
        }
    }

    /// What opens a record's chunks, and where they are.
    func sealedBlob(
        _ row: AttachmentRow, _ ref: CloudBlobRef
    ) async throws(SyncError) -> (SealedBlob, BlobGeometry) {
        let keys = try await access.keys()
        guard let geometry = BlobGeometry(length: UInt64(row.size)) else {
            throw SyncError(.unavailable(.addressInvalid), "open", "a size that cannot be")
        }
        var opener = RefOpener(keys: keys, account: account)
        let blob = opener.blob(
            ref.packed.span, entry: row.key.item, attachment: row.key.id, role: .original)
        // Every address unwrapped when it came, so it is the key that is another one now.
        guard let blob else { throw SyncError.anotherKey("open \(row.key.id)") }
        return (blob, geometry)
    }

    private func fetch(
        _ row: AttachmentRow, _ record: String, _ blob: SealedBlob, _ geometry: BlobGeometry,
        _ handsOut: Bool, _ ticket: TransferQueue.Ticket, _ watchers: Watchers
    ) async throws -> Fetched {
        let place = BlobPlace(record: record, under: places.blobs)
        let (file, present) = try await Blocking.run {
            try BlobFile.open(place, blob, geometry)
        }
        let key = row.key
        let store = ChunkStore(file, blob, geometry, present: present) { [changed] chunks in
            watchers.tell(file, chunks)
            changed(key, .pending, geometry.plainBytes(of: chunks))
        }
        watchers.tell(file, present)
        var fetched = Fetched(path: "")
        var cleared: [UnavailableReason] = [.diskFull, .keyMissing]
        if !present.isComplete { _ = try await fillFromSpool(record, store) }
        if !store.chunks.isComplete {
            let remote = QueuedRemote(
                remote: try await access.remote(), lane: lane, ticket: ticket, isResumable: true,
                leavesOnPause: true)
            var transfer = BlobTransfer(
                record: record, store: store, remote: remote, policy: policy, clock: clock)
            transfer.endsOnPause = true
            func cost() -> (Int64, Int) {
                let before = geometry.plainBytes(of: present)
                return (geometry.plainBytes(of: store.chunks) - before, transfer.requests)
            }
            do {
                try await transfer.run()
            } catch let failure as RemoteFailure where failure.isPaused {
                (fetched.bytes, fetched.requests) = cost()
                // Before the locks go: it stays pending, and nobody removes what came.
                paused.withLock { _ = $0.insert(record) }
                throw Paused(fetched: fetched, use: try BlobUses(places).share(record))
            } catch {
                throw TransferFailure(
                    cause: error, verified: geometry.plainBytes(of: store.chunks),
                    attempts: transfer.attempts.withoutProgress)
            }
            (fetched.bytes, fetched.requests) = cost()
            cleared += [.offline, .throttled, .signedOut]
        }
        let suffix = BlobPlace.suffix(of: row.name)
        let (path, facts) = try file.publish(extension: suffix)
        // Somebody saved into it while it was proved: what was proved is not what is there.
        if present.isComplete, !file.isAsProved(facts) { throw AddressChanged() }
        let mark = HereMark(boot: try System.bootID(), facts: facts)
        try await catalog.markHere(
            record, through: row.row, mark, handedAt: handsOut ? clock.now : nil,
            clearing: cleared)
        schedule.came(record)
        return Fetched(path: path, bytes: fetched.bytes, requests: fetched.requests)
    }

    /// Brings what the spool has of a record; false if it does not have all that is wanted.
    func fillFromSpool(_ record: String, _ store: ChunkStore) async throws -> Bool {
        guard let blob = try await catalog.spooled(record) else { return false }
        let source = SpoolSource(spool: Spool(places), blob: blob)
        return try await Blocking.run { try source.fill(store) }
    }

    /// Takes the record's lock, waiting for whoever has it; it dies with its holder.
    private func takeLock(_ record: String) async throws -> FileLock.Token {
        while true {
            if let held = try locks.tryLock(record) { return held }
            try await clock.wait(.milliseconds(50))
        }
    }

    /// Somebody pauses: what came so far, and what keeps others from removing it meanwhile.
    private struct Paused: Error {
        let fetched: Fetched
        let use: FileLock.Token
    }

    // MARK: Failures

    /// A transfer's end without success, with what it had reached.
    struct TransferFailure: Error {
        let cause: any Error
        let verified: Int64
        let attempts: Int
    }

    /// The record is gone, and the attachment has a newer address by now.
    struct AddressChanged: Error {}

    static func isGone(_ error: any Error) -> Bool {
        let failure = (error as? TransferFailure)?.cause as? RemoteFailure
        return failure?.reason == .notFound
    }

    /// Why a record is gone: it may only be this catalog's old address, so it pulls once to know.
    ///
    /// What kept the catalog from being brought up to date is the reason then: nothing is known.
    func cause(
        of gone: any Error, _ row: AttachmentRow, _ ref: CloudBlobRef
    ) async -> any Error {
        do throws(SyncError) {
            try await access.pullOnce()
            let now = try await self.row(row.key)
            return now.ref?.recordName == ref.recordName ? gone : AddressChanged()
        } catch {
            return error
        }
    }

    /// Notes why the bytes did not come, once for all who waited, and answers it.
    func note(_ error: any Error, _ row: AttachmentRow, _ record: String) async -> SyncError {
        let failure = error as? TransferFailure
        let cause = failure?.cause ?? error
        let known = SyncError("open \(row.key.id)", cause)
        let verified = failure?.verified ?? 0
        guard case .unavailable(let reason) = known.code else {
            changed(row.key, .remote, verified)
            return known
        }
        var evidence = known.failure?.evidence ?? Evidence()
        evidence.bytes = verified
        evidence.attempts = failure?.attempts ?? 0
        evidence.lastAttempt = Timestamp(seconds: clock.now)
        evidence.nextAttempt =
            known.failure?.nextAttempt(after: clock.now)
            ?? schedule.next(after: reason, evidence, of: record)
        // A disk too full for this note must not hide what it was about.
        try? await catalog.markFailed(
            record, through: row.row, seen: row.blob?.mark, reason, evidence)
        changed(row.key, .unavailable(reason), verified)
        return known
    }
}
