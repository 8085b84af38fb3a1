import LazySync
import SyncPlatform

/// What the line on a terminal shows next.
enum ProgressEvent: Sendable, Equatable {
    case sample(ProgressSample)
    /// Nothing comes for a while; why not.
    case wait(String)
}

/// Where a wait for the server is shown while something is drawn.
final class WaitSign: Sendable {
    private let state = Locked(State())

    private struct State: Sendable {
        var show: (@Sendable (String) -> Void)?
        var until: ContinuousClock.Instant?
    }

    /// Sets where waits are shown; nil if nothing is drawn.
    func set(_ show: (@Sendable (String) -> Void)?) { state.withLock { $0.show = show } }

    /// Whether the wait is another one than that which was shown: many may wait for the same.
    func isNew(until: ContinuousClock.Instant) -> Bool {
        state.withLock { state in
            if let last = state.until, until < last + .milliseconds(500) { return false }
            state.until = until
            return true
        }
    }

    /// Shows a wait; false if nothing is drawn.
    func show(_ text: String) -> Bool {
        guard let show = state.withLock({ $0.show }) else { return false }
        show(text)
        return true
    }
}

extension TransferWait {
    /// The wait in one line; nil if it is too short to be noticed.
    var text: String? {
        let (whole, rest) = duration.components
        guard whole > 0 else { return nil }
        let seconds = whole + (rest > 0 ? 1 : 0)
        return reason == .throttled
            ? "the server asks to wait, \(seconds) s"
            : "\(reason.rawValue): trying again in \(seconds) s"
    }
}
