/// Tries again, by itself and at the right time, what was asked for and did not come.
///
/// A plan costs a look at everything that failed, so what is due is worked off before the next one.
struct KeepTrying: Sendable {
    let clock: any WaitingClock
    /// What is to be done now; nil ends it.
    let plan: @Sendable () async -> RetryPlan?
    /// Brings one, or notes why it did not come.
    let open: @Sendable (AttachmentKey) async -> Outcome

    /// What a try says about the others.
    enum Outcome: Sendable {
        /// It came, or it did not for a reason of its own.
        case own
        /// What kept it from coming keeps the others too.
        case shared
    }

    /// Between two looks, if nothing is due before: a key store opens and a disk gets room untold.
    static let interval: Int64 = 30
    /// As many at once wait for the few slots that they have.
    private static let most = 8

    private enum Ended: Sendable {
        case tried(AttachmentKey, Outcome)
        case waited(Int64)
    }

    /// What is due, and what goes on.
    private struct State {
        var due: ArraySlice<AttachmentKey> = []
        var running: Set<AttachmentKey> = []
        /// Those that were begun at this time: should a failure not have been noted, it looks as if
        /// it were due still.
        var tried: Set<AttachmentKey> = []
        var time: Int64 = 0
        var alarms: Set<Int64> = []
        /// Tries in a row that failed for what is shared.
        var shared = 0
        var needsPlan = true
    }

    /// Runs until its task is cancelled or there is nothing to plan any more.
    func run() async {
        await withTaskGroup(of: Ended.self) { group in
            var state = State()
            while !Task.isCancelled {
                if state.needsPlan {
                    guard let found = await plan() else { break }
                    take(found, &state, &group)
                }
                begin(&state, &group)
                guard let ended = await group.next() else { break }
                note(ended, &state)
            }
            group.cancelAll()
        }
    }

    /// Takes over a plan, and sees to it that there is another one in time.
    private func take(
        _ found: RetryPlan, _ state: inout State, _ group: inout TaskGroup<Ended>
    ) {
        let now = clock.now
        if now != state.time { (state.time, state.tried) = (now, []) }
        state.due = found.due[...]
        state.needsPlan = false
        let latest = now + Self.interval
        let alarm = min(max(found.next ?? latest, now + 1), latest)
        guard state.alarms.allSatisfy({ $0 > alarm }) else { return }
        state.alarms.insert(alarm)
        group.addTask {
            try? await clock.wait(.seconds(alarm - now))
            return .waited(alarm)
        }
    }

    private func begin(_ state: inout State, _ group: inout TaskGroup<Ended>) {
        while state.running.count < Self.most, let key = state.due.popFirst() {
            guard !state.running.contains(key), state.tried.insert(key).inserted else { continue }
            state.running.insert(key)
            group.addTask { .tried(key, await open(key)) }
        }
    }

    private func note(_ ended: Ended, _ state: inout State) {
        switch ended {
        case .waited(let alarm):
            state.alarms.remove(alarm)
            state.shared = 0
            state.needsPlan = true
        case .tried(let key, .own):
            state.running.remove(key)
            // It may have shown that what is shared is over.
            let isWorkedOff = state.due.isEmpty && state.running.isEmpty
            state.needsPlan = isWorkedOff || state.shared > 0
            state.shared = 0
        case .tried(let key, .shared):
            // The plan was made without knowing of it. Of those that are tried although it holds,
            // to see whether it still does, some may fail; then it has time until the alarm.
            state.running.remove(key)
            state.due = []
            state.shared += 1
            state.needsPlan = state.shared <= Self.most
        }
    }
}
