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
            last = end.record
            let done = try await SyncError.mapping("remove dropped bytes") {
                try await Blocking.run { [self] in
                    dropped.filter { $0.isInUse || remove($0.record) }.map(\.record)
                }
            }
            try await catalog.clearDropped(done)
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
