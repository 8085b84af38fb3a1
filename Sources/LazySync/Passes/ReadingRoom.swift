internal import SyncPlatform

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

/// Room that was reserved for a record before its transfer begins.
///
/// The record is in use as long as this lives, so that nobody trims the reservation.
final class HeldRoom: Sendable {
    private let use: Locked<FileLock.Token?>
    private let record: String
    private let room: CacheRoom

    init(_ use: FileLock.Token?, _ record: String, _ room: CacheRoom) {
        (self.use, self.record, self.room) = (Locked(use), record, room)
    }

    /// Lets others have what was reserved for chunks that did not come.
    func giveBack() async {
        use.withLock { $0 = nil }
        try? await room.settle(record)
    }
}

extension CacheRoom {
    /// Whether all of a record could be in the cache beside what is pinned.
    func couldHold(_ record: String, whole: Int64) async throws(SyncError) -> Bool {
        try await catalog.read("look for room") { connection in
            try couldHold(
                connection, limit(connection), record, whole,
                thumbnails: Int64(connection.tally(.thumbnailBytes)))
        }
    }

    /// The same in a transaction; what somebody who is gone reserved for what is pinned is room.
    func couldHold(
        _ connection: Connection, _ limit: CacheLimit, _ record: String?, _ whole: Int64,
        thumbnails: Int64
    ) throws -> Bool {
        var pinned = try connection.pinnedBytes(sparing: record)
        if limit.couldHold(whole, pinned: pinned, thumbnails: thumbnails) { return true }
        let inUse = try uses.held()
        try walk(connection, sparing: record) { blob in
            if blob.isPinned, !inUse.contains(blob.record) { pinned -= unused(blob) }
            return true
        }
        return limit.couldHold(whole, pinned: pinned, thumbnails: thumbnails)
    }
}
