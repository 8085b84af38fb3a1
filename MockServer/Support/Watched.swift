/// A value that tests can wait on: every change asks all who wait whether it is what they want.
final class Watched<Value: Sendable>: Sendable {
    /// The value did not become what was waited for in time.
    struct TimedOut: Error {}

    private struct Waiter: Sendable {
        let id: UInt64
        let isMet: @Sendable (Value) -> Bool
        let resume: @Sendable ((any Error)?) -> Void
    }

    private struct State: Sendable {
        var value: Value
        var waiters: [Waiter] = []
        var nextID: UInt64 = 0
    }

    private let state: Guarded<State>

    init(_ value: Value) {
        state = Guarded(State(value: value))
    }

    /// What the value is now.
    var value: Value { state.with { $0.value } }

    /// Changes the value and wakes those whose condition it now meets.
    @discardableResult
    func change<Result>(_ body: (inout Value) -> Result) -> Result {
        let (result, met) = state.with { state in
            let result = body(&state.value)
            // The common case, a log line nobody waits for, must cost nothing.
            if state.waiters.isEmpty { return (result, [Waiter]()) }
            let met = state.waiters.filter { $0.isMet(state.value) }
            state.waiters.removeAll { waiter in met.contains { $0.id == waiter.id } }
            return (result, met)
        }
        for waiter in met { waiter.resume(nil) }
        return result
    }

    /// Waits until the value meets `condition`.
    ///
    /// - Throws: ``TimedOut`` after `timeout`, `CancellationError` when the task is cancelled.
    func wait(
        timeout: Duration = .seconds(30), until condition: @escaping @Sendable (Value) -> Bool
    ) async throws {
        let id = state.with { state in
            state.nextID += 1
            return state.nextID
        }
        let alarm = Task {
            try await Task.sleep(for: timeout)
            // With a very short timeout this can come before the waiter is there to be found.
            while !self.giveUp(id, TimedOut()) { try await Task.sleep(for: .milliseconds(1)) }
        }
        defer { alarm.cancel() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                let waiter = Waiter(id: id, isMet: condition) { error in
                    if let error {
                        continuation.resume(throwing: error)
                    } else {
                        continuation.resume()
                    }
                }
                let isMet = state.with { state in
                    if condition(state.value) { return true }
                    state.waiters.append(waiter)
                    return false
                }
                if isMet {
                    waiter.resume(nil)
                } else if Task.isCancelled {
                    // The handler below may have run before the waiter was there to be found.
                    giveUp(id, CancellationError())
                }
            }
        } onCancel: {
            giveUp(id, CancellationError())
        }
    }

    @discardableResult
    private func giveUp(_ id: UInt64, _ error: any Error) -> Bool {
        let waiter = state.with { state in
            let index = state.waiters.firstIndex { $0.id == id }
            return index.map { state.waiters.remove(at: $0) }
        }
        waiter?.resume(error)
        return waiter != nil
    }
}
