/// Tries again, by itself and at the right time, what was asked for and did not come.
struct KeepTrying: Sendable {
    let clock: any WaitingClock
    /// What is to be done now; nil ends it.
    let plan: @Sendable () async -> RetryPlan?
    /// Brings one, or notes why it did not come.
    let open: @Sendable (AttachmentKey) async -> Void

    /// Between two looks, if nothing is due before: a key store opens and a disk gets room untold.
    static let interval: Int64 = 30
    /// As many at once wait for the few slots that they have.
    private static let most = 8

    private enum Ended: Sendable {
        case tried(AttachmentKey)
        case waited(Int64)
    }

    /// Runs until its task is cancelled or there is nothing to plan any more.
    func run() async {
        await withTaskGroup(of: Ended.self) { group in
            var running: Set<AttachmentKey> = []
            // Should a failure not have been noted, it looks as if it were due still.
            var tried: [AttachmentKey: Int64] = [:]
            var alarms: Set<Int64> = []
            while !Task.isCancelled, let found = await plan() {
                let now = clock.now
                for key in found.due where running.count < Self.most && !running.contains(key) {
                    guard tried[key] != now else { continue }
                    tried[key] = now
                    running.insert(key)
                    group.addTask {
                        await open(key)
                        return .tried(key)
                    }
                }
                let latest = now + Self.interval
                let alarm = min(max(found.next ?? latest, now + 1), latest)
                if alarms.allSatisfy({ $0 > alarm }) {
                    alarms.insert(alarm)
                    group.addTask {
                        try? await clock.wait(.seconds(alarm - now))
                        return .waited(alarm)
                    }
                }
                switch await group.next() {
                case .tried(let key)?: running.remove(key)
                case .waited(let alarm)?: alarms.remove(alarm)
                case nil: break
                }
            }
            group.cancelAll()
        }
    }
}
