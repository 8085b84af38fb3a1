/// Where stalled or held requests stand until a test opens it.
final class FaultGate: Sendable {
    private struct State: Sendable {
        var isOpen = false
        var arrivals = 0
    }

    private let state = Watched(State())
    private let parkings = Guarded<[ObjectIdentifier: Parking]>([:])

    /// Whether requests pass.
    var isOpen: Bool { state.value.isOpen }

    /// How many requests have come to stand here.
    var arrivals: Int { state.value.arrivals }

    /// Waits until so many requests have come to stand here.
    func reached(by count: Int = 1, timeout: Duration = .seconds(30)) async throws {
        try await state.wait(timeout: timeout) { $0.arrivals >= count }
    }

    /// Lets all go on that stand here, and all that come.
    func open() {
        state.change { $0.isOpen = true }
        for parking in parkings.with({ $0 }).values { parking.wakeAll() }
    }

    /// Has whoever comes from now on stand here again.
    func close() {
        state.change { $0.isOpen = false }
    }

    /// Whether a request passes; if not it counts as arrived, and has to park.
    func lets(_ request: Exchange, through parking: Parking) -> Bool {
        // Known before the look at the gate, so that no opening after it goes unheard.
        parkings.with { $0[ObjectIdentifier(parking)] = parking }
        let isNew = request.gate !== self
        request.gate = self
        return state.change { state in
            if !state.isOpen, isNew { state.arrivals += 1 }
            return state.isOpen
        }
    }
}
