internal import SyncPlatform

/// The server behind the queue, for one transfer: each request waits for its turn.
struct QueuedRemote: Remote {
    let remote: any Remote
    let lane: Lane
    let ticket: TransferQueue.Ticket
    /// Whether a request may be stopped in its middle: what came by then must be worth keeping.
    let isResumable: Bool
    /// Whether a pause also ends a request that waits for its turn, so that its locks can go.
    var leavesOnPause = false
    /// Told of each request when it goes out, and with -1 if it did not after all.
    var counts: @Sendable (Int) -> Void = { _ in }

    /// What all transfers of an account share.
    struct Lane: Sendable {
        let queue: TransferQueue
        let gate: HostGate
        /// The account's server; a redirect elsewhere counts for it too, since only libcurl knows
        /// where it led.
        let host: String

        /// A place in the line.
        func ticket(_ priority: TransferQueue.Priority) -> TransferQueue.Ticket {
            queue.ticket(priority, host: host)
        }
    }

    func manifestPage(
        after: UInt64, page: String?, limit: Int
    ) async throws(RemoteFailure) -> ManifestPage {
        try await remote.manifestPage(after: after, page: page, limit: limit)
    }

    func entries(_ ids: [EntryID]) async throws(RemoteFailure) -> ManifestPage {
        try await remote.entries(ids)
    }

    func endSession() async throws(RemoteFailure) {
        try await remote.endSession()
    }

    func blob(
        _ request: BlobRequest, into sink: any HTTPSink
    ) async throws(RemoteFailure) -> HTTPHead {
        let slot = try await enter()
        counts(1)
        let result =
            await isResumable ? stoppable(request, sink, slot) : send(request, sink)
        await lane.queue.leave(slot)
        if case .failure(let failure) = result, failure.isUnsent { counts(-1) }
        let head = try result.get()
        if !isResumable, head.httpVersion >= .http2 { await lane.queue.useStreams() }
        return head
    }

    /// Takes a slot at a moment when the host does not ask to wait.
    private func enter() async throws(RemoteFailure) -> TransferQueue.Slot {
        var isPaused = false
        while true {
            // Who waits for the host holds no slot, so that the most urgent go first after it.
            try await lane.gate.pass(lane.host)
            do throws(CancellationError) {
                let slot = try await lane.queue.enter(ticket, leavesOnPause: leavesOnPause)
                if let slot, lane.gate.isOpen(lane.host) { return slot }
                if let slot { await lane.queue.leave(slot) } else { isPaused = true }
            } catch {
                throw .cancelled()
            }
            guard !isPaused else { throw .paused(isUnsent: true) }
        }
    }

    private func send(
        _ request: BlobRequest, _ sink: any HTTPSink
    ) async -> Result<HTTPHead, RemoteFailure> {
        do throws(RemoteFailure) {
            return .success(try await remote.blob(request, into: sink))
        } catch {
            return .failure(error)
        }
    }

    /// Sends a request that ends as `isPaused` if somebody pauses meanwhile.
    private func stoppable(
        _ request: BlobRequest, _ sink: any HTTPSink, _ slot: TransferQueue.Slot
    ) async -> Result<HTTPHead, RemoteFailure> {
        let isStopped = Locked(false)
        let task = Task { await send(request, sink) }
        await lane.queue.onPause(slot) {
            isStopped.withLock { $0 = true }
            task.cancel()
        }
        let result = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        if case .failure(let failure) = result, failure.isCancelled, !Task.isCancelled,
            isStopped.withLock({ $0 })
        {
            return .failure(.paused())
        }
        return result
    }
}
