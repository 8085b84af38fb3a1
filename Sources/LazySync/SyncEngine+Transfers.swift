internal import SyncPlatform

/// Transfers: following them, pausing them, and keeping at what did not come.
extension SyncEngine {
    /// Follows an attachment's bytes: how far they are now, and then each change.
    ///
    /// Also what another process does is seen: that it begins within two seconds, and then twice a
    /// second. Of many changes at once the newest are kept. It ends when the attachment goes or the
    /// account is logged out.
    public nonisolated func states(of key: AttachmentKey) -> AsyncStream<BlobProgress> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: BlobProgress.self, bufferingPolicy: .bufferingNewest(64))
        // From before the first look, so that nothing falls between.
        let changes = broadcast.stream()
        let watch = ProgressWatch(key: key, changes: changes, clock: configuration.clock) {
            await self.progress(of: key)
        }
        let task = Task { [opened] in
            await opened.watchForLogout()
            await watch.run { continuation.yield($0) }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    /// Lets no request for bytes begin, and stops those under way at the next chunk.
    ///
    /// What came stays. Whoever waits for bytes waits on, and the state stays `pending`, until
    /// `resume` or until they cancel: a pause is a person's word, so nothing ends it by itself.
    /// It holds for this engine, not for other processes.
    public func pause() async {
        await opened.lane.queue.pause()
    }

    /// Goes on after a pause.
    public func resume() async {
        await opened.lane.queue.resume()
    }

    /// Whether transfers are paused.
    public var isPaused: Bool {
        get async { await opened.lane.queue.isPaused }
    }

    /// Keeps trying what was asked for and did not come; runs until its task is cancelled or the
    /// account is logged out.
    ///
    /// Tries again by itself after no connection, a host that asked to wait, a server's error, a
    /// key store that was locked and a disk that was full; behind everything else, and with growing
    /// waits. What only a person can decide is left to `retry`.
    public func keepTrying() async {
        // Whatever ends it, there is nobody to tell.
        _ = try? await working("keep trying") { await self.keepTryingHere() }
    }

    private func keepTryingHere() async {
        schedule.begin()
        await KeepTrying(
            clock: configuration.clock,
            plan: { await self.retryPlan() },
            open: { key in await self.tryAgain(key) }
        )
        .run()
        schedule.end()
    }

    /// Brings one; why it did not come is noted with the blob.
    private func tryAgain(_ key: AttachmentKey) async -> KeepTrying.Outcome {
        do throws(SyncError) {
            _ = try await materializer.file(key, handsOut: false, priority: .background)
            return .own
        } catch {
            guard case .unavailable(let reason) = error.code else { return .own }
            return reason.isShared ? .shared : .own
        }
    }

    // MARK: What a plan needs

    /// What is due now; nil when the account was logged out.
    private func retryPlan() async -> RetryPlan? {
        do throws(SyncError) {
            try requireOpen("keep trying")
            if await opened.lane.queue.isPaused { return RetryPlan() }
            let failed = try await catalog.failedBlobs()
            if failed.isEmpty { return RetryPlan() }
            let conditions = try await catalog.conditions()
            var world = RetryPlan.World(now: configuration.clock.now)
            world.conditions = conditions.mapValues { $0.nextAttempt?.seconds }
            if conditions[.keyMissing] != nil { world.hasKey = await opened.hasKey() }
            if conditions[.diskFull] != nil { world.hasRoom = hasRoom() }
            return RetryPlan(failed, world)
        } catch {
            // A catalog that is busy is looked at again later.
            return error.code == .notLoggedIn ? nil : RetryPlan()
        }
    }

    /// Whether the disk has any room for the cache; how much there is for a blob shows when room is
    /// reserved, before a request.
    private func hasRoom() -> Bool {
        let cache = opened.places.cache
        guard let free = try? Directory.freeSpace(at: cache),
            let all = try? Directory.diskSpace(at: cache)
        else { return false }
        return Int64(clamping: free) > CacheLimit(chosen: nil, diskBytes: all).keptFree
    }

    /// How far an attachment's bytes are, as catalog, locks and cache say it; nil if it is gone.
    private func progress(of key: AttachmentKey) async -> BlobProgress? {
        do {
            try requireOpen("follow \(key.id)")
            // First: what ends after this look is seen in the catalog by the next ones.
            let underWay = await materializer.underWay
            guard let row = try await catalog.attachment(key) else { return nil }
            var state = try await states(of: [row])[0].state
            // Between the wish and the lock, and between the lock and the note of what came of it.
            if state == .remote, let record = row.ref?.recordName, underWay.contains(record) {
                state = .pending
            }
            var progress = BlobProgress(state: state, bytes: 0, size: row.size)
            if state == .here {
                progress.bytes = row.size
            } else if let ref = row.ref {
                progress.bytes = await bytesSoFar(ref, size: row.size)
            }
            return progress
        } catch {
            return nil
        }
    }

    /// The bytes of a blob that are here as a part; only to be shown: what cannot be read is not
    /// there.
    func bytesSoFar(_ ref: CloudBlobRef, size: Int64) async -> Int64 {
        guard let geometry = BlobGeometry(length: UInt64(size)) else { return 0 }
        let place = BlobPlace(record: ref.recordName, under: opened.places.blobs)
        return await (try? Blocking.run { try place.bytesSoFar(geometry) }) ?? 0
    }
}
