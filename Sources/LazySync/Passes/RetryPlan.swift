/// What is tried again by itself at this moment, and when the next is due; pure.
///
/// | kept with | tried again |
/// |---|---|
/// | nothing any more: what kept it back is over | at once |
/// | `offline`, `throttled` | at the condition's time, one blob to see how it stands |
/// | `keyMissing`, `diskFull` | one blob, when the key store opens or there is room |
/// | `signedOut` | after a login, which clears it |
/// | `serverError` | at the blob's time; never if the certificate does not fit |
/// | any other reason | never: on a person's word |
struct RetryPlan: Sendable, Hashable {
    /// What is to be tried now, in this order.
    var due: [AttachmentKey] = []
    /// When something is due next, in Unix seconds; nil if nothing is by its time alone.
    var next: Int64?

    /// A blob that was asked for and whose last try failed.
    struct Failed: Sendable, Hashable {
        var key: AttachmentKey
        /// Its own reason; nil if it was kept back by one that is shared.
        var reason: UnavailableReason?
        /// The failure's code.
        var code: String?
        /// When its next try is due.
        var next: Int64?
        /// When its last try ended.
        var last: Int64 = 0
    }

    /// What the device, the host and the account say.
    struct World: Sendable, Hashable {
        var now: Int64
        /// The shared reasons that hold, with the time of the next try.
        var conditions: [UnavailableReason: Int64?] = [:]
        var hasKey = true
        var hasRoom = true
    }

    /// Decides.
    init(_ failed: [Failed], _ world: World) {
        if let hold = Hold(world) {
            next = failed.isEmpty ? nil : hold.until
            return
        }
        guard world.conditions.isEmpty else {
            // One that comes shows that the condition is over, and then all others are due. A blob
            // with a reason of its own could fail by that and show nothing. In turn, so that one
            // for which it is not over, such as a large one on a small disk, holds up no other.
            let plain = failed.filter { $0.reason == nil }
            let candidates = plain.isEmpty ? failed.filter(Self.mayCome) : plain
            let probe = candidates.min { $0.last < $1.last }
            due = probe.map { [$0.key] } ?? []
            return
        }
        for blob in failed where Self.mayCome(blob) {
            let time = blob.reason == nil ? 0 : blob.next ?? 0
            if time <= world.now {
                due.append(blob.key)
            } else {
                next = min(next ?? time, time)
            }
        }
    }

    /// Nothing to do.
    init() {}

    private static func mayCome(_ blob: Failed) -> Bool {
        switch blob.reason {
        case nil: true
        case .serverError?: blob.code != "certificate"
        default: false
        }
    }
}

/// What holds everything up: until a time, or until something else changes.
private struct Hold {
    var until: Int64?

    init?(_ world: RetryPlan.World) {
        let conditions = world.conditions
        if conditions[.signedOut] != nil { return }
        if conditions[.keyMissing] != nil, !world.hasKey { return }
        if conditions[.diskFull] != nil, !world.hasRoom { return }
        let times = [conditions[.throttled], conditions[.offline]].compactMap { $0 ?? nil }
        guard let last = times.max(), last > world.now else { return nil }
        until = last
    }
}
