internal import SyncPlatform

/// Fetches thumbnails, many at a time, newest first.
///
/// Each one ends here or failed with its reason; one bad thumbnail never stops the others. What is
/// the device's, the host's or the account's trouble stops all of them, and they stay due.
struct ThumbnailFetcher {
    let account: AccountID
    let keys: AccountKeys
    let catalog: Catalog
    let store: ThumbnailStore
    /// What was added here and not sent yet; nil if nothing is.
    let spool: Spool?
    let locks: TransferLocks
    let room: CacheRoom
    let fetcher: SmallBlob
    let lane: QueuedRemote.Lane
    let desk: ThumbnailDesk
    let looks: RecentLooks
    /// Brings a whole photo that has no thumbnail of its own.
    let materialize: @Sendable (AttachmentKey) async throws(SyncError) -> MaterializedFile
    var changed: @Sendable (AttachmentKey, BlobState) -> Void = { _, _ in }
    /// Told of the thumbnails that are done so far.
    var progress: @Sendable (Int) -> Void = { _ in }

    /// Thumbnails that are under way at once, however few of them may send.
    private static let fewest = 16
    /// The largest thumbnail that is fetched at all, in bytes.
    static let largest: UInt64 = 16 << 20
    private static let batch = 1_024
    /// Thumbnails that one task brings: a task costs as much as a part of one.
    private static let turns = 8

    /// What a run brought.
    struct Outcome: Sendable {
        var done = 0
        var bytes: Int64 = 0
        /// What stopped it, if anything did.
        var stopped: SyncError?
    }

    /// Fetches everything that is due, after whoever is at it now.
    func run() async throws(SyncError) -> Outcome {
        try await SyncError.mapping("fetch thumbnails") {
            while true {
                if let held = try locks.tryLockThumbnails() {
                    defer { withExtendedLifetime(held) {} }
                    return try await fetchDue()
                }
                try await fetcher.clock.wait(.milliseconds(50))
            }
        }
    }

    /// What became of one.
    struct One: Sendable {
        var result: ThumbnailResult?
        /// What came, if it was not written.
        var bytes: [UInt8] = []
        /// Whether its file is there, for whoever waited.
        var isWritten = false
        var received = 0
        var stopped: SyncError?
        /// Whether the catalog says so already, since somebody looked at it.
        var isDone = false
    }

    private func fetchDue() async throws -> Outcome {
        desk.begin()
        defer { desk.end() }
        var outcome = Outcome()
        var last: ThumbnailWork?
        while outcome.stopped == nil {
            let work = try await catalog.dueThumbnails(after: last, limit: Self.batch)
            guard !work.isEmpty else { break }
            last = work.last
            let admission = try await room.admit(work, looks: looks)
            for key in admission.remote { changed(key, .remote) }
            outcome.done += admission.refused
            let results = await fetch(admission.admitted, &outcome)
            try await catalog.save(results)
            withExtendedLifetime(admission) {}
            for result in results { changed(result.work.key, Self.state(of: result)) }
            try Task.checkCancellation()
            if admission.isDiskFull, outcome.stopped == nil {
                outcome.stopped = SyncError(
                    .unavailable(.diskFull), "fetch thumbnails", "there is no room for all of them")
            }
        }
        return outcome
    }

    /// Fetches a batch: each of some tasks brings several, always the newest that is left.
    private func fetch(
        _ work: [ThumbnailWork], _ outcome: inout Outcome
    ) async -> [ThumbnailResult] {
        let batch = Locked(Batch(rest: work[...], outcome: outcome))
        await withTaskGroup(of: Void.self) { group in
            var begun = 0
            var underWay = 0
            repeat {
                progress(batch.withLock { $0.outcome.done })
                // Not many more than may send: what waits there no longer goes in its order.
                let slots = await lane.queue.slots(of: .thumbnail)
                while underWay < max(slots, Self.fewest), batch.withLock({ $0.hasMore }),
                    !Task.isCancelled
                {
                    // The first answers say whether more may send at once.
                    let turns = begun < Self.fewest ? 1 : Self.turns
                    group.addTask { await bring(batch, turns) }
                    begun += 1
                    underWay += 1
                }
                underWay -= 1
            } while await group.next() != nil
        }
        return batch.withLock { batch in
            outcome = batch.outcome
            return batch.results
        }
    }

    /// What is left of a batch, and what came of it.
    private struct Batch {
        var rest: ArraySlice<ThumbnailWork>
        var outcome: Outcome
        var results: [ThumbnailResult] = []

        var hasMore: Bool { !rest.isEmpty && outcome.stopped == nil }

