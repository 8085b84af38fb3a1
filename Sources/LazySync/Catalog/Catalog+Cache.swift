internal import SyncPlatform

/// A record whose files are in the cache, in the order in which they go.
struct CachedBlob: Sendable {
    let record: String
    let held: Int64
    let opened: Int64
    let handedAt: Int64?
    let isPinned: Bool
    /// Whether it is not complete, so that it may hold more room than its files take.
    let isPart: Bool
}

/// The cache as the catalog keeps account of it: its limit, what is held, and what is pinned.
extension Catalog {
    /// The limit that a person has set; nil for the usual one.
    func cacheLimit() async throws(SyncError) -> Int64? {
        try await read("read the cache's limit") { try $0.cacheLimit() }
    }

    func setCacheLimit(_ bytes: Int64?) async throws(SyncError) {
        try await write("set the cache's limit") { connection in
            let set = try connection.prepare(.setCacheLimit)
            if let bytes { set.bind(bytes, at: 1) }
            try set.run()
        }
    }

    /// What the files of pinned attachments may take on the disk.
    func pinnedBytes() async throws(SyncError) -> Int64 {
        try await read("count pinned bytes") { try $0.pinnedBytes() }
    }

    /// Notes that a record's bytes were opened, and when its path was handed out if it was; false
    /// if they are not here any more.
    func noteOpened(
        _ record: String, handedAt: Int64?
    ) async throws(SyncError) -> Bool {
        try await write("note an opening") { connection in
            guard try connection.blobRecord(record)?.mark != nil else { return false }
            try connection.noteOpened(record, handedAt: handedAt)
            return true
        }
    }

    /// Pins an attachment, or lets it go.
    func pin(row: Int64, _ isPinned: Bool) async throws(SyncError) {
        try await write("pin") { connection in
            let pin = try connection.prepare(.pin)
            pin.bind(row, at: 1)
            pin.bind(isPinned ? 1 : 0, at: 2)
            try pin.run()
        }
    }

    /// Pins all attachments, also those to come; or lets all go.
    func pinAll(_ arePinned: Bool) async throws(SyncError) {
        let last = try await write("pin everything") { connection in
            // First, so that no new attachment slips through while the others are worked off.
            let set = try connection.prepare(.setPinsAll)
            set.bind(arePinned ? 1 : 0, at: 1)
            try set.run()
            return try connection.lastAttachment()
        }
        try await writeInSteps("pin everything", upTo: last) { connection, start, end in
            let pin = try connection.prepare(.pinSome)
            pin.bind(arePinned ? 1 : 0, at: 1)
            pin.bind(start, at: 2)
            pin.bind(end, at: 3)
            try pin.run()
        }
    }

    /// Whether all attachments are pinned, also those to come.
    func pinsAll() async throws(SyncError) -> Bool {
        try await read("read what is pinned") { connection in
            let query = try connection.prepare(.pinsAll)
            return try query.step() && query.int(0) == 1
        }
    }

    /// Runs a change of many attachments in transactions of some thousand rows each: `body` gets the
    /// row before the first and the last one.
    func writeInSteps(
        _ operation: String, upTo last: Int64,
        _ body: @escaping @Sendable (Connection, Int64, Int64) throws -> Void
    ) async throws(SyncError) {
        for start in stride(from: 0, to: last, by: 20_000) {
            try await write(operation) { try body($0, start, start + 20_000) }
        }
    }

    /// Pinned attachments whose bytes are not here, in the order of their records.
    func pinnedNotHere(
        after record: String, limit: Int
    ) async throws(SyncError) -> [(key: AttachmentKey, record: String)] {
        try await read("list what is pinned") { connection in
            let query = try connection.prepare(.pinnedNotHere)
            query.bind(blob: record.utf8Span.span, at: 1)
            query.bind(Int64(limit), at: 2)
            var rows: [(Int64, String)] = []
            while try query.step() {
                rows.append((query.int(0), String(decoding: query.blob(1), as: UTF8.self)))
            }
            return try rows.compactMap { row, record in
                try connection.attachmentKey(row: row).map { ($0, record) }
            }
        }
    }

    /// How many pinned attachments are not here, also those without a usable address; and how
    /// many bytes those that can come have.
    func countPinnedNotHere() async throws(SyncError) -> (files: Int, bytes: Int64) {
        try await read("count what is pinned") { connection in
            var sum: (files: Int, bytes: Int64) = (0, 0)
            for query in [Query.countPinnedNotHere, .countPinnedWithoutAddress] {
                let counting = try connection.prepare(query)
                guard try counting.step() else { continue }
                sum.files += Int(counting.int(0))
                sum.bytes += counting.int(1)
            }
            return sum
        }
    }

