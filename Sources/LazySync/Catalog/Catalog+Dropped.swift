internal import SyncPlatform

/// Records that no attachment names any more: their bytes are to go from the cache.
///
/// They are noted by the transaction that takes the last address away, so that a crash before the
/// files are gone leaves nothing behind for good.
extension Catalog {
    /// Records that were dropped, in the order of their bytes.
    func dropped(after record: String, limit: Int) async throws(SyncError) -> [String] {
        try await read("list dropped records") { connection in
            let query = try connection.prepare(.dropped)
            query.bind(blob: record.utf8Span.span, at: 1)
            query.bind(Int64(limit), at: 2)
            var found: [String] = []
            while try query.step() {
                found.append(String(decoding: query.blob(0), as: UTF8.self))
            }
            return found
        }
    }
}

extension Connection {
    /// What an attachment names now, and its thumbnail's state.
    struct Addresses {
        let original: CloudBlobRef?
        let thumbnail: CloudBlobRef?
        let state: ThumbnailState
        let size: Int64
        let thumbnailSize: Int64
    }

    /// What an attachment names now; nil if it is gone.
    func addresses(row: Int64) throws -> Addresses? {
        let query = try prepare(.addressesByRow)
        query.bind(row, at: 1)
        guard try query.step() else { return nil }
        return Addresses(
            original: CloudBlobRef(packed: query.blob(0).span),
            thumbnail: CloudBlobRef(packed: query.blob(1).span),
            state: ThumbnailState(rawValue: query.int(2)) ?? .none, size: query.int(3),
            thumbnailSize: query.int(4))
    }

    /// Notes a record whose bytes are to go from the cache.
    func drop(_ record: String) throws {
        let drop = try prepare(.drop)
        drop.bind(blob: record.utf8Span.span, at: 1)
        try drop.run()
    }

    /// Forgets a dropped record, once its files are gone or somebody asked for it again.
    func clearDropped(_ record: String) throws {
        let clear = try prepare(.clearDropped)
        clear.bind(blob: record.utf8Span.span, at: 1)
        try clear.run()
    }

    /// Forgets what happened to an original's bytes, if they were asked for, and lets them go.
    func dropBlob(_ record: String, _ tally: inout Tally) throws {
        guard let known = try blobRecord(record) else { return }
        if known.mark != nil { tally[.blobsHere] -= 1 }
        tally[.cacheBytes] -= Int(known.held)
        if known.reason != nil { tally[.blobsFailed] -= 1 }
        let forget = try prepare(.forgetBlob)
        forget.bind(blob: record.utf8Span.span, at: 1)
        try forget.run()
        try drop(record)
    }
}
