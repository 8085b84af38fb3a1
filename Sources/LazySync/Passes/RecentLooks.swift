internal import SyncPlatform

/// Which thumbnails a person has looked at lately, in this process: they are the last that go.
final class RecentLooks: Sendable {
    /// A long way through a list; whoever has looked at more has forgotten the first.
    static let most = 1_000

    private let state = Locked(State())

    private struct State {
        var count = 0
        var turns: [Int64: Int] = [:]
    }

    /// Notes that a person looks at an attachment's thumbnail now.
    func note(_ row: Int64) {
        state.withLock { state in
            state.count += 1
            state.turns[row] = state.count
            // Not each time: it walks over all of them.
            guard state.turns.count > 2 * Self.most else { return }
            let oldest = state.turns.values.sorted()[Self.most]
            state.turns = state.turns.filter { $0.value >= oldest }
        }
    }

    /// The attachments' rows, and when each was looked at: later ones have higher numbers.
    var turns: [Int64: Int] { state.withLock { $0.turns } }
}
