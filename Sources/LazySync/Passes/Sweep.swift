internal import SyncPlatform

/// Removes the cached bytes of records that no attachment names any more, or moves them to the
/// trash if that names them.
///
/// What is being fetched, or cannot be removed now, waits for the next run. What was dropped and is
/// named again, or by another attachment, stays.
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
                let store = ThumbnailStore(folder: places.thumbnails)
                let found = Set(dropped.filter(store.holds))
                // Rarely any: it walks over all that are here or due.
                let named = found.isEmpty ? [] : try connection.namedThumbnails(of: found)
                let trash = TrashFolder(places)
                var unsent: Set<String>?
                for record in dropped {
                    let isWanted = try connection.blobRecord(record) != nil
                    let isNamed = named.contains(record)
                    let isThumbnail = found.contains(record) && !isNamed
                    let isTrash = try connection.isTrashRecord(record)
                    let isSpooled = try connection.spooled(record) != nil
                    if !isTrash, isSpooled || (!catalog.isInMemory && trash.holds(record)) {
                        let names = try unsent ?? connection.unsentRecords()
                        unsent = names
                        // What was just brought back has its bytes nowhere else yet; and what a push
                        // says whose answer has not come may be named by it.
                        guard !names.contains(record), try connection.pushingHead() == nil else {
                            continue
                        }
                        if isSpooled { try connection.release(record) }
                    }
                    if remove(record, original: !isWanted, thumbnail: isThumbnail, isTrash) {
                        try connection.clearDropped(record)
                    }
                }
            }
        }
    }

    /// Whether the record has no file any more of those that are to go.
    private func remove(
        _ record: String, original: Bool, thumbnail: Bool, _ isTrash: Bool
    ) -> Bool {
        let trash = TrashFolder(places)
        // A catalog in memory knows nothing of what the real one has put there.
        let leavesTrash = !isTrash && !catalog.isInMemory && trash.holds(record)
        guard original || thumbnail || leavesTrash else { return true }
        do throws(FileError) {
            guard let held = try TransferLocks(places).tryLock(record),
                let alone = try BlobUses(places).tryAlone(record)
            else { return false }
            defer { withExtendedLifetime((held, alone)) {} }
            if leavesTrash { try trash.remove(record) }
            if original, isTrash {
                try trash.take(record)
            } else if original {
                try BlobPlace(record: record, under: places.blobs).remove()
            }
            if thumbnail { try ThumbnailStore(folder: places.thumbnails).remove(record) }
            return true
        } catch {
            return false
        }
    }
}
