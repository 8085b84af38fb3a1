internal import SyncPlatform

/// Brings the catalog up to date with the manifest: addresses only.
///
/// Three things go on at once: the next page is on its way, one is decoded, and the ones before are
/// stored, a few pages a transaction with their cursor. Run again, it goes on where it was.
struct RestorePass {
    let account: AccountID
    let keys: AccountKeys
    let catalog: Catalog
    let remote: any Remote
    let policy: Backoff
    let clock: any WaitingClock
    let random: any RandomSource
    /// The head that the key store has as the last verified one; no head may be below it.
    var floor: Head?
    var paging = Paging()
    /// Told of the entries that came so far, and of how many there will be if that is known.
    var progress: @Sendable (Int, Int?) -> Void = { _, _ in }

    /// What a pass brought.
    struct Outcome: Sendable {
        var head: Head?
        var entries = 0
        var bytes: Int64 = 0
        var heldDeletions = 0
    }

    /// How the manifest is cut.
    struct Paging: Sendable {
        /// Entries a page: large enough to hide the round trip, small enough to decode while it
        /// lasts.
        var pageEntries = 2_000
        /// Entries a transaction: a commit rewrites every index page it touched, so few are
        /// quicker.
        var commitEntries = 10_000
    }

    /// How often what changed meanwhile is asked for, in one run.
    private static let mostPulls = 5
    /// Pages without an entry, in a row, that are taken before the server counts as broken.
    private static let mostEmptyPages = 20

    /// Runs to the end of the manifest and checks the head.
    ///
    /// - Throws: `SyncError`; what was stored before stays, and nothing is deleted.
    func run() async throws(SyncError) -> Outcome {
        do {
            return try await runOnce()
        } catch let error as SyncError where error.code == .mismatch {
            try await catalog.noteMismatch(error.detail)
            throw error
        } catch {
            throw SyncError("restore", error)
        }
    }

    private func runOnce() async throws -> Outcome {
        let cursor = try await catalog.cursor()
        if cursor.unfinished == nil { try await catalog.beginRun() }
        var place = cursor.unfinished ?? ManifestPlace(after: cursor.after)
        var outcome = Outcome()
        var hasRestarted = false
        for _ in 0..<Self.mostPulls {
            do {
                try await pull(place, cursor.verified, &outcome)
            } catch let failure as RemoteFailure
                where !hasRestarted && Self.isRefusedPlace(failure)
            {
                hasRestarted = true
                place = ManifestPlace(after: 0)
                try await catalog.beginRun()
                try await pull(place, cursor.verified, &outcome)
            }
            guard let head = try await finish(&outcome, cursor.verified) else { return outcome }
            // Something has moved above this run's head: what changed since then makes it whole.
            place = ManifestPlace(after: head.seq)
        }
        throw RemoteFailure(.serverError, "the account changes faster than it can be read")
    }

    /// Whether the server does not know the place any more, or says that it never did.
    private static func isRefusedPlace(_ failure: RemoteFailure) -> Bool {
        failure.code == Problem.cursorExpired || failure.status == 400
    }

    /// What merging needs.
    private var tools: MergeTools {
        MergeTools(
            opener: RefOpener(keys: keys, account: account), random: random, now: clock.now)
    }

    // MARK: Pages

