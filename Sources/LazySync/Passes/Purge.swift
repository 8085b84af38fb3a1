internal import SyncPlatform

/// Notices that somebody emptied the cache or a part of it, and brings the catalog's account of what
/// is here in line.
///
/// A marker file lies in each folder; the system and people who clear a cache take it with the
/// rest. Only where it is missing are the files looked at, some at a time, and the marker is made
/// again afterwards; so a look at it costs nothing, and whoever is killed meanwhile goes on.
struct Purge: Sendable {
    let catalog: Catalog
    let places: AccountPlaces

    private static let page = 1_000

    /// Notices, and answers whether anything was forgotten.
    ///
    /// `makesFolders` if somebody is about to write; to look at a cache makes none, since the disk
    /// may be read-only. What goes wrong here stops nobody: the next look tries again.
    @discardableResult
    func notice(makesFolders: Bool = false) async -> Bool {
        let blobs = try? await notice(in: places.blobs, makesFolders, [.cacheBytes]) {
            connection, last in
            let page = try connection.leastRecentlyOpened(after: last, limit: Self.page)
            return (page.last, try forget(page, connection))
        }
        let thumbnails = try? await notice(in: places.thumbnails, makesFolders, [.thumbnailBytes]) {
            connection, last in
            let page = try connection.oldestThumbnails(after: last, limit: Self.page)
            return (page.last, try forget(page, connection))
        }
        return blobs == true || thumbnails == true
    }

    private func notice<Place: Sendable>(
        in folder: String, _ makesFolders: Bool, _ counts: [Tally.Name],
        _ forget: @escaping @Sendable (Connection, Place?) throws -> (last: Place?, count: Int)
    ) async throws -> Bool {
        let tenant = try catalog.enter("look at the cache")
        defer { withExtendedLifetime(tenant) {} }
        let marker = folder + "/" + AccountPlaces.marker
        if try FileSystem.facts(marker) != nil { return false }
        var found = 0
        let isAnythingHere = try await catalog.read("look for what is here") { connection in
            try counts.contains { try connection.tally($0) != 0 }
        }
        if isAnythingHere {
            var last: Place?
            repeat {
                let (end, count) = try await catalog.write("forget what is gone") { [last] in
                    try forget($0, last)
                }
                last = end
                found += count
            } while last != nil
        }
        if try makesFolders || FileSystem.facts(folder) != nil {
            try places.makeCacheFolders()
            _ = try File(marker, for: .readWriteOrCreate)
        }
        return found > 0
    }

    /// Forgets those records whose folder is gone, unless somebody is at them.
    private func forget(_ page: [CachedBlob], _ connection: Connection) throws -> Int {
        let inUse = try BlobUses(places).held()
        var count = 0
        for blob in page {
            let folder = BlobPlace(record: blob.record, under: places.blobs).folder
            guard FileSystem.isGone(folder), !inUse.contains(blob.record) else { continue }
            try connection.forgetEvicted(blob.record, photo: .due)
            count += 1
        }
        return count
    }

    /// Makes those thumbnails due again whose file is gone.
    private func forget(_ page: [KeptThumbnail], _ connection: Connection) throws -> Int {
        let store = ThumbnailStore(folder: places.thumbnails)
        var count = 0
        for thumbnail in page
        where FileSystem.isGone(
            store.path(thumbnail.ref.recordName, type: thumbnail.type))
        {
            try connection.forget(thumbnail, .due)
            count += 1
        }
        return count
    }
}
