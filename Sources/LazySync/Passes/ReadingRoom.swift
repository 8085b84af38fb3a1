/// Room in the cache for those who can do without: who reads a part, or streams.
struct ReadingRoom: Sendable {
    /// Whether all of a record could be in the cache, if need be after all else that may go.
    var couldHold:
        @Sendable (_ record: String, _ row: AttachmentRow) async throws(SyncError) -> Bool
    /// Reserves room for so many more bytes of a record, or says why there is none.
    var reserve:
        @Sendable (_ record: String, _ row: AttachmentRow, _ bytes: Int64)
            async throws(SyncError) -> Void
}

extension ReadingRoom {
    /// The cache's own.
    init(_ room: CacheRoom) {
        couldHold = { record, row throws(SyncError) in
            try await room.couldHold(record, whole: DiskCost.blob(row.size))
        }
        reserve = { record, row, bytes throws(SyncError) in
            let isReserved = try await room.reserve(
                record, row: row.row, bytes: bytes, whole: DiskCost.blob(row.size))
            // What no attachment names any more is not kept.
            guard isReserved else { throw SyncError.replaced(row.key) }
        }
    }
}

extension CacheRoom {
    /// Whether all of a record could be in the cache beside what is pinned.
    func couldHold(_ record: String, whole: Int64) async throws(SyncError) -> Bool {
        try await catalog.read("look for room") { connection in
            try limit(connection).couldHold(
                whole, pinned: connection.pinnedBytes(sparing: record),
                thumbnails: Int64(connection.tally(.thumbnailBytes)))
        }
    }
}
