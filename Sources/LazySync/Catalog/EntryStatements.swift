internal import SyncPlatform

/// The statements that store entries, prepared once for many of them.
struct EntryStatements {
    private let insertEntry: Statement
    private let entryByID: Statement
    private let updateEntry: Statement
    private let updateTexts: Statement
    private let updateShown: Statement
    private let attachmentsOfEntry: Statement
    private let insertAttachment: Statement
    private let updateAttachment: Statement
    private let deleteAttachment: Statement
    private let connection: Connection

    /// An entry that is here.
    struct Known {
        let row: Int64
        let version: UInt64
        let kind: EntryFacts.Kind
        let leaf: SetDigest
        /// Whether the server has it; else it came from a file, or was added here, and the digest
        /// does not count it.
        let isConfirmed: Bool
        /// Whether it was added here, and the server has not had it yet.
        let isLocal: Bool
        /// Its place in the list; empty for a tombstone.
        var order: [UInt8] = []

        /// What the digest counts for it.
        var counted: SetDigest? { isConfirmed ? leaf : nil }

        /// Whether a version from the server takes its place: a newer one, or over what it has not
        /// sent, any.
        func isBelow(_ version: UInt64) -> Bool { !isConfirmed || version > self.version }
    }

    /// What an item has and a tombstone does not.
    struct Fields {
        let order: [UInt8]
        let payload: EntryPayload
        let raw: Range<Int>?
    }

    init(_ connection: Connection) throws {
        self.connection = connection
        insertEntry = try connection.prepare(.insertEntry)
        entryByID = try connection.prepare(.entryByID)
        updateEntry = try connection.prepare(.updateEntry)
        updateTexts = try connection.prepare(.updateTexts)
        updateShown = try connection.prepare(.updateShown)
        attachmentsOfEntry = try connection.prepare(.attachmentsOfEntry)
        insertAttachment = try connection.prepare(.insertAttachment)
        updateAttachment = try connection.prepare(.updateAttachment)
        deleteAttachment = try connection.prepare(.deleteAttachment)
    }

    /// Looks an entry up.
    func row(_ id: EntryID) throws -> Known? {
        entryByID.reset()
        entryByID.bind(blob: id.bytes.span, at: 1)
        defer { entryByID.reset() }
        guard try entryByID.step(), let leaf = SetDigest(bytes: entryByID.blob(3).span) else {
            return nil
        }
        return Known(
            row: entryByID.int(0), version: UInt64(bitPattern: entryByID.int(1)),
            kind: entryByID.int(2) == 0 ? .live : .tombstone, leaf: leaf,
            isConfirmed: entryByID.int(4) > 0, isLocal: entryByID.int(4) == 0,
            order: entryByID.blob(5))
    }

    /// Inserts an entry that is not here; nil, and nothing done, if it is.
    func insert(
        _ change: EntryBatch.Change, _ fields: Fields?, _ text: Span<UInt8>
    ) throws -> Int64? {
        insertEntry.bind(blob: change.facts.id.bytes.span, at: 1)
        bind(change, fields, text, to: insertEntry)
        try insertEntry.run()
        return connection.changes == 1 ? connection.lastInsertRowID : nil
    }

    func update(
        _ row: Int64, _ change: EntryBatch.Change, _ fields: Fields?, _ text: Span<UInt8>
    ) throws {
        updateEntry.bind(row, at: 1)
        bind(change, fields, text, to: updateEntry)
        try updateEntry.run()
    }

    /// Writes a live entry over one that is here; an index of an item that keeps its place in the
    /// list is left alone.
    func update(
        _ here: Known, _ change: EntryBatch.Change, _ fields: Fields, _ text: Span<UInt8>
    ) throws {
        guard here.kind == .live, here.order == fields.order else {
            return try update(here.row, change, fields, text)
        }
        updateTexts.bind(here.row, at: 1)
        updateTexts.bind(Int64(bitPattern: change.facts.version), at: 2)
        updateTexts.bind(Int64(change.facts.epoch), at: 3)
        updateTexts.bind(blob: change.leaf.bytes.span, at: 4)
        updateTexts.bind(text: text.extracting(fields.payload.title), at: 5)
        updateTexts.bind(text: fields.payload.text, of: text, at: 6)
        updateTexts.bind(text: fields.payload.created, of: text, at: 7)
        updateTexts.bind(text: fields.payload.modified, of: text, at: 8)
        updateTexts.bind(blob: fields.raw, of: text, at: 9)
        try updateTexts.run()
    }

    /// Writes what is shown of an entry, and nothing of what the server has; nil: it is removed.
    func show(_ row: Int64, _ fields: Fields?, _ text: Span<UInt8>) throws {
        updateShown.bind(row, at: 1)
        updateShown.bind(fields == nil ? 1 : 0, at: 2)
        bind(fields, text, to: updateShown, from: 3)
        try updateShown.run()
    }

