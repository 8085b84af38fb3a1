/// Brings each thumbnail once, however many want it, and sooner if somebody looks at it.
actor ThumbnailDesk {
    private var running: [Wish: Running] = [:]
    private var count = 0
    /// How many work off what is due, and what was brought meanwhile for those who look.
    private var runs = 0
    private var brought: Set<Wish> = []

    /// A thumbnail of an attachment: another may have the same record and another key to it.
    struct Wish: Sendable, Hashable {
        let record: String
        let key: AttachmentKey
    }

    /// One that is on its way, and those who wait for it.
    private struct Running {
        let number: Int
        let ticket: TransferQueue.Ticket
        let task: Task<ThumbnailFetcher.One, Never>
        var waiting = 0
        var cancelled = 0
    }

    /// Brings one, or waits for whoever is at it, who becomes as urgent as this ticket.
    ///
    /// It goes on until all who wait have changed their mind.
    func bring(
        _ wish: Wish, _ ticket: TransferQueue.Ticket, _ queue: TransferQueue,
        _ fetch: @escaping @Sendable (TransferQueue.Ticket) async -> ThumbnailFetcher.One
    ) async -> ThumbnailFetcher.One {
        if ticket.priority == .thumbnail, brought.contains(wish) {
            return ThumbnailFetcher.One(isDone: true)
        }
        var entry = running[wish] ?? begin(wish, ticket, fetch)
        entry.waiting += 1
        running[wish] = entry
        if ticket.priority < entry.ticket.priority {
            await queue.raise(entry.ticket, to: ticket.priority)
        }
        return await withTaskCancellationHandler {
            await entry.task.value
        } onCancel: { [number = entry.number] in
            Task { await self.leave(wish, number) }
        }
    }

    /// Notes that what is due is being worked off, until `end`.
    func begin() { runs += 1 }

    func end() {
        runs -= 1
        if runs == 0 { brought = [] }
    }

    /// Notes that somebody's look brought one, and that the catalog says so.
    func note(_ wish: Wish) {
        if runs > 0 { brought.insert(wish) }
    }

    private func begin(
        _ wish: Wish, _ ticket: TransferQueue.Ticket,
        _ fetch: @escaping @Sendable (TransferQueue.Ticket) async -> ThumbnailFetcher.One
    ) -> Running {
        count += 1
        let number = count
        let task = Task {
            let one = await fetch(ticket)
            end(wish, number)
            return one
        }
        return Running(number: number, ticket: ticket, task: task)
    }

    private func end(_ wish: Wish, _ number: Int) {
        if running[wish]?.number == number { running[wish] = nil }
    }

    private func leave(_ wish: Wish, _ number: Int) {
        guard let entry = running[wish], entry.number == number else { return }
        running[wish]?.cancelled += 1
        guard entry.cancelled + 1 == entry.waiting else { return }
        // Whoever wants it from here on begins anew.
        running[wish] = nil
        entry.task.cancel()
    }
}