        mutating func add(_ one: One) {
            outcome.bytes += Int64(one.received)
            if let result = one.result, !one.isDone { results.append(result) }
            if one.result != nil || one.isDone { outcome.done += 1 }
            if let stopped = one.stopped { outcome.stopped = outcome.stopped ?? stopped }
        }
    }

    private func bring(_ batch: Locked<Batch>, _ turns: Int) async {
        for _ in 0..<turns where !Task.isCancelled {
            let next = batch.withLock { $0.hasMore ? $0.rest.popFirst() : nil }
            guard let next else { return }
            let one = await bring(next)
            batch.withLock { $0.add(one) }
        }
    }

    /// Fetches one that was admitted, and writes it, unless somebody looks at it.
    private func bring(_ work: ThumbnailWork) async -> One {
        guard let ref = work.ref else { return await fetchWhole(work) }
        let wish = ThumbnailDesk.Wish(record: ref.recordName, key: work.key)
        let ticket = lane.ticket(.thumbnail)
        return await desk.bring(wish, ticket) {
            write(await fetch(work, ref, ticket), store.path(ref.recordName, type: work.type))
        }
    }

    private func write(_ one: One, _ path: String) -> One {
        guard one.result?.state == .here else { return one }
        var one = one
        do throws(FileError) {
            let bytes = one.bytes
            try store.write(bytes.span, to: path)
            // A thousand of them wait to be noted.
            one.bytes = []
            one.isWritten = true
            return one
        } catch {
            return One(stopped: SyncError("fetch thumbnails", error))
        }
    }

    /// Fetches one, and verifies it.
    @concurrent
    func fetch(
        _ work: ThumbnailWork, _ ref: CloudBlobRef, _ ticket: TransferQueue.Ticket
    ) async -> One {
        do {
            guard let geometry = BlobGeometry(length: work.size) else {
                return One(result: ThumbnailResult(work: work, state: .addressInvalid, tags: []))
            }
            var opener = RefOpener(keys: keys, account: account)
            let blob = opener.blob(
                ref.packed.span, entry: work.key.item, attachment: work.key.id, role: .thumbnail)
            // Every address unwrapped when it came, so it is the key that is another one now.
            guard let blob else { throw SyncError.anotherKey("fetch thumbnails") }
            if let found = try await openSpooled(ref.recordName, blob, geometry) {
                return One(
                    result: ThumbnailResult(work: work, state: .here, tags: found.tags),
                    bytes: found.plaintext)
            }
            var fetcher = fetcher
            // A thumbnail is over soon: a pause waits for its end.
            fetcher.remote = QueuedRemote(
                remote: fetcher.remote, lane: lane, ticket: ticket, isResumable: false)
            let fetched = try await fetcher.fetch(ref.recordName, blob, geometry)
            return One(
                result: ThumbnailResult(work: work, state: .here, tags: fetched.tags),
                bytes: fetched.plaintext, received: fetched.received)
        } catch let failure as RemoteFailure {
            // A stall or a cut is this transfer's trouble; no connection at all is everybody's.
            let isOwn = !failure.reason.isShared || failure.isBrokenTransfer
            guard isOwn, !failure.isCancelled else {
                return One(stopped: SyncError("fetch thumbnails", failure))
            }
            return One(result: Self.failed(work, failure.reason))
        } catch {
            return One(stopped: SyncError("fetch thumbnails", error))
        }
    }

    /// A thumbnail that was added here and that the store does not have yet.
    private func openSpooled(
        _ record: String, _ blob: SealedBlob, _ geometry: BlobGeometry
    ) async throws -> SmallBlob.Fetched? {
        guard let spool, let spooled = try await catalog.spooled(record) else { return nil }
        let source = SpoolSource(spool: spool, blob: spooled)
        return try await Blocking.run { try source.open(blob, geometry) }
    }

    private func fetchWhole(_ work: ThumbnailWork) async -> One {
        do throws(SyncError) {
            let file = try await materialize(work.key)
            return One(
                result: ThumbnailResult(work: work, state: .here, tags: []),
                received: Int(file.bytesFetched))
        } catch {
            let isBroken = error.failure?.isBrokenTransfer == true
            guard case .unavailable(let reason) = error.code, !reason.isShared || isBroken else {
                return One(stopped: error)
            }
            return One(result: Self.failed(work, reason))
        }
    }

    private static func failed(
        _ work: ThumbnailWork, _ reason: UnavailableReason
    ) -> ThumbnailResult {
        ThumbnailResult(work: work, state: .failed, tags: [], reason: reason)
    }

    static func state(of result: ThumbnailResult) -> BlobState {
        switch result.state {
        case .here: .here
        case .addressInvalid: .unavailable(.addressInvalid)
        default: .unavailable(result.reason ?? .serverError)
        }
    }
}
