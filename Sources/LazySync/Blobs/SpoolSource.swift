internal import SyncPlatform

/// Brings chunks out of the spool: the same bytes that the store would send, without asking it.
struct SpoolSource: Sendable {
    let spool: Spool
    let blob: SpooledBlob

    /// How much is read and opened at once.
    private static let run = 16

    /// Brings every chunk that is wanted and not here; false if the file is gone or damaged.
    func fill(_ store: ChunkStore) throws -> Bool {
        guard let file = try spool.open(blob.pack),
            UInt64(blob.size) == store.geometry.sealedLength
        else { return false }
        while let missing = store.chunks.firstMissingRun {
            try Task.checkCancellation()
            let chunks = missing.lowerBound..<min(missing.upperBound, missing.lowerBound + Self.run)
            let start = store.geometry.sealedRange(chunks.lowerBound).lowerBound
            let end = store.geometry.sealedRange(chunks.upperBound - 1).upperBound
            let bytes = try file.read(count: Int(end - start), at: blob.place + Int64(start))
            let problem = store.take(bytes.span, at: start)
            if let error = problem.fileError { throw error }
            guard problem.suspect.isEmpty, bytes.count == Int(end - start) else { return false }
        }
        return true
    }

    /// All of a small blob, opened; nil if the file is gone or damaged.
    func open(_ sealed: SealedBlob, _ geometry: BlobGeometry) throws -> SmallBlob.Fetched? {
        guard let file = try spool.open(blob.pack), UInt64(blob.size) == geometry.sealedLength
        else { return nil }
        let bytes = try file.read(count: Int(blob.size), at: blob.place)
        do throws(FormatError) {
            return SmallBlob.Fetched(
                plaintext: try sealed.open(bytes.span, of: geometry),
                tags: ThumbnailStore.tags(of: bytes.span, geometry), received: 0)
        } catch {
            return nil
        }
    }
}