    private func pull(
        _ start: ManifestPlace, _ verified: Head?, _ outcome: inout Outcome
    ) async throws {
        let reader = Confined(EntryReader(account: account, keys: keys))
        var pages = PageSource(
            remote: remote, policy: policy, clock: clock, after: start.after,
            limit: paging.pageEntries)
        var writer = BatchWriter(catalog: catalog, with: tools)
        defer { pages.cancel() }
        var place = start
        var seen: Set<String> = start.page.map { [$0] } ?? []
        var entries = 0
        var emptyPages = 0
        do {
            while true {
                let (envelope, batch) = try await read(
                    place.page, &pages, Head.newer(verified, floor), reader, &outcome)
                pages.expect(envelope.next)
                outcome.head = envelope.head
                entries += batch.changes.count
                emptyPages = batch.changes.isEmpty ? emptyPages + 1 : 0
                // After the last page its own place stays: if the head cannot be checked now, the
                // next run reads one page again and not all of them.
                place.page = envelope.next ?? place.page
                try await writer.add(batch, next: place, limit: paging.commitEntries)
                outcome.entries += batch.changes.count
                // Only a run from nothing brings as many entries as the head counts.
                let total = start.after == 0 ? envelope.head.map { Int(clamping: $0.count) } : nil
                progress(entries, total)
                guard let next = envelope.next else { break }
                guard seen.insert(next).inserted, emptyPages < Self.mostEmptyPages else {
                    throw RemoteFailure(
                        .serverError, "the manifest's pages do not come to an end", code: "protocol"
                    )
                }
            }
        } catch {
            // What came before the trouble is stored, so that the next run goes on from there.
            try await writer.finish()
            throw error
        }
        try await writer.finish()
        if start == ManifestPlace(after: 0), entries == 0, let head = outcome.head, head.count > 0 {
            throw SyncError(
                .mismatch, "restore", "no entries under a head that counts \(head.count)")
        }
    }

    /// Fetches and decodes a page; one that is malformed is asked for once more.
    ///
    /// It may have been cut where nothing else could tell.
    private func read(
        _ token: String?, _ pages: inout PageSource, _ verified: Head?,
        _ reader: Confined<EntryReader>, _ outcome: inout Outcome
    ) async throws -> (envelope: PageEnvelope, batch: EntryBatch) {
        let page = try await pages.next(token)
        outcome.bytes += Int64(page.body.count)
        do {
            return try await decode(page, verified, reader)
        } catch is RemoteFailure {
            pages.cancel()
            let again = try await pages.next(token)
            outcome.bytes += Int64(again.body.count)
            return try await decode(again, verified, reader)
        }
    }

    /// Off the caller's actor: unsealing a page takes the better part of a core.
    @concurrent
    private func decode(
        _ page: ManifestPage, _ verified: Head?, _ reader: Confined<EntryReader>
    ) async throws -> (envelope: PageEnvelope, batch: EntryBatch) {
        try reader.use { try $0.read(page, after: verified) }
    }

    // MARK: The head

    /// Checks the head; answers it if something has moved above it, and so what changed since is
    /// needed as well.
    private func finish(_ outcome: inout Outcome, _ verified: Head?) async throws -> Head? {
        if outcome.head == nil, floor != nil || verified != nil {
            throw SyncError(.mismatch, "restore", "the server has no head where there was one")
        }
        var result = try await catalog.finishRun(
            outcome.head, account: account, keys: keys, with: tools)
        if result.mismatch != nil, !result.suspects.isEmpty {
            let seq = try await askAgain(result.suspects, &outcome)
            if let head = outcome.head, seq > head.seq { return head }
            result = try await catalog.finishRun(
                outcome.head, account: account, keys: keys, with: tools)
        }
        if let mismatch = result.mismatch { throw SyncError(.mismatch, "restore", mismatch) }
        outcome.heldDeletions = result.heldDeletions
        return nil
    }

    /// Asks once more, by id, for entries that could not be unsealed; answers their highest seq.
    private func askAgain(_ ids: [EntryID], _ outcome: inout Outcome) async throws -> UInt64 {
        let reader = EntryReader(account: account, keys: keys)
        var rest = ids[...]
        var seq: UInt64 = 0
        while !rest.isEmpty {
            let some = Array(rest.prefix(100))
            rest = rest.dropFirst(100)
            let page = try await entries(some)
            outcome.bytes += Int64(page.body.count)
            let batch = try reader.read(page, after: nil).batch
            seq = max(seq, batch.seq)
            try await catalog.apply(again: batch, for: some, with: tools)
        }
        return seq
    }

    private func entries(_ ids: [EntryID]) async throws -> ManifestPage {
        try await policy.retrying(clock) { () async throws(RemoteFailure) in
            try await remote.entries(ids)
        }
    }
}
