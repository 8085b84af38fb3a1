internal import SyncPlatform

/// Lists, items, and what is known about one attachment.
extension SyncEngine {
    /// A page of attachments, newest first, each with its state as it is now.
    public func attachments(
        _ query: AttachmentQuery = AttachmentQuery()
    ) async throws(SyncError) -> [Attachment] {
        try requireOpen("list")
        guard query.limit > 0 else { return [] }
        await noticePurge()
        var place = ListPlace.start
        if let after = query.after {
            guard let row = try await catalog.attachment(after) else {
                throw SyncError(.noSuchID, "list", "there is no attachment \(after)")
            }
            place = row.place
        }
        var found: [Attachment] = []
        while found.count < query.limit {
            let wanted = query.state == nil ? query.limit - found.count : 1_000
            let rows = try await catalog.attachments(after: place, type: query.type, limit: wanted)
            found += try await states(of: rows).filter {
                query.state == nil || $0.state.name == query.state
            }
            guard rows.count == wanted, let last = rows.last else { break }
            place = last.place
        }
        return Array(found.prefix(query.limit))
    }

    /// A page of items, newest first, also those without attachments.
    public func items(
        limit: Int = 100, after: EntryID? = nil
    ) async throws(SyncError) -> [ItemSummary] {
        try requireOpen("list items")
        return try await catalog.items(after: after, limit: limit)
    }

    /// One item with its text and its attachments.
    public func item(_ id: EntryID) async throws(SyncError) -> Item {
        try requireOpen("show an item")
        guard let (facts, rows) = try await catalog.item(id) else {
            throw SyncError(.noSuchID, "show an item", "there is no item \(id)")
        }
        return Item(
            id: id, title: facts.title, text: facts.text, created: facts.created,
            modified: facts.modified, attachments: try await states(of: rows))
    }

    /// Finds an attachment by what a person typed: its id, a prefix that is unique, or `ITEM/ID`.
    ///
    /// - Throws: `noSuchID`, `ambiguousID` with the ids it could be, `invalidInput`.
    public func resolveAttachment(_ text: String) async throws(SyncError) -> AttachmentKey {
        try requireOpen("find an attachment")
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let last = parts.last else { throw Self.notAnID(text) }
        let (low, high): (AttachmentID, AttachmentID) = try Self.range(last)
        if parts.count == 2, let item = EntryID(String(parts[0])), low == high {
            // Said in full, it is looked up, however many items have the same id.
            let key = AttachmentKey(item: item, id: low)
            if try await catalog.attachment(key) != nil { return key }
        }
        var found = try await catalog.attachments(between: low, and: high, limit: 100)
        if parts.count == 2 {
            let (first, final): (EntryID, EntryID) = try Self.range(parts[0])
            found = found.filter { (first...final).contains($0.item) }
        }
        if found.count > 1 {
            // An id that stands in two items is only told apart by the item.
            let isOneID = Set(found.map(\.id)).count == 1
            throw SyncError(
                .ambiguousID(found.prefix(10).map { isOneID ? "\($0)" : "\($0.id)" }),
                "find an attachment", "\(text) could be \(found.count) attachments")
        }
        guard let key = found.first else {
            throw SyncError(.noSuchID, "find an attachment", "there is no attachment \(text)")
        }
        return key
    }

    /// Finds an item by its id or a prefix that is unique.
    public func resolveItem(_ text: String) async throws(SyncError) -> EntryID {
        try requireOpen("find an item")
        let (low, high): (EntryID, EntryID) = try Self.range(text[...])
        let found = try await catalog.items(between: low, and: high, limit: 10)
        if found.count > 1 {
            throw SyncError(
                .ambiguousID(found.map { "\($0)" }), "find an item",
                "\(text) could be several items")
        }
        guard let id = found.first else {
            throw SyncError(.noSuchID, "find an item", "there is no item \(text)")
        }
        return id
    }

    /// Everything that is known about an attachment's bytes.
    public func explain(_ key: AttachmentKey) async throws(SyncError) -> Explanation {
        try requireOpen("explain")
        guard let row = try await catalog.attachment(key) else {
            throw SyncError(.noSuchID, "explain", "there is no attachment \(key)")
        }
        let attachment = try await states(of: [row])[0]
        var evidence = row.blob?.evidence ?? Evidence()
        if let reason = attachment.state.reason, reason.isShared {
            let conditions = try await catalog.conditions()
            evidence.nextAttempt = conditions[reason]?.nextAttempt
            evidence.lastAttempt = evidence.lastAttempt ?? conditions[reason]?.lastAttempt
        }
        var path: String?
        if let ref = row.ref {
            if attachment.state == .here {
                path = try await materializer.here(row, ref)
            } else {
                evidence.bytes = await bytesSoFar(ref, size: row.size)
            }
        }
        return Explanation(
            attachment: attachment, recordName: row.ref?.recordName, evidence: evidence, path: path)
    }

