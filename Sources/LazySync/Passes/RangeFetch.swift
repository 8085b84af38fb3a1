internal import SyncPlatform

/// One ranged transfer that is going on, and those who want its chunks.
///
/// It ends early when nobody holds it any more; who waits for a chunk waits for no more than that.
final class RangeFetch: Sendable {
    /// The chunks that it brings.
    let chunks: Range<Int>
    /// Where they go if not to the disk.
    let window: ChunkWindow
    /// Its place in the line, which a read that needs it moves up.
    let ticket: TransferQueue.Ticket

    /// Why somebody holds it.
    enum Want: Sendable {
        /// A read goes on that needs it.
        case now
        /// Reads may get there.
        case soon

        /// What that is worth in the line.
        var priority: TransferQueue.Priority { self == .now ? .opened : .background }
    }

    /// It ended, and what became of it shows only by looking again.
    struct LookAgain: Error {}

    private let state: Locked<State>

    private struct State {
        var arrived: ChunkSet
        var holders = 1
        /// Reads that go on among them.
        var reads: Int
        var task: Task<Void, Never>?
        var outcome: Result<Void, any Error>?
        var waiters: [Int: Waiter] = [:]
        /// Tickets of those who were cancelled before they waited.
        var cancelled: Set<Int> = []
        var tickets = 0
    }

    private struct Waiter {
        let chunk: Int
        let continuation: CheckedContinuation<Void, any Error>
    }

    /// Makes one that is held once and has not begun.
    init(
        _ chunks: Range<Int>, _ geometry: BlobGeometry, _ ticket: TransferQueue.Ticket, _ want: Want
    ) {
        self.chunks = chunks
        self.ticket = ticket
        window = ChunkWindow(geometry)
        state = Locked(State(arrived: ChunkSet(chunks), reads: want == .now ? 1 : 0))
    }

    // MARK: Those who want it

    /// Holds it once more, for somebody who has it already.
    func hold() {
        state.withLock { $0.holders += 1 }
    }

    /// Joins those who want a chunk of it; false if it is over and has not brought that chunk.
    ///
    /// It may have ended between a look at what came and this.
    func join(for chunk: Int, _ want: Want) -> Bool {
        state.withLock { state in
            guard state.holders > 0, state.outcome == nil || state.arrived.contains(chunk) else {
                return false
            }
            state.holders += 1
            if want == .now { state.reads += 1 }
            return true
        }
    }

    /// Leaves; the last one out ends it.
    func release(_ want: Want) {
        let task = state.withLock { state -> Task<Void, Never>? in
            state.holders -= 1
            if want == .now { state.reads -= 1 }
            return state.holders == 0 ? state.task : nil
        }
        task?.cancel()
    }

    /// Ends it for all who want it.
    func cancel() {
        state.withLock { $0.task }?.cancel()
    }

    /// The chunks that have come so far.
    var soFar: ChunkSet { state.withLock { $0.arrived } }

    /// Waits until all of it is done.
    func end() async {
        await state.withLock { $0.task }?.value
    }

    /// Whether a read goes on that needs it: only then its end is worth a note.
    var isNeeded: Bool { state.withLock { $0.reads > 0 } }

    /// Whether it may still bring something.
    var isOpen: Bool { state.withLock { $0.outcome == nil && $0.holders > 0 } }

    /// Waits until a chunk has come, or cannot.
    func arrival(of chunk: Int) async throws {
        let ticket = state.withLock { state in
            state.tickets += 1
            return state.tickets
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let known = state.withLock { state -> Result<Void, any Error>? in
                    if state.arrived.contains(chunk) { return .success(()) }
                    if state.cancelled.remove(ticket) != nil {
                        return .failure(CancellationError())
                    }
                    if let outcome = state.outcome {
                        return outcome.flatMap { .failure(LookAgain()) }
                    }
                    state.waiters[ticket] = Waiter(chunk: chunk, continuation: continuation)
                    return nil
                }
                if let known { continuation.resume(with: known) }
            }
        } onCancel: {
            let waiter = state.withLock { state -> Waiter? in
                if let waiter = state.waiters.removeValue(forKey: ticket) { return waiter }
                state.cancelled.insert(ticket)
                return nil
            }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }

    // MARK: Whoever brings it

    /// Names the task that does the work, which ends with the last who wants it.
    func began(_ task: Task<Void, Never>) {
        let isUnwanted = state.withLock { state in
            state.task = task
            return state.holders == 0
        }
        if isUnwanted { task.cancel() }
    }

    /// Tells which chunks have come.
    func arrived(_ chunks: ChunkSet) {
        let done = state.withLock { state -> [Waiter] in
            state.arrived = chunks
            let done = state.waiters.filter { chunks.contains($0.value.chunk) }
            for ticket in done.keys { state.waiters[ticket] = nil }
            return Array(done.values)
        }
        for waiter in done { waiter.continuation.resume() }
    }

    /// Ends it: whoever still waits learns why, or looks again.
    func ended(_ outcome: Result<Void, any Error>) {
        let rest = state.withLock { state -> [Waiter] in
            state.outcome = outcome
            state.task = nil
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        let end = outcome.flatMap { Result<Void, any Error>.failure(LookAgain()) }
        for waiter in rest { waiter.continuation.resume(with: end) }
    }
}

/// What reading cost over the wire: told while it goes on, by whoever sends and receives.
final class ReadCost: Sendable {
    private let state = Locked<(bytes: Int64, requests: Int)>((0, 0))

    /// Plaintext bytes that came.
    var bytes: Int64 { state.withLock { $0.bytes } }
    /// Requests that were sent.
    var requests: Int { state.withLock { $0.requests } }

    func sent(_ requests: Int) { state.withLock { $0.requests += requests } }
    func received(_ bytes: Int64) { state.withLock { $0.bytes += bytes } }
}
