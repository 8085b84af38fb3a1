import SyncPlatform

/// Ends a device's process at one of the points that the engine says that it has reached.
///
/// From then on nothing of it is kept any more: every commit fails, and `onDeath` takes care that no
/// request gets through. What lies on the disk at that moment is what the next start finds.
final class KillSwitch: Sendable {
    /// What the engine is thrown at such a point.
    struct Killed: Error {}

    private struct State {
        var left: Int?
        var point: String?
    }

    private let state = Locked(State())
    private let onDeath: @Sendable () -> Void

    init(onDeath: @escaping @Sendable () -> Void) { self.onDeath = onDeath }

    /// Where the process was ended; nil as long as it lives.
    var point: String? { state.withLock { $0.point } }

    /// Has the process end at the point after so many others; nil for never.
    func arm(after count: Int?) { state.withLock { $0.left = count } }

    /// Called at every point.
    func reached(_ name: String) throws {
        let (isDead, isNew) = state.withLock { state in
            if state.point != nil { return (true, false) }
            guard let left = state.left else { return (false, false) }
            state.left = left - 1
            if left > 0 { return (false, false) }
            state.point = name
            return (true, true)
        }
        if isNew { onDeath() }
        if isDead { throw Killed() }
    }
}
