internal import SyncPlatform

/// Transfers: pausing them, and keeping at what did not come.
extension SyncEngine {
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

    /// Keeps trying what was asked for and did not come; runs until its task is cancelled.
    ///
    /// Tries again by itself after no connection, a host that asked to wait, a server's error, a
    /// key store that was locked and a disk that was full; behind everything else, and with growing
    /// waits. What only a person can decide is left to `retry`.
    public func keepTrying() async {
        schedule.begin()
        await KeepTrying(
            clock: configuration.clock,
            plan: { await self.retryPlan() },
            open: { key in
                // Why it did not come was noted with the blob.
                _ = try? await self.materializer.file(
                    key, handsOut: false, priority: .background)
            }
        )
        .run()
        schedule.end()
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
}