    private func bind(
        _ change: EntryBatch.Change, _ fields: Fields?, _ text: Span<UInt8>,
        to statement: Statement
    ) {
        statement.bind(Int64(bitPattern: change.facts.version), at: 2)
        statement.bind(Int64(change.facts.epoch), at: 3)
        statement.bind(Int64(change.facts.kind.rawValue), at: 4)
        statement.bind(blob: change.leaf.bytes.span, at: 5)
        bind(fields, text, to: statement, from: 6)
    }

    private func bind(
        _ fields: Fields?, _ text: Span<UInt8>, to statement: Statement, from start: Int32
    ) {
        guard let fields else {
            for index in start...start + 5 { statement.bindNull(at: index) }
            return
        }
        statement.bind(blob: fields.order.span, at: start)
        statement.bind(text: text.extracting(fields.payload.title), at: start + 1)
        statement.bind(text: fields.payload.text, of: text, at: start + 2)
        statement.bind(text: fields.payload.created, of: text, at: start + 3)
        statement.bind(text: fields.payload.modified, of: text, at: start + 4)
        statement.bind(blob: fields.raw, of: text, at: start + 5)
    }

    /// The attachments of an entry, by their ids.
    func attachments(of row: Int64) throws -> [AttachmentID: KnownAttachment] {
        var found: [AttachmentID: KnownAttachment] = [:]
        let query = attachmentsOfEntry
        query.bind(row, at: 1)
        defer { query.reset() }
        while try query.step() {
            guard let id = AttachmentID(bytes: query.blob(1).span) else { continue }
            found[id] = KnownAttachment(
                row: query.int(0), size: query.int(2),
                address: AddressState(rawValue: query.int(3)) ?? .absent,
                ref: CloudBlobRef(packed: query.blob(4).span),
                thumbnail: ThumbnailState(rawValue: query.int(5)) ?? .none,
                thumbnailSize: query.int(6),
                thumbnailRef: CloudBlobRef(packed: query.blob(7).span),
                words: KnownAttachment.Words(
                    position: query.int(8), createdAt: query.int(9), name: query.blob(10),
                    type: query.blob(11), thumbType: query.isNull(12) ? nil : query.blob(12)))
        }
        return found
    }

    /// Writes an attachment, over the one that was here or as a new one.
    func write(
        _ merged: MergedAttachment, _ attachment: EntryPayload.Attachment,
        over old: KnownAttachment?, in entry: Int64, createdAt: Int64, pinned: Bool,
        _ text: Span<UInt8>
    ) throws {
        if let old, old.isSame(as: merged, attachment, createdAt: createdAt, text) { return }
        let statement = old == nil ? insertAttachment : updateAttachment
        // The two differ in how they begin: entry and id, or the row.
        var index: Int32 = 1
        if let old {
            statement.bind(old.row, at: 1)
        } else {
            statement.bind(entry, at: 1)
            statement.bind(blob: attachment.id.bytes.span, at: 2)
            index = 2
        }
        statement.bind(Int64(attachment.position), at: index + 1)
        statement.bind(createdAt, at: index + 2)
        statement.bind(text: text.extracting(attachment.name), at: index + 3)
        statement.bind(text: text.extracting(attachment.type), at: index + 4)
        statement.bind(Int64(attachment.size), at: index + 5)
        statement.bind(merged.address.rawValue, at: index + 6)
        statement.bind(
            ref: merged.ref, or: merged.keepsRef ? old?.ref : nil, of: text, at: index + 7)
        statement.bind(merged.thumbnail.rawValue, at: index + 8)
        statement.bind(text: attachment.thumb?.type, of: text, at: index + 9)
        if let size = attachment.thumb?.size {
            statement.bind(Int64(size), at: index + 10)
        } else {
            statement.bindNull(at: index + 10)
        }
        statement.bind(
            ref: merged.thumbnailRef, or: merged.keepsThumbnailRef ? old?.thumbnailRef : nil,
            of: text, at: index + 11)
        // One that was here keeps its pin.
        if old == nil { statement.bind(pinned ? 1 : 0, at: index + 12) }
        try statement.run()
    }

    func delete(_ row: Int64) throws {
        deleteAttachment.bind(row, at: 1)
        try deleteAttachment.run()
    }
}

extension Statement {
    fileprivate func bind(text range: Range<Int>?, of bytes: Span<UInt8>, at index: Int32) {
        if let range { bind(text: bytes.extracting(range), at: index) } else { bindNull(at: index) }
    }

    fileprivate func bind(blob range: Range<Int>?, of bytes: Span<UInt8>, at index: Int32) {
        if let range { bind(blob: bytes.extracting(range), at: index) } else { bindNull(at: index) }
    }

    /// Binds a new address, or the one that is kept, or none.
    fileprivate func bind(
        ref range: Range<Int>?, or kept: CloudBlobRef?, of bytes: Span<UInt8>, at index: Int32
    ) {
        if let kept, range == nil {
            bind(blob: kept.packed.span, at: index)
        } else {
            bind(blob: range, of: bytes, at: index)
        }
    }
}
