internal import SyncPlatform

/// Follows one attachment's bytes for one listener, whoever brings them.
///
/// What this process does is told at once; what another does is seen by a look at the catalog and
/// the locks, while somebody listens: twice a second while bytes come, else every two seconds, so
/// that a list of many rows that nothing happens to costs little.
struct ProgressWatch: Sendable {
    let key: AttachmentKey
    let changes: AsyncStream<StateChange>
    let clock: any WaitingClock
    /// What the catalog, the locks and the cache say now; nil if there is nothing to follow.
    let look: @Sendable () async -> BlobProgress?

    private struct Pace {
        var isLooking = false
        var isPending = false

        /// Until the next look.
        var interval: Duration { isPending ? .milliseconds(500) : .seconds(2) }
    }

    private enum Event: Sendable {
        case change(StateChange)
        case tick
    }

    /// Tells how it stands, and then each change, until there is nothing to follow.
    func run(_ tell: @escaping @Sendable (BlobProgress) -> Void) async {
        var filter = ProgressFilter()
        guard let first = await look() else { return }
        if let told = filter.take(first) { tell(told) }
        let (events, event) = AsyncStream.makeStream(of: Event.self)
        let pace = Locked(Pace())
        let changing = Task {
            for await change in changes { event.yield(.change(change)) }
            event.finish()
        }
        let ticking = Task {
            while !Task.isCancelled {
                try? await clock.wait(pace.withLock { $0.interval })
                // One look at a time, however long it takes.
                let isFree = pace.withLock { pace in
                    defer { pace.isLooking = true }
                    return !pace.isLooking
                }
                if isFree { event.yield(.tick) }
            }
        }
        for await next in events {
            guard let seen = await progress(after: next, filter.last) else { break }
            if let told = filter.take(seen) { tell(told) }
            let isPending = filter.last?.state == .pending
            pace.withLock { pace in
                pace.isPending = isPending
                if case .tick = next { pace.isLooking = false }
            }
        }
        changing.cancel()
        ticking.cancel()
    }

    /// How it stands after an event; nil if there is nothing to follow any more.
    private func progress(after event: Event, _ last: BlobProgress?) async -> BlobProgress? {
        switch event {
        case .change(.attachment(key, let state, let bytes)):
            if state == .pending, var last, last.state == .pending {
                last.bytes = bytes
                return last
            }
            // A change may be older than the last look, so that it is only a reason for the next.
            guard var seen = await look() else { return nil }
            // A failure that could not be noted is told all the same.
            if state.reason != nil, seen.state == .remote || seen.state == .pending {
                seen.state = state
            }
            return seen
        case .change(.catalog), .tick: return await look()
        case .change: return last
        }
    }
}

/// Lets through what is new, and keeps a bar from going back; a value.
struct ProgressFilter: Sendable, Hashable {
    private(set) var last: BlobProgress?

    /// What is to be told of a look; nil if nothing is new.
    mutating func take(_ seen: BlobProgress) -> BlobProgress? {
        var next = seen
        // One try ends when the state is another one.
        if let last, last.state == .pending, next.state == .pending, last.size == next.size {
            next.bytes = max(next.bytes, last.bytes)
        }
        next.bytes = min(max(next.bytes, 0), next.size)
        guard next != last else { return nil }
        last = next
        return next
    }
}

extension BlobPlace {
    /// The plaintext bytes whose tags are here, without proving them: for a bar, not for a reader.
    func bytesSoFar(_ geometry: BlobGeometry) throws(FileError) -> Int64 {
        guard let facts = try FileSystem.facts(tags) else { return 0 }
        let size = BlobGeometry.tagSize
        let count = min(facts.size, Int64(clamping: geometry.chunkCount) * Int64(size))
        let stored = try File(tags, for: .read).read(count: Int(count), at: 0)
        var present = ChunkSet(count: geometry.chunkCount)
        for chunk in 0..<(stored.count / size) {
            let tag = stored[chunk * size..<(chunk + 1) * size]
            // A hole in the list of tags reads as zeros.
            if tag.contains(where: { $0 != 0 }) { present.insert(chunk) }
        }
        return geometry.plainBytes(of: present)
    }
}
