internal import SyncPlatform

/// The bytes of what was removed: out of the cache, whose limit they do not count for, on the disk
/// for certain, and gone with the account.
struct TrashFolder: Sendable {
    private let places: AccountPlaces

    init(_ places: AccountPlaces) {
        self.places = places
    }

    private func place(_ record: String) -> BlobPlace {
        BlobPlace(record: record, under: places.trash)
    }

    /// Whether a record's bytes are here.
    func holds(_ record: String) -> Bool {
        (try? FileSystem.facts(place(record).folder)) != nil
    }

    /// Moves a record's complete file here, with what proves it; a part is not worth keeping.
    ///
    /// The caller has the record's locks alone.
    func take(_ record: String) throws(FileError) {
        let cached = BlobPlace(record: record, under: places.blobs)
        guard let path = try cached.contentPath() else { return try cached.remove() }
        // The cache is not synced; what it is asked to keep now must be.
        try File(path, for: .read).sync()
        let target = place(record)
        if try FileSystem.facts(target.folder) != nil { try Directory.removeTree(target.folder) }
        try Directory.make(FileSystem.folder(of: target.folder), durably: true)
        try FileSystem.move(cached.folder, to: target.folder)
        try cached.remove()
    }

    /// Moves a record's file back into the cache, where there is none; it has to be proved there.
    ///
    /// The caller has the record's locks, and has reserved the room.
    func giveBack(_ record: String) throws(FileError) {
        guard holds(record) else { return }
        let cached = BlobPlace(record: record, under: places.blobs)
        if try cached.contentPath() == nil {
            if try FileSystem.facts(cached.folder) != nil {
                try Directory.removeTree(cached.folder)
            }
            try Directory.make(FileSystem.folder(of: cached.folder))
            try FileSystem.move(place(record).folder, to: cached.folder)
        }
        try remove(record)
    }

    /// Removes a record's bytes for good.
    func remove(_ record: String) throws(FileError) {
        try place(record).remove()
    }
}
