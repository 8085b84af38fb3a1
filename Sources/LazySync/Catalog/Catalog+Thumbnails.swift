internal import SyncPlatform

/// A thumbnail that is to be fetched.
struct ThumbnailWork: Sendable {
    let row: Int64
    let key: AttachmentKey
    /// The thumbnail's own blob; nil for a small photo that is fetched whole.
    let ref: CloudBlobRef?
    let size: UInt64
    let type: String
    let createdAt: Int64
}

/// What became of a thumbnail.
struct ThumbnailResult: Sendable {
    let work: ThumbnailWork
    let state: ThumbnailState
    let tags: [UInt8]
    /// Why it failed.
    var reason: UnavailableReason?
}

/// A thumbnail of its own that is here.
struct KeptThumbnail: Sendable {
    let row: Int64
    let ref: CloudBlobRef
    let createdAt: Int64
    let size: Int64
    let type: String

    /// What its file takes on the disk.
    var cost: Int64 { DiskCost.file(size) }
}

/// Thumbnails: what is due, newest first, and what became of it.
extension Catalog {
    /// The next thumbnails to fetch, newest first, after one of them.
    func dueThumbnails(
        after last: ThumbnailWork?, limit: Int
    ) async throws(SyncError) -> [ThumbnailWork] {
        try await read("list due thumbnails") { connection in
            try connection.thumbnails(.due, after: last, limit: limit)
        }
    }

    /// Makes failed thumbnails due again: a restore asks anew for everything.
    func renewFailedThumbnails() async throws(SyncError) {
        while true {
            let isDone = try await write("renew failed thumbnails") { connection in
                let failed = try connection.thumbnails(.failed, after: nil, limit: 1_000)
                var tally = Tally()
                for work in failed {
                    try connection.setThumbnail(work.row, .due)
                    tally.count(.failed, bytes: 0, -1)
                    tally.count(.due, bytes: 0, 1)
                }
                try tally.save(connection)
                return failed.isEmpty
            }
            if isDone { return }
        }
    }

    /// Saves what became of thumbnails.
    ///
    /// One that its attachment no longer names is only noted for removal: the item changed while it
    /// was fetched.
    func save(_ results: [ThumbnailResult]) async throws(SyncError) {
        guard !results.isEmpty else { return }
        try await write("save thumbnails") { connection in
            var tally = Tally()
            for result in results {
                if try !connection.save(result, &tally), result.state == .here,
                    let record = result.work.ref?.recordName
                {
                    try connection.drop(record)
                }
            }
            try tally.save(connection)
        }
    }

    /// Makes due again what did not fit beside others, unless it is larger than is fetched by itself.
    func renewSkippedThumbnails() async throws(SyncError) {
        let last = try await read("renew thumbnails") { try $0.lastAttachment() }
        try await writeInSteps("renew thumbnails", upTo: last) { connection, start, end in
            let renew = try connection.prepare(.renewSkippedThumbnails)
            renew.bind(start, at: 1)
            renew.bind(end, at: 2)
            renew.bind(Int64(MergedAttachment.eagerLimit), at: 3)
            try renew.run()
            var tally = Tally()
            tally[.thumbnailsDue] += Int(connection.changes)
            try tally.save(connection)
        }
    }

    /// One thumbnail, due or not, and the tags that prove it; nil if there is no such attachment.
    func thumbnail(
        _ key: AttachmentKey
    ) async throws(SyncError) -> (work: ThumbnailWork, tags: [UInt8])? {
        try await read("look a thumbnail up") { connection in
            let query = try connection.prepare(.attachment)
            query.bind(blob: key.item.bytes.span, at: 1)
            query.bind(blob: key.id.bytes.span, at: 2)
            guard try query.step() else { return nil }
            let work = ThumbnailWork(
                row: query.int(0), key: key, ref: CloudBlobRef(packed: query.blob(9).span),
                size: UInt64(query.int(16)), type: try query.text(15), createdAt: 0)
            return (work, query.blob(17))
        }
    }
}

