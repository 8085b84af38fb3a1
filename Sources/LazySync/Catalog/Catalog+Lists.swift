internal import SyncPlatform

/// Lists: pages of attachments and items, and finding one by what a person typed.
extension Catalog {
    /// Attachments in the list's order, after a place.
    func attachments(
        after place: ListPlace, type: String?, limit: Int
    ) async throws(SyncError) -> [AttachmentRow] {
        try await read("list attachments") { connection in
            let query = try connection.prepare(.list)
            query.bind(blob: place.orderKey.span, at: 1)
            query.bind(place.position, at: 2)
            if let type {
                query.bind(text: type, at: 3)
                query.bind(text: Self.escaped(type) + "/%", at: 4)
            }
            query.bind(Int64(limit), at: 5)
            return try connection.rows(query)
        }
    }

    /// One attachment; nil if it is not in the catalog.
    func attachment(_ key: AttachmentKey) async throws(SyncError) -> AttachmentRow? {
        try await read("look an attachment up") { try $0.attachment(key) }
    }

    /// Items in the list's order, below an item's place.
    func items(after id: EntryID?, limit: Int) async throws(SyncError) -> [ItemSummary] {
        try await read("list items") { connection in
            var below = ListPlace.start.orderKey
            if let id {
                guard let order = try connection.item(id)?.orderKey else {
                    throw SyncError(.noSuchID, "list items", "there is no item \(id)")
                }
                below = order
            }
            let query = try connection.prepare(.items)
            query.bind(blob: below.span, at: 1)
            query.bind(Int64(limit), at: 2)
            var items: [ItemSummary] = []
            while try query.step() {
                guard let id = EntryID(bytes: query.blob(0).span) else { continue }
                items.append(
                    ItemSummary(
                        id: id, title: try query.text(1),
                        created: query.isNull(2) ? nil : try query.text(2),
                        modified: query.isNull(3) ? nil : try query.text(3),
                        attachmentCount: Int(query.int(4))))
            }
            return items
        }
    }

    /// One item and its attachments; nil if it is not in the catalog.
    func item(
        _ id: EntryID
    ) async throws(SyncError) -> (facts: ItemFacts, attachments: [AttachmentRow])? {
        try await read("look an item up") { connection in
            guard let facts = try connection.item(id) else { return nil }
            let query = try connection.prepare(.listOfItem)
            query.bind(blob: id.bytes.span, at: 1)
            return (facts, try connection.rows(query))
        }
    }

    /// The attachments whose ids lie between two; at most `limit`.
    func attachments(
        between low: AttachmentID, and high: AttachmentID, limit: Int
    ) async throws(SyncError) -> [AttachmentKey] {
        try await read("find an attachment") { connection in
            let query = try connection.prepare(.attachmentsInRange)
            query.bind(blob: low.bytes.span, at: 1)
            query.bind(blob: high.bytes.span, at: 2)
            query.bind(Int64(limit), at: 3)
            var found: [AttachmentKey] = []
            while try query.step() {
                guard let item = EntryID(bytes: query.blob(0).span),
                    let id = AttachmentID(bytes: query.blob(1).span)
                else { continue }
                found.append(AttachmentKey(item: item, id: id))
            }
            return found
        }
    }

    /// The items whose ids lie between two; at most `limit`.
    func items(
        between low: EntryID, and high: EntryID, limit: Int
    ) async throws(SyncError) -> [EntryID] {
        try await read("find an item") { connection in
            let query = try connection.prepare(.itemsInRange)
            query.bind(blob: low.bytes.span, at: 1)
            query.bind(blob: high.bytes.span, at: 2)
            query.bind(Int64(limit), at: 3)
            var found: [EntryID] = []
            while try query.step() {
                if let id = EntryID(bytes: query.blob(0).span) { found.append(id) }
            }
            return found
        }
    }

    /// Takes the meaning out of LIKE's wildcards.
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text.unicodeScalars {
            if character == "%" || character == "_" || character == "!" { escaped += "!" }
            escaped.unicodeScalars.append(character)
        }
        return escaped
    }
}

/// An item as the catalog has it, without its attachments.
struct ItemFacts: Sendable {
    let title: String
    let text: String?
    let created: String?
    let modified: String?
    let orderKey: [UInt8]
}

extension Connection {
    /// One attachment with what happened to its bytes; nil if it is not in the catalog.
    func attachment(_ key: AttachmentKey) throws -> AttachmentRow? {
        let query = try prepare(.attachment)
        query.bind(blob: key.item.bytes.span, at: 1)
        query.bind(blob: key.id.bytes.span, at: 2)
        return try rows(query).first
    }

    func item(_ id: EntryID) throws -> ItemFacts? {
        let query = try prepare(.item)
        query.bind(blob: id.bytes.span, at: 1)
        guard try query.step() else { return nil }
        return ItemFacts(
            title: try query.text(1), text: query.isNull(2) ? nil : try query.text(2),
            created: query.isNull(3) ? nil : try query.text(3),
            modified: query.isNull(4) ? nil : try query.text(4), orderKey: query.blob(5))
    }

    fileprivate func rows(_ query: Statement) throws -> [AttachmentRow] {
        var rows: [AttachmentRow] = []
        let hasSpooled = try hasSpooled()
        while try query.step() {
            var row = try AttachmentRow(query)
            row.blob = try row.ref.flatMap { try blobRecord($0.recordName) }
            if hasSpooled {
                row.spooled = try row.ref.flatMap { try spooled($0.recordName) }
                row.isThumbnailSpooled =
                    try row.thumbnailRef.map { try spooled($0.recordName) != nil } ?? false
            }
            rows.append(row)
        }
        return rows
    }
}
