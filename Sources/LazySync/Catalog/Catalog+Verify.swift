internal import SyncPlatform

/// What a recount of the whole catalog gave, beside what is kept.
struct CatalogFindings: Sendable {
    /// What SQLite finds wrong with the file, and the tables with rows that lost their parent.
    var damage: [String] = []
    /// The digest and the number of all entries.
    var digest = SetDigest()
    var entries: Int64 = 0
    var digestFits = true
    /// The counts that are wrong.
    var wrongCounts: [Tally.Name] = []
    /// The verified head, unless a run has gone on from it and has not come to its end.
    var head: Head?
}

/// A record that is marked as here.
struct MarkedBlob: Sendable {
    let record: String
    let mark: HereMark
    let key: AttachmentKey
    let ref: CloudBlobRef
    let size: Int64
    let name: String
}

/// Checking the catalog against itself, and what a check of the files needs of it.
extension Catalog {
    /// Recounts everything; as long as the account is large.
    func recount() async throws(SyncError) -> CatalogFindings {
        try await inspect("check the catalog") { connection in
            var found = CatalogFindings()
            found.damage = try connection.integrityCheck()
            // Where the file is damaged, nothing else can be relied on.
            guard found.damage.isEmpty else { return found }
            found.damage = try connection.foreignKeyCheck().map { table in
                "\(table): a row without its parent"
            }
            try connection.recountDigest(&found)
            let counted = try connection.recountTallies()
            found.wrongCounts = try Tally.Name.allCases.filter {
                try connection.tally($0) != counted[$0]
            }
            let cursor = try connection.cursor()
            let isUnderWay =
                try cursor.unfinished != nil
                || connection.countStaged(verified: false, readable: true) > 0
                || connection.countStaged(verified: false, readable: false) > 0
            if !isUnderWay { found.head = cursor.verified }
            return found
        }
    }

    /// Sets the digest and all counts to what a recount gives.
    func setCountsRight() async throws(SyncError) {
        try await write("set the counts right") { connection in
            var found = CatalogFindings()
            try connection.recountDigest(&found)
            let save = try connection.prepare(.saveDigest)
            save.bind(blob: found.digest.bytes.span, at: 1)
            save.bind(found.entries, at: 2)
            try save.run()
            let counted = try connection.recountTallies()
            for name in Tally.Name.allCases {
                let set = try connection.prepare(.setTally)
                set.bind(text: name.stored, at: 1)
                set.bind(Int64(counted[name] ?? 0), at: 2)
                try set.run()
            }
        }
    }

    /// Where an unfinished check of a share of all files came to; nil if there is none.
    func checkedPlace(share: Int) async throws(SyncError) -> [UInt8]? {
        try await read("look for an unfinished check") { connection in
            let query = try connection.prepare(.checkedPlace)
            guard try query.step(), !query.isNull(0), query.int(1) == Int64(share) else {
                return nil
            }
            return query.blob(0)
        }
    }

    /// Keeps where a check came to; nil once it is done.
    func saveCheckedPlace(_ place: [UInt8]?, share: Int) async throws(SyncError) {
        try await write("keep where a check came to") { connection in
            let save = try connection.prepare(.saveCheckedPlace)
            if let place {
                save.bind(blob: place.span, at: 1)
                save.bind(Int64(share), at: 2)
            }
            try save.run()
        }
    }

    /// Records that are marked as here, in the order of their names.
    func markedBlobs(after record: String, limit: Int) async throws(SyncError) -> [MarkedBlob] {
        try await read("list what is here") { connection in
            let query = try connection.prepare(.blobsHere)
            query.bind(blob: record.utf8Span.span, at: 1)
            query.bind(Int64(limit), at: 2)
            var found: [MarkedBlob] = []
            while try query.step() {
                guard let item = EntryID(bytes: query.blob(6).span),
                    let id = AttachmentID(bytes: query.blob(7).span),
                    let ref = CloudBlobRef(packed: query.blob(8).span)
                else { throw CatalogDamage(what: "a record without an address") }
                let mark = HereMark(
                    boot: try query.text(1), inode: query.int(2), size: query.int(3),
                    mtime: query.int(4), ctime: query.int(5))
                found.append(
                    MarkedBlob(
                        record: String(decoding: query.blob(0), as: UTF8.self), mark: mark,
                        key: AttachmentKey(item: item, id: id), ref: ref, size: query.int(9),
                        name: try query.text(10)))
            }
            return found
        }
    }

    /// Thumbnails that are here, oldest first.
    func keptThumbnails(
        after last: KeptThumbnail?, limit: Int
    ) async throws(SyncError) -> [(thumbnail: KeptThumbnail, key: AttachmentKey)] {
        try await read("list thumbnails") { connection in
            try connection.oldestThumbnails(after: last, limit: limit).compactMap { thumbnail in
                try connection.attachmentKey(row: thumbnail.row).map { (thumbnail, $0) }
            }
        }
    }

    /// What `hash` makes of each record that files may belong to: the names alone would be too much
    /// to hold.
    func knownRecords(
        _ place: RecordPlace, _ hash: @Sendable (String) -> UInt64
    ) async throws(SyncError) -> [UInt64] {
        try await inspect("list all records") { try $0.knownRecords(place, hash) }
    }
}

/// Where files lie that are named after records.
enum RecordPlace: Sendable {
    case blobs, thumbnails, trash
}

extension Connection {
    /// What `hash` makes of each record that files may belong to.
    func knownRecords(
        _ place: RecordPlace, _ hash: (String) -> UInt64
    ) throws -> [UInt64] {
        let query =
            switch place {
            case .blobs: try prepare(.knownBlobs)
            case .thumbnails: try prepare(.knownThumbnails)
            case .trash: try prepare(.knownTrash)
            }
        var hashes: [UInt64] = []
        while try query.step() {
            hashes.append(hash(String(decoding: query.blob(0), as: UTF8.self)))
        }
        return hashes
    }

    /// The sum over all entries that the server has sent, those that wait in the place of what they
    /// replace.
    fileprivate func recountDigest(_ found: inout CatalogFindings) throws {
        let leaves = try prepare(.leaves)
        while try leaves.step() {
            guard let leaf = SetDigest(bytes: leaves.blob(0).span) else {
                throw CatalogDamage(what: "a leaf of another length")
            }
            found.digest += leaf
            found.entries += 1
        }
        let kept = try EntryStore(self)
        found.digestFits = kept.digest == found.digest && kept.entries == found.entries
    }

    fileprivate func recountTallies() throws -> [Tally.Name: Int] {
        var counted: [Tally.Name: Int] = [:]
        func take(_ query: Query, _ names: [Tally.Name]) throws {
            let row = try prepare(query)
            guard try row.step() else { return }
            for (column, name) in names.enumerated() { counted[name] = Int(row.int(Int32(column))) }
        }
        try take(.recountItems, [.items, .unconfirmed])
        try take(
            .recountAttachments,
            [
                .attachments, .addressesComplete, .addressesMissing, .addressesUsable,
                .thumbnailsDue, .thumbnailsHere, .thumbnailsFailed, .thumbnailBytes,
            ])
        try take(.recountBlobs, [.blobsHere, .blobsFailed, .cacheBytes])
        return counted
    }

    /// Makes a complete blob a part again, of which so many bytes were proved.
    func unmark(_ record: String, verified: Int64) throws {
        let unmark = try prepare(.unmarkBlob)
        unmark.bind(blob: record.utf8Span.span, at: 1)
        unmark.bind(verified, at: 2)
        try unmark.run()
        var tally = Tally()
        tally[.blobsHere] -= 1
        try tally.save(self)
    }
}
