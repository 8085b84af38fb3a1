internal import SyncPlatform

/// A change that waits to be sent: what the server had when it was made, and what a push says of it
/// whose answer has not come.
struct Waiting: Sendable {
    /// The item's payload as the server has it; nil if it has none, or a tombstone.
    let base: [UInt8]?
    let sent: Sent?

    /// What a push says of an entry.
    struct Sent: Sendable {
        let leaf: SetDigest
        /// nil for a removal.
        let payload: [UInt8]?
    }
}

extension Connection {
    /// The change of an entry that waits; nil if it is here as the server has it.
    func waiting(_ entry: Int64) throws -> Waiting? {
        let query = try prepare(.waiting)
        query.bind(entry, at: 1)
        guard try query.step() else { return nil }
        var sent: Waiting.Sent?
        if let leaf = SetDigest(bytes: query.blob(1).span) {
            sent = Waiting.Sent(leaf: leaf, payload: query.isNull(2) ? nil : query.blob(2))
        }
        return Waiting(base: query.isNull(0) ? nil : query.blob(0), sent: sent)
    }

    /// Whether any change waits.
    func hasWaiting() throws -> Bool { try prepare(.anyWaiting).step() }

    /// How many entries are not here as the server has them.
    func countWaiting() throws -> Int {
        let query = try prepare(.countWaiting)
        return try query.step() ? Int(query.int(0)) : 0
    }

    /// Notes that an entry is changed here; `base` is what the server has of it.
    func addWaiting(_ entry: Int64, base: [UInt8]?) throws {
        let add = try prepare(.addWaiting)
        add.bind(entry, at: 1)
        if let base { add.bind(blob: base.span, at: 2) }
        try add.run()
    }

    /// Runs a statement whose one parameter is a row.
    func run(_ query: Query, row: Int64) throws {
        let statement = try prepare(query)
        statement.bind(row, at: 1)
        try statement.run()
    }

    /// Puts what the server has now in the place of what it had; what was sent counts no more.
    func rebaseWaiting(_ entry: Int64, base: [UInt8]?, isNewRevision: Bool) throws {
        let rebase = try prepare(.rebaseWaiting)
        rebase.bind(entry, at: 1)
        if let base { rebase.bind(blob: base.span, at: 2) }
        rebase.bind(isNewRevision ? 1 : 0, at: 3)
        try rebase.run()
    }

    /// The head of a push whose answer has not come; nil if there is none.
    func pushingHead() throws -> Head? {
        let query = try prepare(.pushing)
        guard try query.step(), !query.isNull(0) else { return nil }
        return try Head(parsing: query.blob(0).span)
    }

    func setPushingHead(_ head: Head?) throws {
        let set = try prepare(.setPushing)
        if let head { set.bind(blob: head.bytes.span, at: 1) }
        try set.run()
    }

    // MARK: Items as values

    /// An item as it is shown, and its payload as it came if that says more; nil if it is removed.
    func draft(row: Int64) throws -> (draft: ItemDraft, raw: [UInt8]?)? {
        let query = try prepare(.entryByRow)
        query.bind(row, at: 1)
        guard try query.step() else { return nil }
        var draft = ItemDraft(
            title: try query.text(0), text: try query.textOrNil(1),
            created: try query.textOrNil(2), modified: try query.textOrNil(3))
        let raw = query.isNull(4) ? nil : query.blob(4)
        let rows = try prepare(.exportedAttachments)
        rows.bind(row, at: 1)
        while try rows.step() {
            guard let id = AttachmentID(bytes: rows.blob(0).span) else {
                throw CatalogDamage(what: "an identifier of another length")
            }
            let isTakenAway = AddressState(rawValue: rows.int(5)) == .takenAway
            var attachment = ItemDraft.Attachment(
                id: id, name: try rows.text(2), type: try rows.text(3), size: UInt64(rows.int(4)),
                ref: Self.ref(rows.blob(6), isTakenAway: isTakenAway))
            if !rows.isNull(8), !rows.isNull(9) {
                let isNone = ThumbnailState(rawValue: rows.int(7)) == ThumbnailState.none
                attachment.thumb = ItemDraft.Thumb(
                    type: try rows.text(8), size: UInt64(rows.int(9)),
                    ref: Self.ref(rows.blob(10), isTakenAway: isNone))
            }
            draft.attachments.append(attachment)
        }
        return (draft, raw)
    }

    private static func ref(_ packed: [UInt8], isTakenAway: Bool) -> ItemDraft.Ref {
        if let ref = CloudBlobRef(packed: packed.span) { return .address(ref) }
        return isTakenAway ? .null : .absent
    }
}
