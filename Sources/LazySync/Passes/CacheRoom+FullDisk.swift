internal import SyncPlatform

/// A disk that others have filled to the last byte: not even the note of an eviction fits.
extension CacheRoom {
    /// As much as any note takes.
    private static let noteBytes: Int64 = 1 << 20

    /// Runs what frees room; where that cannot be noted for want of room, some goes unnoted before.
    func noting<Result: Sendable>(
        _ body: @Sendable () async throws(SyncError) -> Result
    ) async throws(SyncError) -> Result {
        do throws(SyncError) {
            return try await body()
        } catch {
            guard error.code == .unavailable(.diskFull), try await freeUnnoted() else {
                throw error
            }
            return try await body()
        }
    }

    /// Removes some files, least recently opened first; false if none could go.
    ///
    /// A mark without its file claims nothing for long: it is found at the next open, and what runs
    /// after this notes the rest.
    private func freeUnnoted() async throws(SyncError) -> Bool {
        let oldest = try await catalog.read("make room") { connection in
            try connection.leastRecentlyOpened(after: nil, limit: 1_000).filter { !$0.isPinned }
        }
        return try await SyncError.mapping("make room") {
            try await Blocking.run { [places] in
                var freed: Int64 = 0
                for blob in oldest where freed < Self.noteBytes {
                    guard let alone = try BlobUses(places).tryAlone(blob.record) else { continue }
                    defer { withExtendedLifetime(alone) {} }
                    let place = BlobPlace(record: blob.record, under: places.blobs)
                    let bytes = try place.onDisk()
                    guard bytes > 0, (try? place.remove()) != nil else { continue }
                    freed += bytes
                }
                return freed > 0
            }
        }
    }
}
