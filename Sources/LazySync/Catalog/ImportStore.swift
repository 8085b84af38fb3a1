internal import SyncPlatform

/// Writes what a file says into a new catalog; nothing of it counts as what the server said.
///
/// An entry that came from a file has its epoch's number negative. It is shown as any other, but
/// the digest does not count it, and whatever version the server sends takes its place. When a run
/// ends with a verified head, what is still marked goes.
struct ImportStore {
    private let connection: Connection
    /// Over all entries of the file, those that wait in the place of what they stand in for.
    private var digest = SetDigest()
    /// What the catalog's own digest counts: those that wait.
    private var stagedDigest = SetDigest()
    private var stagedCount: Int64 = 0
    private(set) var counts = ExportEnd()
    private(set) var items = 0

    init(_ connection: Connection) {
        self.connection = connection
    }

    /// Writes entries, in one transaction.
    mutating func write(_ entries: [ExportedEntry]) throws {
        try connection.transaction(.immediate) {
            let insert = try connection.prepare(.insertEntry)
            var tally = Tally()
            var arrivals: [(row: Int64, createdAt: Int64, attachment: ExportedEntry.Attachment)] =
                []
            for entry in entries {
                let time = entry.item?.created.flatMap { Timestamp($0) }
                try Self.insert(entry, time, insert)
                let row = connection.lastInsertRowID
                digest += entry.leaf
                tally[.unconfirmed] += 1
                counts.entries += 1
                guard let item = entry.item else { continue }
                tally[.items] += 1
                items += 1
                let createdAt = time?.seconds ?? .min
                arrivals += item.attachments.map { (row, createdAt, $0) }
            }
            // In the order of their ids, each page of the index is touched once.
            arrivals.sort { $0.attachment.id < $1.attachment.id }
            let insertAttachment = try connection.prepare(.insertAttachment)
            for (row, createdAt, attachment) in arrivals {
                let thumbnail = attachment.thumbnailState
                try Self.insert(attachment, thumbnail, in: row, createdAt, insertAttachment)
                tally.count(attachment.address, thumbnail, bytes: 0, 1)
            }
            counts.attachments += arrivals.count
            try tally.save(connection)
        }
    }

    /// Writes entries that wait; the first run of a restore lets them go and reads them again.
    mutating func write(_ staged: [ExportedStaged]) throws {
        try connection.transaction(.immediate) {
            let stage = try connection.prepare(.stage)
            let here = try connection.prepare(.entryByID)
            for one in staged {
                here.reset()
                here.bind(blob: one.facts.id.bytes.span, at: 1)
                if try here.step(), let leaf = SetDigest(bytes: here.blob(3).span) {
                    digest -= leaf
                }
                stage.bind(blob: one.facts.id.bytes.span, at: 1)
                stage.bind(Int64(bitPattern: one.facts.version), at: 2)
                stage.bind(Int64(one.facts.epoch), at: 3)
                stage.bind(Int64(one.facts.kind.rawValue), at: 4)
                stage.bind(blob: one.leaf.bytes.span, at: 5)
                stage.bindNull(at: 6)
                stage.bind(one.sealed == nil ? 1 : 0, at: 7)
                if let sealed = one.sealed {
                    stage.bind(blob: sealed.span, at: 8)
                } else {
                    stage.bindNull(at: 8)
                }
                try stage.run()
                digest += one.leaf
                stagedDigest += one.leaf
                stagedCount += 1
                counts.staged += 1
            }
        }
    }

    /// Ends the import: the head is kept as what the file claims, and not as one that was verified.
    func finish(_ head: Head?) throws {
        try connection.transaction(.immediate) {
            let save = try connection.prepare(.saveDigest)
            save.bind(blob: stagedDigest.bytes.span, at: 1)
            save.bind(stagedCount, at: 2)
            try save.run()
            let imported = try connection.prepare(.setImported)
            imported.bind(text: ImportedHead(head: head, digest: digest).stored, at: 1)
            try imported.run()
        }
    }

    private static func insert(
        _ entry: ExportedEntry, _ time: Timestamp?, _ insert: Statement
    ) throws {
        insert.bind(blob: entry.facts.id.bytes.span, at: 1)
        insert.bind(Int64(bitPattern: entry.facts.version), at: 2)
        insert.bind(-Int64(entry.facts.epoch), at: 3)
        insert.bind(Int64(entry.facts.kind.rawValue), at: 4)
        insert.bind(blob: entry.leaf.bytes.span, at: 5)
        for index in 6...11 as ClosedRange<Int32> { insert.bindNull(at: index) }
        if let item = entry.item {
            let order = ListOrder.key(created: time, entry: entry.facts.id)
            insert.bind(blob: order.span, at: 6)
            insert.bind(text: item.title, at: 7)
            if let text = item.text { insert.bind(text: text, at: 8) }
            if let created = item.created { insert.bind(text: created, at: 9) }
            if let modified = item.modified { insert.bind(text: modified, at: 10) }
            if let payload = item.payload { insert.bind(blob: payload.span, at: 11) }
        }
        try insert.run()
    }

    private static func insert(
        _ attachment: ExportedEntry.Attachment, _ thumbnail: ThumbnailState, in entry: Int64,
        _ createdAt: Int64, _ insert: Statement
    ) throws {
        insert.bind(entry, at: 1)
        insert.bind(blob: attachment.id.bytes.span, at: 2)
        insert.bind(Int64(attachment.position), at: 3)
        insert.bind(createdAt, at: 4)
        insert.bind(text: attachment.name, at: 5)
        insert.bind(text: attachment.type, at: 6)
        insert.bind(attachment.size, at: 7)
        insert.bind(attachment.address.rawValue, at: 8)
        for index in [9, 11, 12, 13] as [Int32] { insert.bindNull(at: index) }
        if let ref = attachment.ref { insert.bind(blob: ref.packed.span, at: 9) }
        insert.bind(thumbnail.rawValue, at: 10)
        if let thumb = attachment.thumb {
            insert.bind(text: thumb.type, at: 11)
            insert.bind(thumb.size, at: 12)
            if let ref = thumb.ref { insert.bind(blob: ref.packed.span, at: 13) }
        }
        insert.bind(0, at: 14)
        try insert.run()
    }
}

extension ExportedEntry.Attachment {
    /// What is known about the thumbnail on a device that has no bytes yet.
    fileprivate var thumbnailState: ThumbnailState {
        let limit = Int64(MergedAttachment.eagerLimit)
        guard let thumb else {
            // A small photo is its own.
            return size <= limit && address.hasRef && type.utf8.starts(with: "image/".utf8)
                && type.utf8.count > 6 ? .due : .none
        }
        return switch thumb.address {
        case .complete, .kept: thumb.size <= limit ? .due : .notEager
        case .absent: .addressAbsent
        case .invalid: .addressInvalid
        case .takenAway: .none
        }
    }
}
