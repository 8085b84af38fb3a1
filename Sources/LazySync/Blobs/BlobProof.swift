internal import SyncPlatform

/// Proves a complete file, chunk by chunk, against its tags; changes nothing.
struct BlobProof: Sendable {
    let path: String
    let tags: String
    let blob: SealedBlob
    let geometry: BlobGeometry

    /// What came of it.
    struct Result: Sendable {
        /// The chunks that are not what they should be.
        var bad: [Int] = []
        /// The bytes that are.
        var bytes: Int64 = 0
        /// The file as it was before and after its bytes were read.
        var before: FileFacts
        var after: FileFacts
    }

    /// How many tags are read at once.
    private static let batch = 4_096

    /// Reads and seals all of it; about a second a gigabyte.
    ///
    /// - Throws: `FileError` if it cannot be read now; `CancellationError` as soon as `isCancelled`
    ///   says so.
    func run(isCancelled: () -> Bool) throws -> Result {
        let file = try File(path, for: .read)
        let before = try file.facts()
        var result = Result(before: before, after: before)
        let size = BlobGeometry.tagSize
        var scratch: [UInt8] = []
        var start = 0
        while start < geometry.chunkCount {
            let end = min(start + Self.batch, geometry.chunkCount)
            let stored = try readTags(start..<end)
            for chunk in start..<end {
                if isCancelled() { throw CancellationError() }
                let place = (chunk - start) * size
                let plain = geometry.plainRange(chunk)
                let bytes = try file.read(count: plain.count, at: Int64(plain.lowerBound))
                if place + size <= stored.count, bytes.count == plain.count,
                    blob.proves(
                        chunk: chunk, of: geometry, bytes.span,
                        tag: stored.span.extracting(place..<place + size), scratch: &scratch)
                {
                    result.bytes += Int64(bytes.count)
                } else {
                    result.bad.append(chunk)
                }
            }
            start = end
        }
        result.after = try file.facts()
        return result
    }

    /// Without its tags nothing of a file can be proved.
    private func readTags(_ chunks: Range<Int>) throws(FileError) -> [UInt8] {
        let size = BlobGeometry.tagSize
        do {
            return try File(tags, for: .read)
                .read(count: chunks.count * size, at: Int64(chunks.lowerBound * size))
        } catch {
            guard error.code == .notFound else { throw error }
            return []
        }
    }
}
