internal import SyncPlatform

/// Sends the changes that wait: blobs first, then entries and the head that counts them, in one
/// request that the server takes as a whole or not at all.
///
/// Somebody else may be first: then what they sent is pulled, merged, and this is sent again. What
/// is sent is kept in the catalog before it goes out, so an answer that is lost, or a process that
/// is killed, costs one more request and never a second change.
struct PushPass {
    let account: AccountID
    let keys: AccountKeys
    let catalog: Catalog
    let places: AccountPlaces
    let remote: any WritableRemote
    let policy: Backoff
    let clock: any WaitingClock
    let random: any RandomSource
    let hooks: Hooks
    /// Whether what the store refused is asked for again before its time.
    var asksAgain = true
    var batchEntries = 1_000
    var progress: @Sendable (PushProgress) -> Void = { _ in }

    /// What a push asks of the engine.
    struct Hooks: Sendable {
        /// Brings the catalog up to date.
        let pull: @Sendable () async throws(SyncError) -> Void
        /// Keeps pulls and other pushes away from the manifest.
        let lock: @Sendable () async throws(SyncError) -> FileLock.Token
        /// Keeps the head beside the key.
        let keepHead: @Sendable (Head) async throws(SyncError) -> Void
        /// Takes what is pinned out of the spool, before it lets it go.
        let keep: @Sendable ([Int64]) async -> Void
        /// An attachment's upload begins or ends.
        let changed: @Sendable (AttachmentKey) -> Void
        /// Verified bytes of an attachment that are here; nil if they are not.
        let bytes: @Sendable (AttachmentKey) async throws(SyncError) -> File?
        /// Called at each point at which a test may want to end the process.
        var reached: @Sendable (String) throws -> Void = { _ in }
    }

    /// How often another device may be first, for the items of one batch.
    private static let mostRounds = 20
    /// How often blobs that were swept at the store are sealed again, for the items of one batch.
    private static let mostReseals = 3

    /// Sends everything that waits.
    ///
    /// - Throws: `SyncError`; what was sent before stays sent, and the rest waits.
    func run() async throws(SyncError) -> PushReport {
        do {
            return try await send()
        } catch {
            throw SyncError("push", error)
        }
    }

    private func send() async throws -> PushReport {
        try await hooks.pull()
        var report = PushReport()
        let sent = Locked<Int64>(0)
        report.items += try await finishPrepared()
        let total = try await catalog.countWaiting()
        var last: Int64 = 0
        while true {
            let waiting = try await catalog.waiting(after: last, limit: batchEntries)
            guard let end = waiting.last?.row else { break }
            let (ready, borrowed) = try await sendBlobs(
                waiting.map(\.row), &report, sent, total)
            report.items += try await sendEntries(ready, borrowed)
            last = end
            progress(
                PushProgress(
                    items: report.items, totalItems: total, bytes: sent.withLock { $0 }))
        }
        report.waiting = try await catalog.countWaiting()
        report.head = try await catalog.cursor().after
        return report
    }

    /// What changing an item needs.
    var tools: MergeTools {
        MergeTools(
            opener: RefOpener(keys: keys, account: account), random: random, now: clock.now)
    }

    // MARK: Blobs

    private func sendBlobs(
        _ rows: [Int64], _ report: inout PushReport, _ sent: Locked<Int64>, _ total: Int
    ) async throws -> (ready: [Int64], borrowed: Set<String>) {
        let items = report.items
        let push = blobPush { [progress] bytes in
            let all = sent.withLock { sum in
                sum += bytes
                return sum
            }
            progress(PushProgress(items: items, totalItems: total, bytes: all))
        }
        let (lost, borrowed) = try await checkBorrowed(rows)
        report.refused += lost.map { PushReport.Refused(key: $0.key, reason: .notFound) }
        var ready: [Int64] = []
        var rest = rows.filter { row in !lost.contains { $0.row == row } }
        for _ in 0...Self.mostReseals {
            let outcome = try await push.run(rest)
            ready += outcome.ready
            report.blobs += outcome.blobs
            report.bytes += outcome.bytes
            report.refused += outcome.refused.map {
                PushReport.Refused(key: $0.key, reason: $0.reason)
            }
            if outcome.swept.isEmpty { break }
            try hooks.reached("swept")
            for job in outcome.swept { try await reseal(job) }
            rest = Array(Set(outcome.swept.map(\.row))).sorted()
        }
        await hooks.keep(ready)
        try hooks.reached("blobs sent")
        return (ready.sorted(), borrowed)
    }

