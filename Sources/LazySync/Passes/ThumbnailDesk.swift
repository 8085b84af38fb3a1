internal import SyncPlatform

/// Brings each thumbnail once, however many want it, and sooner if somebody looks at it.
///
/// One that is due is brought by the task that works off what is due. One that a person looks at
/// is brought by a task of its own, which goes on if they change their mind, as others may wait.
final class ThumbnailDesk: Sendable {
    /// A thumbnail of an attachment: another may have the same record and another key to it.
    struct Wish: Sendable, Hashable {
        let record: String
        let key: AttachmentKey
    }

    typealias One = ThumbnailFetcher.One

    private let state = Locked(State())

    private struct State {
        var errands: [Wish: Errand] = [:]
        /// How many work off what is due, and what was brought meanwhile for those who look.
        var runs = 0
        var brought: Set<Wish> = []
    }

    /// One that is on its way, and those who wait for it.
    private struct Errand {
        let ticket: TransferQueue.Ticket
        var task: Task<Void, Never>?
        var waiting: [AsyncStream<One>.Continuation] = []
    }

    private enum Turn { case mine, over, others(AsyncStream<One>) }

    /// Brings one that is due, or waits for whoever looks at it and keeps it.
    func bring(
        _ wish: Wish, _ ticket: TransferQueue.Ticket, _ fetch: () async -> One
    ) async -> One {
        while true {
            switch turn(wish, ticket) {
            case .over: return One(isDone: true)
            case .mine:
                let one = await fetch()
                finish(wish, one)
                return one
            case .others(let stream):
                // If it was in vain for them, it is still due.
                let one = await Self.first(of: stream)
                if one.isDone || Task.isCancelled { return one }
            }
        }
    }

    /// Brings one that a person looks at, or waits for whoever is at it, who becomes as urgent.
    func look(
        _ wish: Wish, _ ticket: TransferQueue.Ticket, _ queue: TransferQueue,
        _ fetch: @escaping @Sendable () async -> One
    ) async -> One {
        let (stream, continuation) = AsyncStream<One>.makeStream()
        let other = state.withLock { state -> TransferQueue.Ticket? in
            if let errand = state.errands[wish] {
                state.errands[wish]?.waiting.append(continuation)
                return errand.ticket
            }
            let task = Task { finish(wish, await fetch()) }
            state.errands[wish] = Errand(ticket: ticket, task: task, waiting: [continuation])
            return nil
        }
        if let other, ticket.priority < other.priority {
            await queue.raise(other, to: ticket.priority)
        }
        return await Self.first(of: stream)
    }

    /// Notes that what is due is being worked off, until `end`.
    func begin() {
        state.withLock { $0.runs += 1 }
    }

    func end() {
        state.withLock { state in
            state.runs -= 1
            if state.runs == 0 { state.brought = [] }
        }
    }

    /// Ends what is being brought for those who look.
    func cancelAll() {
        for task in state.withLock({ $0.errands.values.compactMap(\.task) }) { task.cancel() }
    }

    private func turn(_ wish: Wish, _ ticket: TransferQueue.Ticket) -> Turn {
        state.withLock { state in
            if state.brought.contains(wish) { return .over }
            if state.errands[wish] == nil {
                state.errands[wish] = Errand(ticket: ticket)
                return .mine
            }
            let (stream, continuation) = AsyncStream<One>.makeStream()
            state.errands[wish]?.waiting.append(continuation)
            return .others(stream)
        }
    }

    private func finish(_ wish: Wish, _ one: One) {
        let waiting = state.withLock { state in
            if one.isDone, state.runs > 0 { state.brought.insert(wish) }
            return state.errands.removeValue(forKey: wish)?.waiting ?? []
        }
        for continuation in waiting {
            continuation.yield(one)
            continuation.finish()
        }
    }

    /// What came, or that the one who waits was cancelled.
    private static func first(of stream: AsyncStream<One>) async -> One {
        for await one in stream { return one }
        return One(stopped: SyncError(.cancelled, "fetch thumbnails", "it was cancelled"))
    }
}
