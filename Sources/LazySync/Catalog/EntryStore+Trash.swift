internal import SyncPlatform

/// What is removed goes to the trash by the transaction that removes it.
extension EntryStore {
    /// Puts an item into the trash, or some of its attachments; they are still there.
    func trash(
        _ ids: Set<AttachmentID>?, of row: Int64, _ entry: EntryID, isOwn: Bool
    ) throws {
        guard let (draft, raw) = try connection.draft(row: row) else { return }
        guard let ids else {
            let payload = try draft.encode(over: raw, using: decoder)
            try trash(payload, draft, entry, nil, isOwn)
            return
        }
        for attachment in draft.attachments where ids.contains(attachment.id) {
            var alone = ItemDraft(title: draft.title)
            alone.attachments = [attachment]
            let payload = try alone.encode(using: decoder)
            try trash(payload, alone, entry, attachment.id, isOwn)
        }
    }

    private func trash(
        _ payload: [UInt8], _ draft: ItemDraft, _ entry: EntryID, _ attachment: AttachmentID?,
        _ isOwn: Bool
    ) throws {
        try forgetTrash(entry, attachment)
        let add = try connection.prepare(.addTrash)
        add.bind(blob: entry.bytes.span, at: 1)
        if let attachment { add.bind(blob: attachment.bytes.span, at: 2) }
        add.bind(blob: payload.span, at: 3)
        add.bind(tools?.now ?? 0, at: 4)
        add.bind(isOwn ? 1 : 0, at: 5)
        try add.run()
        let row = connection.lastInsertRowID
        let record = try connection.prepare(.addTrashRecord)
        for ref in draft.addresses {
            record.bind(blob: ref.recordName.utf8Span.span, at: 1)
            record.bind(row, at: 2)
            try record.run()
        }
    }

    /// Takes an item, or one of its attachments, out of the trash, if it is there.
    func forgetTrash(_ entry: EntryID, _ attachment: AttachmentID?) throws {
        while let row = try connection.trashed(entry, attachment)?.row {
            try connection.forgetTrash(row)
        }
    }
}

/// Something in the trash.
struct Trashed: Sendable {
    let row: Int64
    let entry: EntryID
    /// nil for all of the item.
    let attachment: AttachmentID?
    let payload: [UInt8]
    /// Unix seconds.
    let removedAt: Int64
    let isOwn: Bool
}

extension Connection {
    /// What lies in the trash of an item or of one of its attachments.
    func trashed(_ entry: EntryID, _ attachment: AttachmentID?) throws -> Trashed? {
        let query = try prepare(.trashOf)
        query.bind(blob: entry.bytes.span, at: 1)
        if let attachment { query.bind(blob: attachment.bytes.span, at: 2) }
        guard try query.step() else { return nil }
        return Trashed(
            row: query.int(0), entry: entry, attachment: attachment, payload: query.blob(1),
            removedAt: query.int(2), isOwn: query.int(3) == 1)
    }

    /// Whether anything lies in the trash.
    func hasTrash() throws -> Bool { try prepare(.anyTrash).step() }

    /// The records that something in the trash names.
    func trashRecords(_ row: Int64) throws -> [String] {
        let query = try prepare(.trashRecords)
        query.bind(row, at: 1)
        var found: [String] = []
        while try query.step() { found.append(String(decoding: query.blob(0), as: UTF8.self)) }
        return found
    }

    /// Whether something in the trash names a record.
    func isTrashRecord(_ record: String) throws -> Bool {
        let query = try prepare(.isTrashRecord)
        query.bind(blob: record.utf8Span.span, at: 1)
        return try query.step()
    }

    /// Forgets something in the trash; its files go with the next sweep.
    func forgetTrash(_ row: Int64) throws {
        for record in try trashRecords(row) { try drop(record) }
        try run(.removeTrashRecords, row: row)
        try run(.removeTrash, row: row)
    }
}