    private func blobPush(_ tell: @escaping @Sendable (Int64) -> Void = { _ in }) -> BlobPush {
        BlobPush(
            catalog: catalog, places: places, remote: remote, policy: policy, clock: clock,
            asksAgain: asksAgain, progress: tell, changed: hooks.changed, reached: hooks.reached)
    }

    /// Seals a blob again under a fresh name, since the store has let it go.
    private func reseal(_ job: UploadJob) async throws {
        let spool = Spool(places)
        let entered = try spool.enter()
        defer { withExtendedLifetime(entered) {} }
        let tools = tools
        let (ref, spooled) = try await Blocking.run {
            try Resealing(opener: tools.opener, random: tools.random, spool: spool).run(job)
        }
        try hooks.reached("sealed again")
        let (key, role) = (job.key, job.spooled.role)
        try await catalog.change("seal a blob again", with: tools) { store in
            let isFound = try store.replace(job.ref, role, of: key, spooled: spooled) {
                attachment in
                if role == .original {
                    attachment.ref = .address(ref)
                } else {
                    attachment.thumb?.ref = .address(ref)
                }
            }
            // Somebody may have taken it out meanwhile: then the trash still needs the old one.
            if isFound { try store.connection.release(job.spooled.record) }
        }
        try hooks.reached("renamed")
    }

    // MARK: Entries

    /// Sends entries whose blobs are at the store; how many went.
    private func sendEntries(_ rows: [Int64], _ borrowed: Set<String>) async throws -> Int {
        var rest = rows[...]
        var count = 0
        var rounds = 0
        while !rest.isEmpty {
            switch try await sendOnce(Array(rest), borrowed) {
            case .sent(let push):
                count += push.entries.count
                rest = rest.filter { $0 > push.last }
            case .moved: try await again(&rounds)
            case .nothing: return count
            }
        }
        return count
    }

    private enum Sent {
        case sent(PreparedPush)
        /// Somebody else was first, or a pull that was killed has left the catalog between two heads.
        case moved
        case nothing
    }

    /// One request, with pulls kept away; they may go on before the next.
    private func sendOnce(_ rows: [Int64], _ borrowed: Set<String>) async throws -> Sent {
        let held = try await hooks.lock()
        defer { withExtendedLifetime(held) {} }
        let (push, isReady) = try await prepare(rows, borrowed)
        guard isReady else { return .moved }
        guard let push else { return .nothing }
        try hooks.reached("prepared")
        return try await deliver(push) ? .sent(push) : .moved
    }

    /// Sends the push whose answer has not come, as it was; how many entries went.
    private func finishPrepared() async throws -> Int {
        let held = try await hooks.lock()
        defer { withExtendedLifetime(held) {} }
        guard let push = try await catalog.preparedPush() else { return 0 }
        // Its blobs were there when it was prepared; the store may have let some go since.
        guard try await blobPush().areStored(catalog.sentBlobs()) else {
            try await catalog.forgetPush()
            return 0
        }
        return try await deliver(push) ? push.entries.count : 0
    }

    private func prepare(
        _ rows: [Int64], _ borrowed: Set<String>
    ) async throws -> (push: PreparedPush?, isReady: Bool) {
        if let push = try await catalog.preparedPush() { return (push, true) }
        return try await catalog.preparePush(
            of: rows, borrowing: borrowed, account: account, keys: keys, random: random,
            now: Timestamp(seconds: clock.now) ?? .beginning)
    }

    /// Sends a push that is kept in the catalog; false if somebody else was first.
    private func deliver(_ push: PreparedPush) async throws -> Bool {
        switch try await post(push) {
        case .accepted:
            try hooks.reached("accepted")
            try await catalog.confirmPush(push.head, account: account, keys: keys)
            try hooks.reached("confirmed")
            try await hooks.keepHead(push.head)
            try hooks.reached("head kept")
            return true
        case .moved:
            // It stays noted: the pull that follows finds out whether it has arrived all the same.
            return false
        }
    }

    private func post(_ push: PreparedPush) async throws -> PushAnswer {
        do {
            return try await policy.retrying(clock) { () async throws(RemoteFailure) in
                try await remote.push(push.body)
            }
        } catch let failure as RemoteFailure where failure.code == Problem.badPush {
            let what = "the server does not take a push that adds up"
            try await catalog.noteMismatch(what)
            throw SyncError(.mismatch, "push", what)
        }
    }

    private func again(_ rounds: inout Int) async throws {
        rounds += 1
        guard rounds < Self.mostRounds else {
            throw RemoteFailure(.serverError, "the account changes faster than it can be sent")
        }
        if rounds > 2 { try await clock.wait(clock.jitter(policy, after: rounds)) }
        try await hooks.pull()
    }
}
