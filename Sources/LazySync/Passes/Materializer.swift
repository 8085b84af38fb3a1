internal import SyncPlatform

/// Brings the bytes that somebody opens, each record once however many ask.
actor Materializer {
    let account: AccountID
    let catalog: Catalog
    let places: AccountPlaces
    let access: any AccountAccess
    let locks: TransferLocks
    let room: CacheRoom
    let lane: QueuedRemote.Lane
    let schedule: RetrySchedule
    let policy: Backoff
    let clock: any WaitingClock
    let changed: @Sendable (AttachmentKey, BlobState, Int64) -> Void
    /// Records whose transfer is paused and has let its lock go meanwhile.
    nonisolated let paused = Locked<Set<String>>([])
    private var running: [String: Running] = [:]
    private var transfers = 0

    /// What opening needs beyond the catalog; asked for only when the bytes are not here.
    protocol AccountAccess: Sendable {
        /// The account's keys, from the key store.
        func keys() async throws(SyncError) -> AccountKeys
        func remote() async throws(SyncError) -> any Remote
        /// Brings the catalog up to date once: a record that is gone may have a new address.
        func pullOnce() async throws(SyncError)
        /// Answers what must be held while files of the account are written.
        ///
        /// - Throws: `notLoggedIn` after a logout.
        func enter(_ operation: String) throws(SyncError) -> FileLock.Token?
    }

    /// Addresses of one attachment that are tried in a row.
    private static let mostAddresses = 3

    /// A transfer that is going on, and those who wait for it.
    private struct Running {
        let number: Int
        let task: Task<Fetched, any Error>
        let watchers: Watchers
        let handsOut: Bool
        let ticket: TransferQueue.Ticket
        var waiting = 0
    }

    /// What a transfer cost.
    struct Fetched: Sendable {
        let path: String
        var bytes: Int64 = 0
        var requests = 0
    }

    init(
        account: AccountID, catalog: Catalog, places: AccountPlaces, access: any AccountAccess,
        lane: QueuedRemote.Lane, schedule: RetrySchedule, policy: Backoff, clock: any WaitingClock,
        changed: @escaping @Sendable (AttachmentKey, BlobState, Int64) -> Void
    ) {
        self.account = account
        self.catalog = catalog
        self.places = places
        self.access = access
        self.lane = lane
        self.schedule = schedule
        self.policy = policy
        self.clock = clock
        self.changed = changed
        locks = TransferLocks(places)
        room = CacheRoom(catalog: catalog, places: places, clock: clock)
    }

    /// The path of an attachment's verified bytes; they are brought here first if they must.
    ///
    /// `again` is a person's word: it counts more than a host that asked to wait. `watch` is told
    /// of the chunks that are here while the transfer goes on. A path that is handed out to a person
    /// is safe from eviction for a while.
    func file(
        _ key: AttachmentKey, again: Bool = false, handsOut: Bool = true,
        priority: TransferQueue.Priority = .opened,
        watch: Watchers.Watcher? = nil
    ) async throws(SyncError) -> MaterializedFile {
        if again {
            // Only now does it hold what the host asked of programs before this one.
            _ = try? await access.remote()
            lane.gate.open(lane.host)
        }
        var isAgain = again
        for _ in 0..<Self.mostAddresses {
            let (row, ref) = try await addressed(key)
            if !isAgain, let path = try await here(row, ref),
                try await isNoted(row, ref, handsOut: handsOut)
            {
                return MaterializedFile(
                    key: key, path: path, size: row.size, bytesFetched: 0, requests: 0)
            }
            do {
                let fetched = try await join(
                    row, ref, again: isAgain, handsOut: handsOut, priority, watch)
                return MaterializedFile(
                    key: key, path: fetched.path, size: row.size, bytesFetched: fetched.bytes,
                    requests: fetched.requests)
            } catch is AddressChanged {
                isAgain = false
            } catch {
                throw SyncError("open \(key.id)", error)
            }
        }
        throw SyncError(
            .unavailable(.notFound), "open \(key.id)",
            "its address changes faster than it can be read")
    }

    /// The path of a file that is here and still the one that was proved; nil otherwise.
    ///
    /// Needs neither the key store nor the network.
    func here(_ row: AttachmentRow, _ ref: CloudBlobRef) async throws(SyncError) -> String? {
        guard let mark = row.blob?.mark, mark.size == row.size else { return nil }
        return try SyncError.mapping("open \(row.key.id)") {
            let place = BlobPlace(record: ref.recordName, under: places.blobs)
            // Under the extension of this attachment's name, or of another one's with this record.
            let expected = place.content(BlobPlace.suffix(of: row.name))
            let facts = try FileSystem.facts(expected)
            let path = facts == nil ? try place.contentPath() : expected
            guard let path, let facts = try facts ?? FileSystem.facts(path) else { return nil }
            return try HereMark(boot: System.bootID(), facts: facts) == mark ? path : nil
        }
    }

    /// Notes that a file that is here was opened; false if it was evicted meanwhile.
    ///
    /// What was opened last already needs no note, unless its safe time runs out.
    func isNoted(
        _ row: AttachmentRow, _ ref: CloudBlobRef, handsOut: Bool
    ) async throws(SyncError) -> Bool {
        if let blob = row.blob, blob.isNewest, !handsOut || CacheRoom.isNoted(blob, at: clock.now) {
            return true
        }
        do throws(SyncError) {
            return try await catalog.noteOpened(
                ref.recordName, handedAt: handsOut ? clock.now : nil)
        } catch {
            // What is here opens, also from a disk that is full or read-only.
            return true
        }
    }

    /// What is being fetched now, here or by another process.
    nonisolated func pending() throws(SyncError) -> TransferLocks.Held {
        try SyncError.mapping("read the transfer locks") {
            // Before and after the locks: one goes from here to there and back.
            let before = paused.withLock { $0 }
            var held = try locks.held()
            held.paused = before.union(paused.withLock { $0 })
            return held
        }
    }

    /// The attachment as the catalog has it now.
    func row(_ key: AttachmentKey) async throws(SyncError) -> AttachmentRow {
        guard let row = try await catalog.attachment(key) else {
            throw SyncError(.noSuchID, "open \(key.id)", "there is no attachment \(key)")
        }
        return row
    }

    /// The attachment and its address, if it has one.
    func addressed(
        _ key: AttachmentKey
    ) async throws(SyncError) -> (row: AttachmentRow, ref: CloudBlobRef) {
        let row = try await row(key)
        if let reason = row.address.reason {
            throw SyncError(.unavailable(reason), "open \(key.id)", reason.help)
        }
        guard let ref = row.ref else {
            throw SyncError(.unavailable(.addressMissing), "open \(key.id)", "no address")
        }
        return (row, ref)
    }

    /// The records that are being brought now, or wait for their turn or their next request.
    var underWay: Set<String> { Set(running.keys) }

    // MARK: One transfer for many

    /// Waits for the record's transfer, which begins with the first who asks and ends with the
    /// last.
    private func join(
        _ row: AttachmentRow, _ ref: CloudBlobRef, again: Bool, handsOut: Bool,
        _ priority: TransferQueue.Priority, _ watch: Watchers.Watcher?
    ) async throws -> Fetched {
        let record = ref.recordName
        var transfer =
            running[record] ?? begin(row, ref, again: again, handsOut: handsOut, priority)
        transfer.waiting += 1
        running[record] = transfer
        let ticket = watch.map { transfer.watchers.add($0) }
        defer {
            if let ticket { transfer.watchers.remove(ticket) }
            leave(record, transfer.number)
        }
        if priority < transfer.ticket.priority {
            await lane.queue.raise(transfer.ticket, to: priority)
        }
        let fetched = try await transfer.task.valueUnlessCancelled()
        // Whoever began it may have wanted no path.
        if handsOut, !transfer.handsOut {
            // It may have been evicted meanwhile; what cannot be noted is here all the same.
            let isHere = try? await catalog.noteOpened(record, handedAt: clock.now)
            if isHere == false { throw AddressChanged() }
        }
        return fetched
    }

    private func begin(
        _ row: AttachmentRow, _ ref: CloudBlobRef, again: Bool, handsOut: Bool,
        _ priority: TransferQueue.Priority
    ) -> Running {
        transfers += 1
        let (number, watchers, ticket) = (transfers, Watchers(), lane.ticket(priority))
        let task = Task {
            // Whoever asks from here on, be it a moment later, asks anew.
            defer {
                end(ref.recordName, number)
                watchers.end()
            }
            let tenant = try access.enter("open \(row.key.id)")
            defer { withExtendedLifetime(tenant) {} }
            do {
                return try await self.transfer(
                    row, ref, again: again, handsOut: handsOut, ticket, watchers)
            } catch {
                // What was reserved for chunks that did not come is room for others.
                try? await room.settle(ref.recordName)
                throw error
            }
        }
        return Running(
            number: number, task: task, watchers: watchers, handsOut: handsOut, ticket: ticket)
    }

    /// Ends every transfer; whoever waits learns that it was cancelled.
    func cancelAll() {
        for transfer in running.values { transfer.task.cancel() }
    }

    private func end(_ record: String, _ number: Int) {
        if running[record]?.number == number { running[record] = nil }
    }

    /// The chunks of a whole transfer that goes on here, as they come; nil if there is none.
    func chunks(of record: String) -> AsyncStream<ChunkSet>? {
        running[record]?.watchers.chunks()
    }

    private func leave(_ record: String, _ number: Int) {
        guard let transfer = running[record], transfer.number == number else { return }
        running[record]?.waiting -= 1
        guard transfer.waiting == 1 else { return }
        running[record] = nil
        transfer.task.cancel()
    }
}
