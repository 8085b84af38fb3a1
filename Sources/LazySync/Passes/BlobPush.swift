internal import SyncPlatform

/// One blob that a change names and that the store may not have yet.
struct UploadJob: Sendable {
    /// The entry's row.
    let row: Int64
    let key: AttachmentKey
    let ref: CloudBlobRef
    let spooled: SpooledBlob
}

/// Brings the blobs that some changes name to the store, many at a time, and makes sure that they
/// are there before anything names them.
///
/// One that the store does not take holds up its own item and no other; what is everybody's trouble
/// (no connection, no session) ends the whole.
struct BlobPush {
    let catalog: Catalog
    let places: AccountPlaces
    let remote: any WritableRemote
    let policy: Backoff
    let clock: any WaitingClock
    /// Whether what was refused is asked for again before its time.
    let asksAgain: Bool
    /// Told of bytes that went out since it was last; less than none when some go out again.
    let progress: @Sendable (Int64) -> Void
    let changed: @Sendable (AttachmentKey) -> Void
    /// Called at each point at which a test may want to end the process.
    let reached: @Sendable (String) throws -> Void

    /// What came of some changes.
    struct Outcome: Sendable {
        /// The entries all of whose blobs are at the store.
        var ready: [Int64] = []
        /// Blobs that the store has had and has not any more.
        var swept: [UploadJob] = []
        var refused: [Refusal] = []
        var blobs = 0
        var bytes: Int64 = 0
    }

    /// A blob that the store did not take.
    struct Refusal: Sendable {
        let key: AttachmentKey
        let record: String
        let reason: UnavailableReason
        let next: Int64?
    }

    /// How many small blobs are sent at once, and how many large ones.
    private static let width = 16
    private static let largeWidth = 3
    /// When a store that had no room is asked again, in seconds.
    private static let fullSeconds: Int64 = 900

    /// What all uploads of a run have in common.
    private struct Shared: Sendable {
        let locks: TransferLocks.Many
        let packs: OpenPacks
        /// Whether the store has said that it has no room.
        let isFull = Locked(false)
    }

    private enum Result: Sendable {
        case stored(UploadJob, wasSent: Bool)
        case swept(UploadJob)
        case refused(Refusal)
        /// The store had no room for another one a moment ago.
        case full(UploadJob)
        case skipped
    }

    func run(_ rows: [Int64]) async throws -> Outcome {
        let jobs = try await catalog.uploadJobs(of: rows)
        let small = jobs.filter { UInt64($0.spooled.size) <= BlobUpload.putLimit }
        let large = jobs.filter { UInt64($0.spooled.size) > BlobUpload.putLimit }
        let shared = Shared(
            locks: try TransferLocks.uploads(places).many(), packs: OpenPacks(Spool(places)))
        async let fromSmall = small.concurrently(Self.width) { try await send($0, shared) }
        async let fromLarge = large.concurrently(Self.largeWidth) { try await send($0, shared) }
        let results = try await fromSmall + fromLarge
        var outcome = Outcome()
        var stored: Set<String> = []
        var full: [String] = []
        for result in results {
            switch result {
            case .stored(let job, let wasSent):
                stored.insert(job.spooled.record)
                if wasSent {
                    outcome.blobs += 1
                    outcome.bytes += job.spooled.size
                }
            case .swept(let job): outcome.swept.append(job)
            case .refused(let refusal): outcome.refused.append(refusal)
            case .full(let job): full.append(job.spooled.record)
            case .skipped: break
            }
        }
        try reached("all uploaded")
        try await catalog.note(
            stored: jobs.filter { !$0.spooled.isStored && stored.contains($0.spooled.record) }
                .map(\.spooled.record),
            refused: outcome.refused.map { ($0.record, $0.reason, $0.next) }
                + full.map { ($0, .storeFull, clock.now + Self.fullSeconds) })
        let waiting = Set(jobs.filter { !stored.contains($0.spooled.record) }.map(\.row))
        outcome.ready = rows.filter { !waiting.contains($0) }
        return outcome
    }

    @concurrent
    private func send(_ job: UploadJob, _ shared: Shared) async throws -> Result {
        let spooled = job.spooled
        if !spooled.isStored {
            if isTooEarly(spooled) { return .skipped }
            // What is not even asked for now rests as long as what was refused.
            if shared.isFull.withLock({ $0 }) { return .full(job) }
        }
        var upload = self.upload(of: spooled)
        let last = Locked<Int64>(0)
        upload.progress = { [progress] bytes in
            let new = last.withLock { last in
                defer { last = Int64(bytes) }
                return Int64(bytes) - last
            }
            progress(new)
        }
        do {
            if !spooled.isStored {
                try shared.locks.take(spooled.record)
                changed(job.key)
                defer {
                    shared.locks.letGo(spooled.record)
                    changed(job.key)
                }
                try await upload.run(shared.packs.file(spooled.pack))
                try reached("uploaded")
            }
            switch try await upload.check() {
            case .stored: return .stored(job, wasSent: !spooled.isStored)
            case .missing: return .swept(job)
            }
        } catch let failure as RemoteFailure {
            // A name that was deleted, or is another blob's, is as good as swept: a fresh one helps.
            if failure.reason == .notFound || failure.code == Problem.exists { return .swept(job) }
            if failure.isCancelled || failure.reason.isShared && !failure.isBrokenTransfer {
                throw failure
            }
            if failure.reason == .storeFull { shared.isFull.withLock { $0 = true } }
            return .refused(refusal(of: job, failure))
        }
    }

    /// Whether the store still has every one of some blobs.
    func areStored(_ blobs: [SpooledBlob]) async throws -> Bool {
        try await blobs.concurrently(Self.width) { try await isStored($0) }.allSatisfy { $0 }
    }

    @concurrent
    private func isStored(_ blob: SpooledBlob) async throws -> Bool {
        do {
            return try await upload(of: blob).check() == .stored
        } catch let failure as RemoteFailure where failure.code == Problem.exists {
            return false
        }
    }

    private func upload(of blob: SpooledBlob) -> BlobUpload {
        let source = UploadSource(
            path: Spool(places).path(blob.pack), offset: UInt64(blob.place),
            length: UInt64(blob.size))
        return BlobUpload(
            record: blob.record, source: source, remote: remote, policy: policy, clock: clock)
    }

    private func isTooEarly(_ blob: SpooledBlob) -> Bool {
        guard !asksAgain, let next = blob.nextAttempt else { return false }
        return next > clock.now
    }

    private func refusal(of job: UploadJob, _ failure: RemoteFailure) -> Refusal {
        var next = failure.nextAttempt(after: clock.now)?.seconds
        switch failure.reason {
        case .storeFull: next = clock.now + Self.fullSeconds
        case .tooLarge, .notEntitled: next = .max
        default: break
        }
        return Refusal(
            key: job.key, record: job.spooled.record, reason: failure.reason, next: next)
    }
}
