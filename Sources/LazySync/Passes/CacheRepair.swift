internal import SyncPlatform

/// Puts right what a check of the cache found; nothing that somebody uses or fetches now is touched.
///
/// Pins belong to attachments and stay; what was pinned and is damaged comes again.
struct CacheRepair: Sendable {
    let catalog: Catalog
    let places: AccountPlaces

    /// Makes chunks of a complete file absent: it is a part again, and only they are fetched.
    func makeAbsent(
        _ chunks: [Int], of blob: MarkedBlob, at path: String, verified: Int64
    ) async throws(SyncError) -> Bool {
        try await alone(blob.record) { connection in
            guard try connection.blobRecord(blob.record)?.mark == blob.mark else { return false }
            // Whoever is killed in between leaves a mark without its file: it is proved when opened.
            try connection.unmark(blob.record, verified: verified)
            let place = BlobPlace(record: blob.record, under: places.blobs)
            try FileSystem.setMode(path, 0o600)
            try FileSystem.rename(path, to: place.part)
            let tags = try File(place.tags, for: .readWriteOrCreate)
            let none = [UInt8](repeating: 0, count: BlobGeometry.tagSize)
            for chunk in chunks { try tags.write(none.span, at: Int64(chunk * none.count)) }
            return true
        }
    }

    /// Forgets a complete file that is gone; a part that is there stays.
    func forget(_ blob: MarkedBlob) async throws(SyncError) -> Bool {
        try await alone(blob.record) { connection in
            let place = BlobPlace(record: blob.record, under: places.blobs)
            guard try connection.blobRecord(blob.record)?.mark == blob.mark,
                try place.contentPath() == nil
            else { return false }
            if try FileSystem.facts(place.part) != nil {
                try connection.unmark(blob.record, verified: 0)
                return true
            }
            try place.remove()
            try connection.forgetEvicted(blob.record, photo: .due)
            return true
        }
    }

    /// Forgets a file in whose place something else is, and removes that.
    func replace(_ blob: MarkedBlob) async throws(SyncError) -> Bool {
        try await alone(blob.record) { connection in
            guard try connection.blobRecord(blob.record)?.mark == blob.mark else { return false }
            try BlobPlace(record: blob.record, under: places.blobs).remove()
            try connection.forgetEvicted(blob.record, photo: .due)
            return true
        }
    }

    /// Makes a thumbnail due again, without its file.
    func renew(_ thumbnail: KeptThumbnail) async throws(SyncError) -> Bool {
        try await catalog.write("repair a thumbnail") { connection in
            guard let now = try connection.addresses(row: thumbnail.row), now.state == .here,
                now.thumbnail?.recordName == thumbnail.ref.recordName
            else { return false }
            let store = ThumbnailStore(folder: places.thumbnails)
            do throws(FileError) {
                let path = store.path(thumbnail.ref.recordName, type: thumbnail.type)
                try Directory.removeTree(path)
            } catch {
                return false
            }
            try connection.forget(thumbnail, .due)
            return true
        }
    }

    /// Removes what no record knows, unless somebody is at it or has been since a time.
    func remove(_ stray: CacheWalk.Stray, of walk: CacheWalk, before time: Int64) -> Bool {
        do throws(FileError) {
            let locks = TransferLocks(places)
            let transfer = try stray.hash.map { hash throws(FileError) in
                try locks.tryLock(hash: hash)
            }
            let use = try stray.hash.map { hash throws(FileError) in
                try BlobUses(places).tryAlone(hash: hash)
            }
            defer { withExtendedLifetime((transfer, use)) {} }
            // Of a name that is not ours there is nobody to ask.
            if case .some(.none) = transfer { return false }
            if case .some(.none) = use { return false }
            guard try walk.isOlder(stray.path, than: time) else { return false }
            try Directory.removeTree(stray.path)
            // Another record may be in it.
            if stray.hash != nil { _ = try? Directory.remove(FileSystem.folder(of: stray.path)) }
            return true
        } catch {
            return false
        }
    }

    /// Removes folders that nothing in the trash names; answers their paths.
    ///
    /// In a transaction: nothing comes into the trash meanwhile.
    func removeTrash(
        _ strays: [CacheWalk.Stray], of walk: CacheWalk, before time: Int64
    ) async -> Set<String> {
        let removed = try? await catalog.write("repair the trash") { connection in
            let known = KnownRecords(try connection.knownRecords(.trash, RecordHash.of))
            return strays.filter { stray in
                stray.hash.map(known.contains) != true && remove(stray, of: walk, before: time)
            }
        }
        return Set((removed ?? []).map(\.path))
    }

    /// Runs `body` in a transaction while nobody else fetches or uses a record; false if somebody
    /// does, or if its files cannot be changed now.
    private func alone(
        _ record: String, _ body: @escaping @Sendable (Connection) throws -> Bool
    ) async throws(SyncError) -> Bool {
        do throws(SyncError) {
            return try await catalog.write("repair a file") { connection in
                guard let transfer = try TransferLocks(places).tryLock(record),
                    let use = try BlobUses(places).tryAlone(record)
                else { return false }
                defer { withExtendedLifetime((transfer, use)) {} }
                return try body(connection)
            }
        } catch {
            guard error.code == .storage else { throw error }
            return false
        }
    }
}
