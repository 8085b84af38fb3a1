internal import SyncPlatform

/// Where verified chunks go: into a blob's file, or into memory only.
protocol ChunkPlace: Sendable {
    /// Takes verified plaintext of whole chunks in a row, and their tags.
    func write(
        _ plaintext: Span<UInt8>, tags: Span<UInt8>, from chunk: Int
    ) throws(FileError)
}

extension BlobFile: ChunkPlace {}

/// A blob's file for those who write without the record's transfer lock.
///
/// Whoever has the lock may complete the file and note its facts meanwhile: from then on not even
/// the same bytes may be written to it again.
struct SharedPart: ChunkPlace {
    let file: BlobFile

    func write(
        _ plaintext: Span<UInt8>, tags: Span<UInt8>, from chunk: Int
    ) throws(FileError) {
        guard try !file.isPublished() else { return }
        try file.write(plaintext, tags: tags, from: chunk)
    }
}

/// Verified chunks in memory, for a blob that the cache has no room for.
final class ChunkWindow: ChunkPlace {
    private let geometry: BlobGeometry
    private let chunks = Locked<[Int: [UInt8]]>([:])

    init(_ geometry: BlobGeometry) {
        self.geometry = geometry
    }

    /// The plaintext of a chunk that came.
    func chunk(_ chunk: Int) -> [UInt8]? { chunks.withLock { $0[chunk] } }

    /// How much is held.
    var byteCount: Int { chunks.withLock { $0.values.reduce(0) { $0 + $1.count } } }

    func write(
        _ plaintext: Span<UInt8>, tags: Span<UInt8>, from first: Int
    ) throws(FileError) {
        let base = geometry.plainRange(first).lowerBound
        for chunk in first..<first + tags.count / BlobGeometry.tagSize {
            let range = geometry.plainRange(chunk)
            let piece = [UInt8](
                copying: plaintext.extracting(
                    Int(range.lowerBound - base)..<Int(range.upperBound - base)))
            chunks.withLock { $0[chunk] = piece }
        }
    }
}
