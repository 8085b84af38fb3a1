internal import SyncPlatform

/// Decides who may talk to the store next: so many at once, and the most urgent first.
///
/// Each priority has slots of its own, so that one large transfer does not hold up thumbnails, and
/// many thumbnails do not hold up what a person opens. Within a priority, who came first goes first.
/// A slot is held for one request, not for a transfer's waits between two.
actor TransferQueue {
    /// Why bytes are wanted, the most urgent first.
    enum Priority: Int, Sendable, CaseIterable, Comparable {
        /// A person opens it.
        case opened
        /// A thumbnail that is looked at.
        case visible
        /// The rest of the thumbnails.
        case thumbnail
        /// Nobody waits for it.
        case background

        static func < (one: Priority, other: Priority) -> Bool { one.rawValue < other.rawValue }
    }

    /// How many may be at it at once.
    struct Limits: Sendable, Hashable {
        /// In all.
        var total = 32
        /// At one host.
        var perHost = 32
        /// Of each priority, in its order: what is less urgent can never take all.
        var slots = [16, 4, 16, 4]
        /// How many more thumbnails where requests are streams of one connection, which costs
        /// neither side another one: nginx lets 128 in.
        var moreStreams = 104
    }

    /// A transfer's place in the line, the same for all its requests.
    final class Ticket: Sendable {
        fileprivate let number: Int
        fileprivate let host: String
        private let state: Locked<Priority>

        fileprivate init(_ number: Int, _ priority: Priority, _ host: String) {
            self.number = number
            self.host = host
            state = Locked(priority)
        }

        /// How urgent it is by now.
        var priority: Priority { state.withLock { $0 } }

        fileprivate func raise(to priority: Priority) {
            state.withLock { $0 = min($0, priority) }
        }
    }

    /// The right to send one request; it is given back with `leave`.
    struct Slot: Sendable {
        fileprivate let id: Int
        /// What it counts as, also if the transfer is raised meanwhile.
        let priority: Priority
        fileprivate let host: String
    }

    private struct Waiter {
        let id: Int
        let ticket: Ticket
        let leavesOnPause: Bool
        let continuation: CheckedContinuation<Turn, Never>
    }

    /// How somebody's wait ended.
    private enum Turn { case slot(Slot), paused, gone }

    private struct Running {
        let slot: Slot
        var stop: (@Sendable () -> Void)?
    }

    private var limits: Limits
    private let numbers = Locked(0)
    private var entries = 0
    private var waiters: [Waiter] = []
    private var running: [Int: Running] = [:]
    /// Whether nothing new may begin.
    private(set) var isPaused = false
    private var isClosed = false

    init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// A place in the line, for a transfer that begins now.
    nonisolated func ticket(_ priority: Priority, host: String = "") -> Ticket {
        let number = numbers.withLock { number in
            number += 1
            return number
        }
        return Ticket(number, priority, host)
    }

    /// Waits for a slot, also while somebody pauses.
    ///
    /// - Throws: `CancellationError` if the task is cancelled meanwhile, or the queue is closed.
    func enter(_ ticket: Ticket) async throws(CancellationError) -> Slot {
        guard let slot = try await enter(ticket, leavesOnPause: false) else {
            throw CancellationError()
        }
        return slot
    }

    /// The same; nil if somebody pauses, and the caller leaves then.
    func enter(
        _ ticket: Ticket, leavesOnPause: Bool
    ) async throws(CancellationError) -> Slot? {
        entries += 1
        let id = entries
        let turn = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                waiters.append(
                    Waiter(
                        id: id, ticket: ticket, leavesOnPause: leavesOnPause,
                        continuation: continuation))
                admit()
            }
        } onCancel: {
            // It comes after the lines above, however early the task was cancelled.
            Task { await self.abandon(id) }
        }
        switch turn {
        case .slot(let slot): return slot
        case .paused: return nil
        case .gone: throw CancellationError()
        }
    }

    /// Stands in the line until it is the transfer's turn, and lets the slot go at once.
    func pass(_ ticket: Ticket) async throws(CancellationError) {
        leave(try await enter(ticket))
    }

    /// Lets more thumbnails go at once: the host takes requests as streams of one connection.
    func useStreams() {
        let more = limits.moreStreams
        guard more > 0 else { return }
        limits.moreStreams = 0
        limits.total += more
        limits.perHost += more
        limits.slots[Priority.thumbnail.rawValue] += more
        admit()
    }

    /// How many of a priority may be at it at once.
    func slots(of priority: Priority) -> Int { limits.slots[priority.rawValue] }

    /// Gives a slot back.
    func leave(_ slot: Slot) {
        running[slot.id] = nil
        admit()
    }

    /// Moves a transfer up, if it is not as urgent already; what it has under way goes on.
    func raise(_ ticket: Ticket, to priority: Priority) {
        ticket.raise(to: priority)
        admit()
    }

    // MARK: Pausing

    /// Says how the holder of a slot is stopped when somebody pauses.
    func onPause(_ slot: Slot, _ stop: @escaping @Sendable () -> Void) {
        if isPaused { return stop() }
        running[slot.id]?.stop = stop
    }

    /// Lets nothing new begin, and stops what can go on later where it stood.
    func pause() {
        isPaused = true
        admit()
        for holder in running.values { holder.stop?() }
    }

    /// Lets the waiting ones go on.
    func resume() {
        isPaused = false
        admit()
    }

    /// Sends all who wait away, now and from now on.
    func close() {
        isClosed = true
        admit()
    }

    // MARK: Looking

    /// How many wait, and how many hold a slot.
    struct Load: Sendable, Hashable {
        var waiting = 0
        var running = 0
    }

    /// What goes on now.
    var load: Load { Load(waiting: waiters.count, running: running.count) }

    /// How urgent the most urgent of those is who wait.
    var mostUrgent: Priority? { waiters.map(\.ticket.priority).min() }

    // MARK: Admitting

    private func admit() {
        if isClosed {
            for waiter in waiters { waiter.continuation.resume(returning: .gone) }
            waiters = []
        }
        if isPaused {
            for waiter in waiters where waiter.leavesOnPause {
                waiter.continuation.resume(returning: .paused)
            }
            waiters.removeAll(where: \.leavesOnPause)
            return
        }
        while let index = next() {
            let waiter = waiters.remove(at: index)
            let slot = Slot(
                id: waiter.id, priority: waiter.ticket.priority, host: waiter.ticket.host)
            running[slot.id] = Running(slot: slot)
            waiter.continuation.resume(returning: .slot(slot))
        }
    }

    /// The most urgent waiter that there is room for.
    private func next() -> Int? {
        guard !waiters.isEmpty, running.count < limits.total else { return nil }
        var taken = [Int](repeating: 0, count: Priority.allCases.count)
        var hosts: [String: Int] = [:]
        for holder in running.values {
            taken[holder.slot.priority.rawValue] += 1
            hosts[holder.slot.host, default: 0] += 1
        }
        var best: (index: Int, priority: Priority, number: Int)?
        for (index, waiter) in waiters.enumerated() {
            let (priority, number) = (waiter.ticket.priority, waiter.ticket.number)
            guard taken[priority.rawValue] < limits.slots[priority.rawValue],
                hosts[waiter.ticket.host, default: 0] < limits.perHost
            else { continue }
            if let best, (best.priority, best.number) <= (priority, number) { continue }
            best = (index, priority, number)
        }
        return best?.index
    }

    private func abandon(_ id: Int) {
        guard let index = waiters.firstIndex(where: { $0.id == id }) else { return }
        waiters.remove(at: index).continuation.resume(returning: .gone)
    }
}
