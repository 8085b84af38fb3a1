/// The faults that are armed, in their order: the first that fits a request is the one that acts.
final class FaultScript: Sendable {
    /// Names a fault that was added, to ask for its hits.
    struct ID: Hashable, Sendable {
        let number: Int
    }

    private struct Armed: Sendable {
        let id: ID
        let fault: Fault
        var seen = 0
        var hits = 0
    }

    private struct State: Sendable {
        var armed: [Armed] = []
        var hits: [ID: Int] = [:]
        var next = 1
        var gates: [String: FaultGate] = [:]
    }

    private let state = Guarded(State())

    /// Adds a fault behind those there are.
    @discardableResult
    func add(_ fault: Fault) -> ID {
        state.with { state in
            let id = ID(number: state.next)
            state.next += 1
            state.armed.append(Armed(id: id, fault: fault))
            return id
        }
    }

    /// Adds a fault.
    @discardableResult
    func add(
        _ match: Fault.Match, skip: Int = 0, times: Int? = nil, _ actions: FaultAction...
    ) -> ID {
        add(Fault(match, skip: skip, times: times, actions: actions))
    }

    /// Takes all faults away; what stands at a gate stays there.
    func clear() {
        state.with { $0.armed = [] }
    }

    /// Takes one fault away.
    func remove(_ id: ID) {
        state.with { state in state.armed.removeAll { $0.id == id } }
    }

    /// How many requests a fault has hit.
    func hits(_ id: ID) -> Int {
        state.with { $0.hits[id] ?? 0 }
    }

    /// The faults that are armed, and how many requests each has hit.
    func list() -> [(id: ID, hits: Int)] {
        state.with { state in state.armed.map { ($0.id, $0.hits) } }
    }

    /// The fault that acts on a request, counted as hit.
    func match(_ incoming: Incoming) -> (id: ID, actions: [FaultAction])? {
        state.with { state in
            for index in state.armed.indices {
                let fault = state.armed[index].fault
                if let times = fault.times, state.armed[index].hits >= times { continue }
                guard fault.match.fits(incoming) else { continue }
                state.armed[index].seen += 1
                if state.armed[index].seen <= fault.skip { continue }
                state.armed[index].hits += 1
                state.hits[state.armed[index].id, default: 0] += 1
                return (state.armed[index].id, fault.actions)
            }
            return nil
        }
    }

    /// The gate of that name, made when it is first asked for.
    func gate(_ name: String) -> FaultGate {
        state.with { state in
            if let gate = state.gates[name] { return gate }
            let gate = FaultGate()
            state.gates[name] = gate
            return gate
        }
    }
}
