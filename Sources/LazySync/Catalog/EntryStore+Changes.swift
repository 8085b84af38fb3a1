internal import SyncPlatform

/// What writing an item needs beyond the catalog.
struct MergeTools: Sendable {
    /// Proves addresses, and wraps the keys of those that move to another item.
    var opener: RefOpener
    let random: any RandomSource
    /// The time of day in Unix seconds.
    let now: Int64
}

/// Items that are changed here: what is shown changes, and what the server has is kept beside it.
extension EntryStore {
    /// Changes an item.
    ///
    /// `edit` gets it as it is shown, nil if there is none, and answers what it is to be, nil if it
    /// is to go. What `before` has beyond the values of an item that was gone is kept.
    /// - Throws: `FormatError`: it breaks a limit of the format; what `edit` throws.
    mutating func change(
        _ id: EntryID, over before: [UInt8]? = nil, _ edit: (ItemDraft?) throws -> ItemDraft?
    ) throws {
        let statements = try EntryStatements(connection)
        guard let known = try statements.row(id) else {
            if let draft = try edit(nil) { try add(draft, id, statements) }
            return
        }
        let here = try settleStaged(id, known, statements)
        let now = try connection.draft(row: here.row)
        let next = try edit(now?.draft)
        if next == now?.draft { return }
        let waiting = try connection.waiting(here.row)
        var base = waiting?.base
        if waiting == nil {
            base = try now.map { try self.payload(of: $0.draft, $0.raw, id) }
            try connection.addWaiting(here.row, base: base)
        } else {
            try connection.run(.changeWaiting, row: here.row)
        }
        hasWaiting = true
        var payload: [UInt8]?
        if let next {
            let written = try next.encode(over: base ?? now?.raw ?? before, using: decoder)
            try show(written, of: here, id, statements, isOwn: true)
            payload = written
        } else {
            try hide(here, id, statements)
        }
        // Back to what the server has, or gone before it had anything: there is nothing to send.
        let isBack = try payload == base || next == base.map { try self.draft($0, of: id) }
        guard waiting?.sent == nil, isBack else { return }
        try connection.run(.removeWaiting, row: here.row)
        if here.isLocal { try connection.run(.deleteEntry, row: here.row) }
    }

    /// The payload of an item as the server has it: as it came, if it says the same.
    private func payload(
        of draft: ItemDraft, _ raw: [UInt8]?, _ id: EntryID
    ) throws -> [UInt8] {
        // With addresses that are known here and that it lacks, it is written anew.
        if let raw, try self.draft(raw, of: id) == draft { return raw }
        return try draft.encode(over: raw, using: decoder)
    }

    /// The values of a payload, with every address proved.
    func draft(_ payload: [UInt8], of id: EntryID) throws -> ItemDraft {
        let (item, batch) = try read(payload, of: id)
        return ItemDraft(item, in: batch)
    }

    /// Changes an attachment that still has an address, and names with it what was sealed for that;
    /// false, and nothing is named, if it has another one by now.
    mutating func replace(
        _ address: CloudBlobRef, _ role: BlobRole, of key: AttachmentKey, spooled: [SpooledBlob],
        _ edit: (inout ItemDraft.Attachment) -> Void
    ) throws -> Bool {
        var isFound = false
        try change(key.item) { before in
            guard var draft = before,
                let index = draft.attachments.firstIndex(where: { attachment in
                    let ref = role == .original ? attachment.ref : attachment.thumb?.ref
                    return attachment.id == key.id && ref == .address(address)
                })
            else { return before }
            isFound = true
            edit(&draft.attachments[index])
            return draft
        }
        if isFound { for blob in spooled { try connection.addSpooled(blob) } }
        return isFound
    }

    /// Adds an item that no server has.
    mutating func add(_ draft: ItemDraft, _ id: EntryID, _ statements: EntryStatements) throws {
        let payload = try draft.encode(using: decoder)
        let (item, batch) = try read(payload, of: id)
        let change = EntryBatch.Change(
            facts: EntryFacts(id: id, version: 0, kind: .live, epoch: 0), leaf: SetDigest(),
            content: .live(item, raw: nil))
        let time = draft.created.flatMap { Timestamp($0) }
        let fields = EntryStatements.Fields(
            order: ListOrder.key(created: time, entry: id), payload: item, raw: nil)
        guard let row = try statements.insert(change, fields, batch.bytes.span) else {
            throw CatalogDamage(what: "an item that is there twice")
        }
        tally[.items] += 1
        let here = EntryStatements.Known(
            row: row, version: 0, kind: .live, leaf: change.leaf, isConfirmed: false, isLocal: true)
        try setAttachments(item, of: here, id, time?.seconds ?? .min, batch, statements)
        try connection.addWaiting(row, base: nil)
        hasWaiting = true
    }

