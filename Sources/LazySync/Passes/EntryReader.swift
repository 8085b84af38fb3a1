internal import SyncPlatform

/// Turns a manifest page into entries that the catalog can store: parses, unseals, checks every
/// ref.
///
/// It keeps its memory from page to page; one page at a time.
final class EntryReader {
    private let account: AccountID
    private let keys: AccountKeys
    private let pages = PageReader()
    private let decoder = EntryDecoder()
    private var refs: RefOpener
    private var body: [UInt8] = []

    init(account: AccountID, keys: AccountKeys) {
        self.account = account
        self.keys = keys
        refs = RefOpener(keys: keys, account: account)
    }

    /// Reads a page.
    ///
    /// - Throws: `RemoteFailure` for what breaks the protocol, `SyncError` for a head or an entry
    ///   of an epoch that must not be there; nothing of the page is taken then.
    func read(
        _ page: ManifestPage, after verified: Head?
    ) throws -> (envelope: PageEnvelope, batch: EntryBatch) {
        var batch = EntryBatch()
        // Base64 goes, and the payloads shrink when their refs are packed.
        batch.payloads.bytes.reserveCapacity(page.body.count / 2)
        var headEpoch: UInt32?
        let envelope = try pages.read(page.body) { envelope in
            try check(envelope, after: verified)
            headEpoch = envelope.head?.epoch
            batch.changes.reserveCapacity(envelope.count)
        } entry: { facts, seq, sealed in
            if let headEpoch, facts.epoch > headEpoch {
                throw SyncError(
                    .mismatch, "restore", "entry \(facts.id) is of a later epoch than the head")
            }
            batch.seq = max(batch.seq, seq)
            batch.changes.append(read(facts, sealed, into: &batch.payloads))
        }
        return (envelope, batch)
    }

    private func check(_ envelope: PageEnvelope, after verified: Head?) throws {
        guard let head = envelope.head else { return }
        guard head.account == account else {
            throw SyncError(.mismatch, "restore", "the head is another account's")
        }
        guard head.epoch == keys.epoch else {
            throw SyncError(
                .unavailable(.keyMissing), "restore",
                "the account has moved on to key \(head.epoch), which is not on this device")
        }
        if let problem = HeadHistory.problem(head, after: verified) {
            throw SyncError(.mismatch, "restore", problem)
        }
    }

    private func read(
        _ facts: EntryFacts, _ sealed: Span<UInt8>, into payloads: inout PayloadBatch
    ) -> EntryBatch.Change {
        // A leaf of another epoch could not be keyed here; the head's check will find it missing.
        let leaf =
            facts.epoch == keys.epoch
            ? SetDigest.leafHash(facts, sealed: sealed, keys: keys) : SetDigest()
        // Out of the object while it is in use, so that spans of it are those of a local value.
        var body: [UInt8] = []
        swap(&body, &self.body)
        defer { swap(&body, &self.body) }
        do throws(FormatError) {
            let range = try SealedEntry.open(
                sealed, facts: facts, account: account, keys: keys, into: &body)
            if facts.kind == .tombstone {
                _ = try decoder.decodeTombstone(body.span.extracting(range))
                return EntryBatch.Change(facts: facts, leaf: leaf, content: .tombstone)
            }
            var item = try decoder.decode(body.span.extracting(range), into: &payloads)
            refs.check(&item, of: facts.id, in: &payloads)
            let raw = item.isLossy ? payloads.append(body.span.extracting(range)) : nil
            return EntryBatch.Change(facts: facts, leaf: leaf, content: .live(item, raw: raw))
        } catch {
            let kept = payloads.append(sealed)
            return EntryBatch.Change(facts: facts, leaf: leaf, content: .unreadable(kept))
        }
    }
}

extension PayloadBatch {
    /// Keeps bytes with the batch, and tells where.
    mutating func append(_ more: Span<UInt8>) -> Range<Int> {
        let start = bytes.count
        bytes.append(copying: more)
        return start..<bytes.count
    }
}