    /// Pinned attachments without a usable address, and why, in the order of their rows.
    func pinnedWithoutAddress(
        after row: Int64, limit: Int
    ) async throws(SyncError) -> [(row: Int64, key: AttachmentKey, reason: UnavailableReason)] {
        try await read("list what is pinned") { connection in
            let query = try connection.prepare(.pinnedWithoutAddress)
            query.bind(row, at: 1)
            query.bind(Int64(limit), at: 2)
            var rows: [(Int64, UnavailableReason)] = []
            while try query.step() {
                let address = AddressState(rawValue: query.int(1)) ?? .invalid
                rows.append((query.int(0), address.reason ?? .addressInvalid))
            }
            return try rows.compactMap { row, reason in
                try connection.attachmentKey(row: row).map { (row, $0, reason) }
            }
        }
    }
}

extension Connection {
    func cacheLimit() throws -> Int64? {
        let query = try prepare(.cacheLimit)
        guard try query.step(), !query.isNull(0) else { return nil }
        return query.int(0)
    }

    /// What pinned records may take on the disk, but for one.
    func pinnedBytes(sparing record: String? = nil) throws -> Int64 {
        let query = try prepare(.pinnedBytes)
        query.bind(blob: (record ?? "").utf8Span.span, at: 1)
        return try query.step() ? query.int(0) : 0
    }

    func isPinned(_ record: String) throws -> Bool {
        let query = try prepare(.isPinned)
        query.bind(blob: record.utf8Span.span, at: 1)
        return try query.step()
    }

    /// Moves a record to the end of those that are to go.
    func noteOpened(_ record: String, handedAt: Int64?) throws {
        try prepare(.countOpening).run()
        let opened = try prepare(.blobOpened)
        opened.bind(blob: record.utf8Span.span, at: 1)
        if let handedAt { opened.bind(handedAt, at: 2) }
        try opened.run()
    }

    /// Sets what a record's files may take on the disk.
    func hold(_ record: String, _ bytes: Int64, was before: Int64) throws {
        guard bytes != before else { return }
        let hold = try prepare(.holdBlob)
        hold.bind(blob: record.utf8Span.span, at: 1)
        hold.bind(bytes, at: 2)
        try hold.run()
        var tally = Tally()
        tally[.cacheBytes] += Int(bytes - before)
        try tally.save(self)
    }

    /// What holds room in the cache, least recently opened first, after one of them.
    func leastRecentlyOpened(after last: CachedBlob?, limit: Int) throws -> [CachedBlob] {
        let query = try prepare(.leastRecentlyOpened)
        query.bind(last?.opened ?? -1, at: 1)
        query.bind(blob: (last?.record ?? "").utf8Span.span, at: 2)
        query.bind(Int64(limit), at: 3)
        var found: [CachedBlob] = []
        while try query.step() {
            found.append(
                CachedBlob(
                    record: String(decoding: query.blob(0), as: UTF8.self), held: query.int(1),
                    opened: query.int(2), handedAt: query.isNull(3) ? nil : query.int(3),
                    isPinned: query.int(4) == 1, isPart: query.int(5) == 1))
        }
        return found
    }

    /// Parts that hold room in the cache.
    func heldParts(limit: Int) throws -> [(record: String, held: Int64)] {
        let query = try prepare(.heldParts)
        query.bind(Int64(limit), at: 1)
        var found: [(String, Int64)] = []
        while try query.step() {
            found.append((String(decoding: query.blob(0), as: UTF8.self), query.int(1)))
        }
        return found
    }

    /// Forgets that a record's bytes were asked for, once its files are gone.
    ///
    /// A small photo is its own thumbnail: `photo` is what that is from then on.
    func forgetEvicted(_ record: String, photo state: ThumbnailState = .notEager) throws {
        guard let known = try blobRecord(record) else { return }
        var tally = Tally()
        let photo = try prepare(.photoIsNoThumbnail)
        photo.bind(known.attachment, at: 1)
        photo.bind(state.rawValue, at: 2)
        try photo.run()
        if changes == 1 {
            tally.count(.here, bytes: 0, -1)
            tally.count(state, bytes: 0, 1)
        }
        if known.mark != nil { tally[.blobsHere] -= 1 }
        if known.reason != nil { tally[.blobsFailed] -= 1 }
        tally[.cacheBytes] -= Int(known.held)
        let forget = try prepare(.forgetBlob)
        forget.bind(blob: record.utf8Span.span, at: 1)
        try forget.run()
        try tally.save(self)
    }
}
