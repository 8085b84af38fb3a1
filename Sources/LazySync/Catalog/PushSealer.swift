internal import SyncPlatform

/// Seals the changes that a push sends.
struct PushSealer {
    let account: AccountID
    let keys: AccountKeys
    let random: any RandomSource
    let now: Timestamp
    /// Records that only a change names and that the store has been asked for.
    let borrowed: Set<String>
    let decoder: EntryDecoder

    /// Sealed bytes after which a push takes no more entries; one may be a mebibyte.
    static let mostBytes = 16 << 20

    /// A sealed change, and what the digest counts for its entry before and after.
    struct Sealed {
        let entry: PreparedPush.Entry
        let leaf: SetDigest
        let counted: SetDigest?
    }

    /// Seals a change and notes what is sent; nil if its entry waits for a version that can be read.
    func seal(_ row: Int64, _ connection: Connection) throws -> Sealed? {
        let query = try connection.prepare(.waitingToSend)
        query.bind(row, at: 1)
        guard try query.step(), let id = EntryID(bytes: query.blob(6).span),
            let leaf = SetDigest(bytes: query.blob(5).span)
        else { return nil }
        let base = query.isNull(0) ? nil : query.blob(0)
        let (revision, epoch) = (query.int(1), query.int(3))
        let version = UInt64(bitPattern: query.int(2))
        query.reset()
        // What a newer program wrote there must not be overwritten by one that cannot read it.
        guard epoch >= 0, try !connection.isStaged(id) else { return nil }
        let shown = try connection.draft(row: row)
        // Somebody may have added to it since its blobs were sent: then it waits for the next push.
        guard try areStored(shown?.draft.addresses ?? [], base, connection) else { return nil }
        let payload = try shown.map { shown in
            try shown.draft.encode(over: base ?? shown.raw, using: decoder)
        }
        let facts = EntryFacts(
            id: id, version: version + 1, kind: payload == nil ? .tombstone : .live,
            epoch: keys.epoch)
        var sealed: [UInt8] = []
        let nonce = random.bytes(AEAD.nonceBytes)
        let content = payload ?? ItemDraft.encodeTombstone(deleted: now)
        SealedEntry.seal(
            content.span, facts: facts, account: account, keys: keys, nonce: nonce.span,
            appendingTo: &sealed)
        let newLeaf = SetDigest.leafHash(facts, sealed: sealed.span, keys: keys)
        try note(row, revision, facts, newLeaf, payload, sealed, connection)
        return Sealed(
            entry: PreparedPush.Entry(facts: facts, sealed: sealed), leaf: newLeaf,
            counted: epoch > 0 ? leaf : nil)
    }

    /// Whether the store has every blob that an item names, for certain.
    private func areStored(
        _ refs: [CloudBlobRef], _ base: [UInt8]?, _ connection: Connection
    ) throws -> Bool {
        var named: Set<String>?
        for ref in refs {
            let record = ref.recordName
            if let spooled = try connection.spooled(record) {
                guard spooled.isStored else { return false }
            } else if !borrowed.contains(record) {
                let known = named ?? CloudBlobRef.names(in: base)
                named = known
                guard known.contains(record) else { return false }
            }
        }
        return true
    }

    private func note(
        _ row: Int64, _ revision: Int64, _ facts: EntryFacts, _ leaf: SetDigest,
        _ payload: [UInt8]?, _ sealed: [UInt8], _ connection: Connection
    ) throws {
        let note = try connection.prepare(.noteSent)
        note.bind(row, at: 1)
        note.bind(revision, at: 2)
        note.bind(Int64(bitPattern: facts.version), at: 3)
        note.bind(Int64(facts.kind.rawValue), at: 4)
        note.bind(blob: leaf.bytes.span, at: 5)
        if let payload { note.bind(blob: payload.span, at: 6) }
        note.bind(blob: sealed.span, at: 7)
        try note.run()
    }
}