    /// Puts a payload in the place of what is shown of an entry.
    mutating func show(
        _ payload: [UInt8], of here: EntryStatements.Known, _ id: EntryID,
        _ statements: EntryStatements, isOwn: Bool
    ) throws {
        var (item, batch) = try read(payload, of: id)
        let raw = item.isLossy ? batch.append(payload.span) : nil
        let text = batch.bytes.span
        let time = Timestamp(text: text.extracting(item.created ?? 0..<0))
        let fields = EntryStatements.Fields(
            order: ListOrder.key(created: time, entry: id), payload: item, raw: raw)
        try statements.show(here.row, fields, text)
        try setAttachments(
            item, of: here, id, time?.seconds ?? .min, batch, statements, isOwn: isOwn)
    }

    /// Removes what is shown of an entry, into the trash.
    private mutating func hide(
        _ here: EntryStatements.Known, _ id: EntryID, _ statements: EntryStatements
    ) throws {
        try trash(nil, of: here.row, id, isOwn: true)
        for old in try statements.attachments(of: here.row).values { try remove(old, statements) }
        try statements.show(here.row, nil, Span())
        tally[.items] -= 1
    }

    /// Makes an entry that the server does not have one that was added here.
    mutating func makeLocal(_ row: Int64) throws {
        try setCounted(row, EntryFacts?.none, SetDigest())
        if try connection.waiting(row) == nil {
            try connection.addWaiting(row, base: nil)
        } else {
            try connection.rebaseWaiting(row, base: nil, isNewRevision: true)
        }
        hasWaiting = true
    }

    /// Writes what the server has of an entry, nil for nothing, and nothing of what is shown.
    func setCounted(_ row: Int64, _ facts: EntryFacts?, _ leaf: SetDigest) throws {
        let set = try connection.prepare(.setCounted)
        set.bind(row, at: 1)
        set.bind(Int64(bitPattern: facts?.version ?? 0), at: 2)
        set.bind(Int64(facts?.epoch ?? 0), at: 3)
        set.bind(blob: leaf.bytes.span, at: 4)
        try set.run()
    }

    /// Decodes a payload, with every address proved.
    func read(_ payload: [UInt8], of id: EntryID) throws -> (EntryPayload, PayloadBatch) {
        guard var opener = tools?.opener else {
            preconditionFailure("an item cannot be read without the account's key")
        }
        var batch = PayloadBatch()
        var item = try decoder.decode(payload.span, into: &batch)
        opener.check(&item, of: id, in: &batch)
        return (item, batch)
    }

    /// Lets every item stay whose tombstone waits under a verified head; answers how many.
    ///
    /// They are to be written live again.
    mutating func overruleBuried() throws -> Int {
        let statements = try EntryStatements(connection)
        var count = 0
        while let buried = try nextBuried() {
            guard let here = try statements.row(buried.facts.id) else { break }
            _ = try settleStaged(buried.facts.id, here, statements)
            hasWaiting = true
            count += 1
        }
        return count
    }

    /// A tombstone that waits for an item which is changed here now is overruled by the change: what
    /// the server has is the tombstone, and the item stays.
    private mutating func settleStaged(
        _ id: EntryID, _ here: EntryStatements.Known, _ statements: EntryStatements
    ) throws -> EntryStatements.Known {
        guard hasStaged else { return here }
        let staged = try connection.prepare(.stagedTombstoneOf)
        staged.bind(blob: id.bytes.span, at: 1)
        guard try staged.step(), let leaf = SetDigest(bytes: staged.blob(2).span) else {
            return here
        }
        let facts = EntryFacts(
            id: id, version: UInt64(bitPattern: staged.int(0)), kind: .tombstone,
            epoch: UInt32(truncatingIfNeeded: staged.int(1)))
        staged.reset()
        if !here.isConfirmed, !here.isLocal { tally[.unconfirmed] -= 1 }
        // The digest has counted the tombstone in the item's place since it was staged.
        try setCounted(here.row, facts, leaf)
        try run(.unstage, id)
        try connection.addWaiting(here.row, base: nil)
        return try statements.row(id) ?? here
    }
}