extension Connection {
    fileprivate func thumbnails(
        _ state: ThumbnailState, after last: ThumbnailWork?, limit: Int
    ) throws -> [ThumbnailWork] {
        let query = try prepare(.thumbnailWork)
        query.bind(state.rawValue, at: 1)
        query.bind(last?.createdAt ?? .max, at: 2)
        query.bind(last?.row ?? .max, at: 3)
        query.bind(Int64(limit), at: 4)
        var work: [ThumbnailWork] = []
        while try query.step() {
            guard let item = EntryID(bytes: query.blob(1).span),
                let id = AttachmentID(bytes: query.blob(2).span)
            else { continue }
            let ref = CloudBlobRef(packed: query.blob(6).span)
            let size = ref == nil ? query.int(3) : query.int(5)
            work.append(
                ThumbnailWork(
                    row: query.int(0), key: AttachmentKey(item: item, id: id), ref: ref,
                    size: UInt64(size), type: try query.text(4), createdAt: query.int(7)))
        }
        return work
    }

    /// Saves what became of a thumbnail; false if its attachment no longer names it.
    func save(_ result: ThumbnailResult, _ tally: inout Tally) throws -> Bool {
        let record = result.work.ref?.recordName
        guard let now = try addresses(row: result.work.row), now.thumbnail?.recordName == record,
            now.state != .none,
            record == nil ? now.thumbnail == nil : now.thumbnailSize == Int64(result.work.size)
        else { return false }
        try setThumbnail(result.work.row, result.state, tags: result.tags, result.reason)
        let bytes = record == nil ? 0 : DiskCost.file(Int64(result.work.size))
        tally.count(now.state, bytes: bytes, -1)
        tally.count(result.state, bytes: bytes, 1)
        return true
    }

    func setThumbnail(
        _ row: Int64, _ state: ThumbnailState, tags: [UInt8] = [],
        _ reason: UnavailableReason? = nil
    ) throws {
        let set = try prepare(.setThumbnail)
        set.bind(row, at: 1)
        set.bind(state.rawValue, at: 2)
        if !tags.isEmpty { set.bind(blob: tags.span, at: 3) }
        if let reason { set.bind(text: reason.rawValue, at: 4) }
        try set.run()
    }

    /// Thumbnails that are here, oldest first, after one of them.
    func oldestThumbnails(after last: KeptThumbnail?, limit: Int) throws -> [KeptThumbnail] {
        let query = try prepare(.oldestThumbnails)
        query.bind(last?.createdAt ?? .min, at: 1)
        query.bind(last?.row ?? -1, at: 2)
        query.bind(Int64(limit), at: 3)
        var found: [KeptThumbnail] = []
        while try query.step() {
            guard let ref = CloudBlobRef(packed: query.blob(1).span) else { continue }
            found.append(
                KeptThumbnail(
                    row: query.int(0), ref: ref, createdAt: query.int(2), size: query.int(3),
                    type: try query.text(4)))
        }
        return found
    }

    /// Which of these records are of thumbnails that are here or due, of whichever attachment.
    func namedThumbnails(of records: Set<String>) throws -> Set<String> {
        var named: Set<String> = []
        func note(_ record: String?) {
            if let record, records.contains(record) { named.insert(record) }
        }
        var here = try oldestThumbnails(after: nil, limit: 1_000)
        while let last = here.last {
            for thumbnail in here { note(thumbnail.ref.recordName) }
            here = try oldestThumbnails(after: last, limit: 1_000)
        }
        var due = try thumbnails(.due, after: nil, limit: 1_000)
        while let last = due.last {
            for work in due { note(work.ref?.recordName) }
            due = try thumbnails(.due, after: last, limit: 1_000)
        }
        return named
    }

    /// The highest row of all attachments.
    func lastAttachment() throws -> Int64 {
        let query = try prepare(.lastAttachment)
        return try query.step() ? query.int(0) : 0
    }
}
