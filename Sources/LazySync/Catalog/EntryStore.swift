internal import SyncPlatform

/// Applies entries to the catalog, inside one transaction, and keeps digest and counts in step.
///
/// Each entry is authentic by itself and is applied at once, if its version is above the one here.
/// Two kinds wait in `staged` until a head covers them: tombstones of items that are here, and what
/// cannot be read. The digest counts what is staged in place of what it replaces.
struct EntryStore {
    let connection: Connection
    var digest: SetDigest
    /// How many entries the digest is over, tombstones too.
    var entries: Int64
    var tally = Tally()
    /// Whether anything may wait; most catalogs have nothing, and are spared the looking.
    var hasStaged: Bool
    /// Whether anything waits to be sent.
    var hasWaiting: Bool
    /// What is needed to merge; without it no address that came from a file is kept.
    var tools: MergeTools?
    let decoder = EntryDecoder()
    /// Whether all that was confirmed is being read again: it was the account's, and not a file's.
    private let isTrusting: Bool
    /// Whether new attachments are pinned.
    private let pinsAll: Bool
    private var arrivals: [NewAttachment] = []

    /// An attachment of an item that was not here before.
    private struct NewAttachment {
        let id: AttachmentID
        let entry: Int64
        let createdAt: Int64
        let batch: Int
        let index: Int
    }

    /// Reads where the catalog stands.
    init(_ connection: Connection, with tools: MergeTools? = nil) throws {
        self.connection = connection
        self.tools = tools
        let account = try connection.prepare(.account)
        guard try account.step(), let digest = SetDigest(bytes: account.blob(2).span) else {
            throw CatalogDamage(what: "no account")
        }
        self.digest = digest
        entries = account.int(3)
        pinsAll = account.int(7) == 1
        hasStaged = try Self.hasStaged(connection)
        hasWaiting = try connection.hasWaiting()
        isTrusting = try connection.isTrusting()
    }

    /// Writes digest and counts back; the last step of the transaction.
    func save() throws {
        let save = try connection.prepare(.saveDigest)
        save.bind(blob: digest.bytes.span, at: 1)
        save.bind(entries, at: 2)
        try save.run()
        try tally.save(connection)
    }

    /// Applies entries in the order in which they came.
    mutating func apply(_ batches: [EntryBatch]) throws {
        let statements = try EntryStatements(connection)
        try acceptSent(shownBy: batches, statements)
        for batch in batches.indices {
            for change in batches[batch].changes where try !isStale(change) {
                switch change.content {
                case .live(let payload, let raw):
                    try write(change, payload, raw: raw, in: batches, batch, statements)
                case .tombstone:
                    try bury(change, statements)
                case .unreadable(let sealed):
                    try unstage(change.facts.id)
                    let here = try statements.row(change.facts.id)
                    guard here?.isBelow(change.facts.version) != false else { continue }
                    let payloads = batches[batch].payloads
                    try stage(
                        change, replacing: here?.counted,
                        sealed: payloads.bytes.span.extracting(sealed))
                }
            }
        }
        try insertArrivals(batches, statements)
    }

    // MARK: Items

    private mutating func write(
        _ change: EntryBatch.Change, _ payload: EntryPayload, raw: Range<Int>?,
        in batches: [EntryBatch], _ number: Int, _ statements: EntryStatements
    ) throws {
        let batch = batches[number]
        let text = batch.payloads.bytes.span
        let time = Timestamp(text: text.extracting(payload.created ?? 0..<0))
        let fields = EntryStatements.Fields(
            order: ListOrder.key(created: time, entry: change.facts.id), payload: payload, raw: raw)
        if hasStaged { try unstage(change.facts.id) }
        let createdAt = time?.seconds ?? .min
        if let row = try statements.insert(change, fields, text) {
            entries += 1
            tally[.items] += 1
            digest += change.leaf
            for index in payload.attachments {
                arrivals.append(
                    NewAttachment(
                        id: batch.payloads.attachments[index].id, entry: row, createdAt: createdAt,
                        batch: number, index: index))
            }
            return
        }
        // The item may have come in this very transaction.
        try insertArrivals(batches, statements)
        guard let here = try statements.row(change.facts.id),
            here.isBelow(change.facts.version)
        else { return }
        count(change, over: here)
        if hasWaiting, let waiting = try connection.waiting(here.row) {
            try merge(change, payload, raw: raw, batch.payloads, here, waiting, statements)
            return
        }
        try statements.update(here, change, fields, text)
        try setAttachments(
            payload, of: here, change.facts.id, createdAt, batch.payloads, statements)
    }

