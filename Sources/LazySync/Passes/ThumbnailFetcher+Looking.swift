internal import SyncPlatform

/// A thumbnail that a person looks at: it comes whether or not it is due, and it is kept.
extension ThumbnailFetcher {
    /// Fetches one and keeps it.
    ///
    /// There is nothing in the answer if another program is fetching it, or if its attachment has
    /// another one by now: then one has to look again.
    func look(
        _ work: ThumbnailWork, _ ref: CloudBlobRef, _ ticket: TransferQueue.Ticket
    ) async throws(SyncError) -> One {
        let held = try SyncError.mapping("fetch a thumbnail") { try locks.tryLock(ref.recordName) }
        guard let held else {
            try await waitALittle()
            return One()
        }
        defer { withExtendedLifetime(held) {} }
        changed(work.key, .pending)
        do throws(SyncError) {
            let one = try await fetchAndKeep(work, ref, ticket)
            // Whatever it is now, it is not on its way any more.
            changed(work.key, one.result.map(Self.state(of:)) ?? .remote)
            return one
        } catch {
            changed(work.key, Self.state(after: error))
            throw error
        }
    }

    private func fetchAndKeep(
        _ work: ThumbnailWork, _ ref: CloudBlobRef, _ ticket: TransferQueue.Ticket
    ) async throws(SyncError) -> One {
        var one = await fetch(work, ref, ticket)
        if let stopped = one.stopped { throw stopped }
        guard let result = one.result else { return one }
        if result.state == .here {
            guard try await keep(result, one.bytes) else { return One() }
        } else {
            try await catalog.save([result])
        }
        one.bytes = []
        one.isDone = true
        return one
    }

    /// Keeps what came; false if its attachment has another one by now.
    private func keep(_ result: ThumbnailResult, _ bytes: [UInt8]) async throws(SyncError) -> Bool {
        while true {
            switch try await room.keep(result, bytes, looks: looks) {
            case .kept(let letGo):
                for key in letGo { changed(key, .remote) }
                return true
            case .changed: return false
            case .noRoom(let error): throw error
            case .notNow: try await waitALittle()
            }
        }
    }

    private func waitALittle() async throws(SyncError) {
        try await SyncError.mapping("wait for a thumbnail") {
            try await fetcher.clock.wait(.milliseconds(50))
        }
    }

    private static func state(after error: SyncError) -> BlobState {
        if case .unavailable(let reason) = error.code { .unavailable(reason) } else { .remote }
    }
}
