internal import SyncPlatform

/// Entries that were changed here and that the server has changed too.
extension EntryStore {
    /// Merges an item as the server has it now into the change of it that waits.
    mutating func merge(
        _ change: EntryBatch.Change, _ payload: EntryPayload, raw: Range<Int>?,
        _ payloads: PayloadBatch, _ here: EntryStatements.Known, _ waiting: Waiting,
        _ statements: EntryStatements
    ) throws {
        let id = change.facts.id
        let remote = ItemDraft(payload, in: payloads)
        let before = raw.map { Array(payloads.bytes[$0]) }
        let written = try remote.encode(over: before, using: decoder)
        let base = try base(of: here, waiting, change, id) ?? .item(remote)
        let plan = MergePlan(
            base: base, local: try local(here), remote: .item(remote), payload: written)
        try setCounted(here.row, change.facts, change.leaf)
        if case .item(let draft) = plan.shown {
            let merged =
                plan.isUnsent ? try draft.encode(over: written, using: decoder) : written
            try show(merged, of: here, id, statements, isOwn: false)
        }
        if plan.isUnsent {
            // With the addresses that are known here, which the server's may lack.
            let known = plan.newBase.draft ?? remote
            let base =
                try known == remote
                ? before ?? written : known.encode(over: written, using: decoder)
            try connection.rebaseWaiting(here.row, base: base, isNewRevision: true)
        } else {
            try connection.run(.removeWaiting, row: here.row)
        }
        // What the server's entry names, it has.
        for ref in remote.addresses { try connection.release(ref.recordName) }
        if let copy = plan.copy { try add(copy: copy, of: id, statements) }
    }

    /// Merges a removal at the server into the change that waits; false if the item is to be removed
    /// here as any other.
    mutating func merge(
        tombstone change: EntryBatch.Change, _ here: EntryStatements.Known, _ waiting: Waiting
    ) throws -> Bool {
        let base = try base(of: here, waiting, change, change.facts.id) ?? .removed
        let plan = MergePlan(base: base, local: try local(here), remote: .removed)
        if plan.shown == .removed {
            try connection.run(.removeWaiting, row: here.row)
            if here.kind == .live { return false }
        } else {
            try connection.rebaseWaiting(here.row, base: nil, isNewRevision: true)
        }
        count(change, over: here)
        try setCounted(here.row, change.facts, change.leaf)
        return true
    }

    private func local(_ here: EntryStatements.Known) throws -> ItemSide {
        try connection.draft(row: here.row).map { .item($0.draft) } ?? .removed
    }

    /// What the server had when the change was made; nil if what it has now is what was sent.
    ///
    /// A push is one whole: if one entry of it has arrived, or one that was added here and whose id
    /// nobody else can know, then all have.
    private func base(
        of here: EntryStatements.Known, _ waiting: Waiting, _ change: EntryBatch.Change,
        _ id: EntryID
    ) throws -> ItemSide? {
        if let sent = waiting.sent {
            if sent.leaf == change.leaf || here.isLocal {
                try connection.prepare(.acceptSent).run()
            }
            if sent.leaf == change.leaf { return nil }
            if here.isLocal { return try side(sent.payload, of: id) }
        } else if here.isLocal, waiting.base == nil {
            return .absent
        }
        return try side(waiting.base, of: id)
    }

    /// Accepts the push whose answer has not come, if one of some changes shows that it has arrived:
    /// before any of them is merged, since those of one seq come in the order of their ids.
    func acceptSent(shownBy batches: [EntryBatch], _ statements: EntryStatements) throws {
        guard hasWaiting, try connection.pushingHead() != nil else { return }
        for batch in batches {
            for change in batch.changes {
                guard let here = try statements.row(change.facts.id), here.isLocal,
                    try connection.waiting(here.row)?.sent != nil
                else { continue }
                return try connection.prepare(.acceptSent).run()
            }
        }
    }

    private func side(_ payload: [UInt8]?, of id: EntryID) throws -> ItemSide {
        guard let payload else { return .removed }
        return .item(try draft(payload, of: id))
    }

    /// Adds what lost as an item of its own; the keys of its addresses are wrapped for that.
    private mutating func add(
        copy: ItemDraft, of id: EntryID, _ statements: EntryStatements
    ) throws {
        guard var tools else { preconditionFailure("no merging without the account's key") }
        let other = EntryID(random: tools.random)
        var copy = copy
        for index in copy.attachments.indices {
            let attachment = copy.attachments[index]
            func moved(_ ref: ItemDraft.Ref, _ role: BlobRole) -> ItemDraft.Ref {
                guard let address = ref.address else { return ref }
                let moved = tools.opener.rewrap(
                    address, of: attachment.id, role, from: id, to: other, tools.random)
                return moved.map(ItemDraft.Ref.address) ?? .absent
            }
            copy.attachments[index].ref = moved(attachment.ref, .original)
            if let thumb = attachment.thumb {
                copy.attachments[index].thumb?.ref = moved(thumb.ref, .thumbnail)
            }
        }
        try add(copy, other, statements)
    }
}