    /// Puts an item's attachments in the place of those that it had; what the item says of itself
    /// has been written before.
    mutating func setAttachments(
        _ payload: EntryPayload, of here: EntryStatements.Known, _ id: EntryID,
        _ createdAt: Int64, _ payloads: PayloadBatch, _ statements: EntryStatements,
        isOwn: Bool = false
    ) throws {
        let text = payloads.bytes.span
        let row = here.row
        if here.kind == .tombstone {
            tally[.items] += 1
            try forgetTrash(id, nil)
        }
        var known = try statements.attachments(of: row)
        for attachment in payloads.attachments[payload.attachments] {
            let old = known.removeValue(forKey: attachment.id)
            if old == nil { try forgetTrash(id, attachment.id) }
            let base =
                here.isConfirmed || here.isLocal ? old : proved(old, attachment, of: id)
            let merged = MergedAttachment(attachment, over: base, in: text)
            try statements.write(
                merged, attachment, over: base, in: row, createdAt: createdAt, pinned: pinsAll, text
            )
            if let old {
                tally.count(old.address, old.thumbnail, bytes: old.thumbnailDiskBytes, -1)
                if !merged.keepsBytes { try dropOriginal(of: old) }
                if !merged.keepsThumbnailBytes { try dropThumbnail(of: old) }
            }
            // One that is here still is the old one.
            let bytes = old?.thumbnailDiskBytes ?? 0
            tally.count(merged.address, merged.thumbnail, bytes: bytes, 1)
        }
        if known.isEmpty { return }
        if here.isConfirmed || here.isLocal || isTrusting {
            try trash(Set(known.keys), of: row, id, isOwn: isOwn)
        }
        for old in known.values { try remove(old, statements) }
    }

    /// Counts an entry in the place of the one that was here.
    mutating func count(_ change: EntryBatch.Change, over here: EntryStatements.Known) {
        if let counted = here.counted {
            digest -= counted
        } else {
            entries += 1
            if !here.isLocal { tally[.unconfirmed] -= 1 }
        }
        digest += change.leaf
    }

    /// An attachment that came from a file, with those of its addresses that the new one would
    /// keep only if they unwrap: nobody has looked at them yet.
    private mutating func proved(
        _ old: KnownAttachment?, _ new: EntryPayload.Attachment, of entry: EntryID
    ) -> KnownAttachment? {
        guard let old else { return nil }
        func holds(_ ref: CloudBlobRef?, _ role: BlobRole) -> CloudBlobRef? {
            guard let ref,
                tools?.opener.isValid(ref.packed.span, entry: entry, attachment: new.id, role: role)
                    == true
            else { return nil }
            return ref
        }
        // The server's own address replaces what is here anyway, and only names are compared.
        return old.with(
            ref: new.ref.isPacked ? old.ref : holds(old.ref, .original),
            thumbnailRef: new.thumb?.ref.isPacked == true
                ? old.thumbnailRef : holds(old.thumbnailRef, .thumbnail))
    }

    /// Inserts the attachments of new items, in the order of their ids.
    ///
    /// The ids are random: in order, a transaction touches each page of their index once, instead
    /// of one page a row.
    private mutating func insertArrivals(
        _ batches: [EntryBatch], _ statements: EntryStatements
    ) throws {
        arrivals.sort { $0.id < $1.id }
        for arrival in arrivals {
            let payloads = batches[arrival.batch].payloads
            let attachment = payloads.attachments[arrival.index]
            let text = payloads.bytes.span
            let merged = MergedAttachment(attachment, over: nil, in: text)
            try statements.write(
                merged, attachment, over: nil, in: arrival.entry, createdAt: arrival.createdAt,
                pinned: pinsAll, text)
            tally.count(merged.address, merged.thumbnail, bytes: 0, 1)
        }
        arrivals.removeAll(keepingCapacity: true)
    }

