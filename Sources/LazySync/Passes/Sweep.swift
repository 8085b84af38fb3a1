internal import SyncPlatform

/// Removes the cached bytes of records that no attachment names any more.
///
/// What is being fetched, or cannot be removed now, waits for the next run.
struct Sweep {
    let catalog: Catalog
    let places: AccountPlaces

    private static let batch = 500

    func run() async throws(SyncError) {
        var last = ""
        while true {
            let dropped = try await catalog.dropped(after: last, limit: Self.batch)
            guard let end = dropped.last else { return }
            last = end
            // In the transaction: nobody can ask for one of them again between the look and the end.
            try await catalog.write("remove dropped bytes") { connection in
                for record in dropped
                where try connection.blobRecord(record) != nil || remove(record) {
                    try connection.clearDropped(record)
                }
            }
        }
    }

    /// Whether the record has no file any more.
    private func remove(_ record: String) -> Bool {
        do throws(FileError) {
            guard let held = try TransferLocks(places).tryLock(record),
                let alone = try BlobUses(places).tryAlone(record)
            else { return false }
            defer { withExtendedLifetime((held, alone)) {} }
            try BlobPlace(record: record, under: places.blobs).remove()
            try ThumbnailStore(folder: places.thumbnails).remove(record)
            return true
        } catch {
            return false
        }
    }
}
