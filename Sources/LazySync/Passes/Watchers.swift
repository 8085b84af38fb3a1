internal import SyncPlatform

/// Those who want to know which chunks of a blob are here while it is fetched.
final class Watchers: Sendable {
    /// Told of the file and of the chunks that are in it, verified.
    typealias Watcher = @Sendable (BlobFile, ChunkSet) -> Void

    private let state = Locked(State())

    private struct State {
        var watchers: [Int: Watcher] = [:]
        var streams: [Int: AsyncStream<ChunkSet>.Continuation] = [:]
        var count = 0
        var last: (BlobFile, ChunkSet)?
        var isOver = false
    }

    /// Adds a watcher, who is told at once what is here.
    func add(_ watcher: @escaping Watcher) -> Int {
        let (ticket, last) = state.withLock { state in
            state.count += 1
            state.watchers[state.count] = watcher
            return (state.count, state.last)
        }
        if let last { watcher(last.0, last.1) }
        return ticket
    }

    func remove(_ ticket: Int) {
        state.withLock { $0.watchers[ticket] = nil }
    }

    func tell(_ file: BlobFile, _ chunks: ChunkSet) {
        let (watchers, streams) = state.withLock { state in
            state.last = (file, chunks)
            return (Array(state.watchers.values), Array(state.streams.values))
        }
        for watcher in watchers { watcher(file, chunks) }
        for stream in streams { stream.yield(chunks) }
    }

    /// The chunks that are here, now and whenever there are more, until the transfer ends.
    ///
    /// nil if nothing is known yet, or no more.
    func chunks() -> AsyncStream<ChunkSet>? {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ChunkSet.self, bufferingPolicy: .bufferingNewest(1))
        let ticket = state.withLock { state -> Int? in
            guard let last = state.last, !state.isOver else { return nil }
            state.count += 1
            state.streams[state.count] = continuation
            continuation.yield(last.1)
            return state.count
        }
        guard let ticket else { return nil }
        continuation.onTermination = { [state] _ in
            state.withLock { $0.streams[ticket] = nil }
        }
        return stream
    }

    /// Tells those who follow the chunks that there will be no more.
    func end() {
        let streams = state.withLock { state in
            state.isOver = true
            defer { state.streams = [:] }
            return Array(state.streams.values)
        }
        for stream in streams { stream.finish() }
    }
}

extension Task where Failure == any Error {
    /// Waits for the value, but not after the waiting task was cancelled.
    ///
    /// Cancelling a waiter does not cancel what it waits for: others may wait too.
    func valueUnlessCancelled() async throws -> Success {
        let waiter = Waiter<Success>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                waiter.wait(continuation)
                Task<Void, Never> { waiter.resume(with: await self.result) }
            }
        } onCancel: {
            waiter.resume(with: .failure(_Concurrency.CancellationError()))
        }
    }
}

/// A continuation that is resumed once, by whoever comes first.
private final class Waiter<Success: Sendable>: Sendable {
    private let state = Locked(State())

    private struct State {
        var continuation: CheckedContinuation<Success, any Error>?
        var early: Result<Success, any Error>?
        var isDone = false
    }

    func wait(_ continuation: CheckedContinuation<Success, any Error>) {
        let early = state.withLock { state -> Result<Success, any Error>? in
            if state.early == nil { state.continuation = continuation }
            return state.early
        }
        if let early { continuation.resume(with: early) }
    }

    func resume(with result: Result<Success, any Error>) {
        let continuation = state.withLock { state -> CheckedContinuation<Success, any Error>? in
            guard !state.isDone else { return nil }
            state.isDone = true
            if state.continuation == nil { state.early = result }
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume(with: result)
    }
}