    mutating func remove(
        _ old: KnownAttachment, _ statements: EntryStatements
    ) throws {
        try statements.delete(old.row)
        tally.count(old.address, old.thumbnail, bytes: old.thumbnailDiskBytes, -1)
        try dropOriginal(of: old)
        try dropThumbnail(of: old)
    }

    /// Lets an original's bytes go; another attachment with the same record fetches them again.
    private mutating func dropOriginal(of old: KnownAttachment) throws {
        if let ref = old.ref { try connection.dropBlob(ref.recordName, &tally) }
    }

    private func dropThumbnail(of old: KnownAttachment) throws {
        guard let ref = old.thumbnailRef else { return }
        // Who was killed among those that are due may have left its file.
        guard old.thumbnail == .here || old.thumbnail == .due else { return }
        try connection.drop(ref.recordName)
    }

    // MARK: Tombstones

    /// Takes a tombstone: it waits if there is something here that it would delete.
    private mutating func bury(
        _ change: EntryBatch.Change, _ statements: EntryStatements
    ) throws {
        try unstage(change.facts.id)
        let here = try statements.row(change.facts.id)
        if let here {
            guard here.isBelow(change.facts.version) else { return }
            if hasWaiting, let waiting = try connection.waiting(here.row),
                try merge(tombstone: change, here, waiting)
            {
                return
            }
            guard here.kind == .tombstone else {
                try stage(change, replacing: here.counted, sealed: nil)
                return
            }
            count(change, over: here)
            try statements.update(here.row, change, nil, Span())
        } else {
            _ = try statements.insert(change, nil, Span())
            entries += 1
            digest += change.leaf
        }
    }

    /// Carries out the tombstones that a verified head covers; how many.
    mutating func deleteBuried() throws -> Int {
        let statements = try EntryStatements(connection)
        var count = 0
        while let change = try nextBuried() {
            guard let here = try statements.row(change.facts.id) else { break }
            if here.isConfirmed || isTrusting {
                try trash(nil, of: here.row, change.facts.id, isOwn: false)
            }
            for old in try statements.attachments(of: here.row).values {
                try remove(old, statements)
            }
            // The digest has counted the tombstone in the item's place since it was staged.
            try statements.update(here.row, change, nil, Span())
            try run(.unstage, change.facts.id)
            tally[.items] -= 1
            if !here.isConfirmed { tally[.unconfirmed] -= 1 }
            count += 1
        }
        return count
    }

    /// Removes what came from a file and what a verified head shows to be none of the account's; or
    /// keeps it, if it is this device's own, as something to be sent.
    ///
    /// An entry whose tombstone is held waits with it. What was changed here stays in any case.
    mutating func deleteUnconfirmed(keepsUnconfirmed: Bool = false) throws {
        let statements = try EntryStatements(connection)
        let delete = try connection.prepare(.deleteEntry)
        var last: Int64 = 0
        while true {
            let rows = try connection.unconfirmed(after: last, limit: 1_000)
            guard let end = rows.last else { return }
            last = end.row
            for (row, id, isItem) in rows where try !connection.isStaged(id) {
                tally[.unconfirmed] -= 1
                let isWaiting = try connection.waiting(row) != nil
                if isItem, keepsUnconfirmed || isWaiting {
                    try makeLocal(row)
                    continue
                }
                if isWaiting { try connection.run(.removeWaiting, row: row) }
                for old in try statements.attachments(of: row).values {
                    try remove(old, statements)
                }
                delete.bind(row, at: 1)
                try delete.run()
                if isItem { tally[.items] -= 1 }
            }
        }
    }

    func nextBuried() throws -> EntryBatch.Change? {
        let next = try connection.prepare(.stagedTombstone)
        guard try next.step(), let id = EntryID(bytes: next.blob(0).span),
            let leaf = SetDigest(bytes: next.blob(3).span)
        else { return nil }
        let facts = EntryFacts(
            id: id, version: UInt64(bitPattern: next.int(1)), kind: .tombstone,
            epoch: UInt32(truncatingIfNeeded: next.int(2)))
        return EntryBatch.Change(facts: facts, leaf: leaf, content: .tombstone)
    }
}