    /// The attachments that were asked for and are unavailable.
    public func unavailable() async throws(SyncError) -> [AttachmentKey] {
        try requireOpen("list what is unavailable")
        var keys: [AttachmentKey] = []
        for wanted in try await catalog.wantedBlobs(limit: 100_000) {
            guard let row = try await catalog.attachment(wanted.key) else { continue }
            if try await states(of: [row])[0].state.reason != nil { keys.append(wanted.key) }
        }
        return keys
    }

    /// The account at a glance.
    public func status() async throws(SyncError) -> EngineStatus {
        try requireOpen("tell the status")
        await noticePurge()
        let cursor = try await catalog.cursor()
        let tallies = try await catalog.tallies()
        let wanted = try await catalog.wantedBlobs(limit: 100_000)
        let held = try materializer.pending()
        let pending = Set(wanted.map(\.record).filter(held.contains)).count
        let condition = try await catalog.conditions().isEmpty == false
        let overlaid = wanted.count {
            condition && $0.reason == nil && $0.hasFailed && !held.contains($0.record)
        }
        let all = tallies[.attachments] ?? 0
        let here = try await (tallies[.blobsHere] ?? 0) + catalog.countSpooledHere()
        let addressless = all - (tallies[.addressesUsable] ?? 0)
        let unavailable = (tallies[.blobsFailed] ?? 0) + addressless + overlaid
        var flags: [String] = []
        if cursor.mismatch != nil { flags.append("headMismatch") }
        if try await catalog.isImported() { flags.append("imported") }
        if try await catalog.isTrusting() { flags.append("trusting") }
        if try await catalog.heldDeletions() > 0 { flags.append("heldDeletions") }
        if let flag = opened.place.flag { flags.append(flag.rawValue) }
        let settings = try? device.settings()
        if !device.leftBehind(settings).isEmpty { flags.append("leftBehind") }
        return EngineStatus(
            account: account, server: server, head: cursor.after,
            verified: cursor.verified != nil && cursor.mismatch == nil,
            session: await opened.sessionState(), scope: opened.scope.account,
            place: opened.place.isShared ? .shared : .private, folder: opened.places.data,
            schema: Int(Schema.steps.last?.version ?? 0),
            states: [
                "remote": max(all - here - unavailable - pending, 0), "pending": pending,
                "here": here, "unavailable": unavailable,
            ],
            cache: try await cacheUse(), outbox: try await catalog.countWaiting(), flags: flags)
    }

    // MARK: States

    /// What a person sees of each row, with one look at the locks and the conditions for all.
    func states(of rows: [AttachmentRow]) async throws(SyncError) -> [Attachment] {
        let conditions = try await catalog.conditions()
        let condition = UnavailableReason.allCases.first { conditions[$0] != nil }
        let held = try materializer.pending()
        let sending = try rows.contains { $0.spooled != nil } ? uploading() : nil
        return rows.map { row in
            let record = row.ref?.recordName ?? ""
            let state = BlobState.of(
                address: row.address, isHere: row.blob?.mark != nil || row.spooled != nil,
                hasFailed: row.blob?.evidence.lastAttempt != nil,
                isLocked: held.contains(record), failure: row.blob?.reason, condition: condition)
            let thumbnail = BlobState.of(
                thumbnail: row.shownThumbnail,
                isLocked: (row.thumbnail == .due && held.thumbnails)
                    || held.contains(row.thumbnailRef?.recordName ?? record),
                failure: row.thumbnailFailure, condition: condition)
            return Attachment(
                key: row.key, name: row.name, type: row.type, size: row.size,
                itemTitle: row.itemTitle, state: state, thumbnail: thumbnail,
                isPinned: row.isPinned,
                upload: row.spooled.map { $0.state(isHeld: sending?.contains(record) == true) })
        }
    }

    private func uploading() throws(SyncError) -> TransferLocks.Held {
        try SyncError.mapping("read the upload locks") {
            try TransferLocks.uploads(opened.places).held()
        }
    }

    // MARK: Ids

    /// The lowest and the highest id that begin as was typed: four hex digits at least.
    private static func range<Kind>(
        _ text: Substring
    ) throws(SyncError) -> (Identifier<Kind>, Identifier<Kind>) {
        let digits = text.lowercased()
        let missing = 32 - digits.utf8.count
        guard digits.utf8.count >= 4, missing >= 0,
            let low = Identifier<Kind>(digits + String(repeating: "0", count: missing)),
            let high = Identifier<Kind>(digits + String(repeating: "f", count: missing))
        else { throw notAnID(String(text)) }
        return (low, high)
    }

    private static func notAnID(_ text: String) -> SyncError {
        SyncError(
            .invalidInput, "find an id", "\(text.prefix(80)) is not an id",
            hint: "give 4 to 32 hex digits, as list prints them")
    }
}
