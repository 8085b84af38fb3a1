internal import SyncPlatform

/// A disk that others have filled to the last byte: not even the note of an eviction fits.
extension CacheRoom {
    /// As much as any note takes.
    private static let noteBytes: Int64 = 1 << 20

    /// Runs what lets the files that are `meant` go; where that cannot be noted for want of room,
    /// some of them go unnoted before.
    ///
    /// Answers also how many bytes that freed. What is pinned is never meant.
    func noting<Result: Sendable>(
        _ meant: @escaping @Sendable (CachedBlob) -> Bool,
        _ body: @Sendable () async throws(SyncError) -> Result
    ) async throws(SyncError) -> (result: Result, unnoted: Int64) {
        do throws(SyncError) {
            return (try await body(), 0)
        } catch {
            guard error.code == .unavailable(.diskFull) else { throw error }
            let freed = try await freeUnnoted(meant)
            guard freed > 0 else { throw error }
            return (try await body(), freed)
        }
    }

    /// Removes some files, least recently opened first, and answers how much that freed.
    ///
    /// A mark without its file claims nothing for long: it is found at the next open, and what runs
    /// after this notes the rest.
    private func freeUnnoted(
        _ meant: @escaping @Sendable (CachedBlob) -> Bool
    ) async throws(SyncError) -> Int64 {
        let oldest = try await catalog.read("make room") { connection in
            var records: [String] = []
            try walk(connection, sparing: nil) { blob in
                if !blob.isPinned, meant(blob) { records.append(blob.record) }
                return records.count < 1_000
            }
            return records
        }
        return try await SyncError.mapping("make room") {
            try await Blocking.run { [places] in
                var freed: Int64 = 0
                for record in oldest where freed < Self.noteBytes {
                    guard let alone = try BlobUses(places).tryAlone(record) else { continue }
                    defer { withExtendedLifetime(alone) {} }
                    let place = BlobPlace(record: record, under: places.blobs)
                    let bytes = try place.onDisk()
                    guard bytes > 0, (try? place.remove()) != nil else { continue }
                    freed += bytes
                }
                return freed
            }
        }
    }
}
