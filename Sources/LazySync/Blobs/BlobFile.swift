internal import SyncPlatform

/// One record's plaintext in the cache, and its proof: a sparse file and a list of tags.
///
/// A chunk is here if and only if its tag is in the list and the chunk, sealed again, gives that
/// tag. Nothing depends on the order in which a crash let writes through, so nothing is synced.
final class BlobFile: Sendable {
    let geometry: BlobGeometry
    let blob: SealedBlob
    private let place: BlobPlace
    let bytes: File
    let tags: File
    /// Whether it was opened as a part, that is also for writing.
    let isWritable: Bool
    /// What the file system said before what is here was proved.
    private let before: FileFacts?

    /// Opens a record's files for writing, and tells which chunks are here, each one proved.
    ///
    /// Costs reading and sealing what is here: about a second a gigabyte. The caller holds the
    /// record's transfer lock.
    static func open(
        _ place: BlobPlace, _ blob: SealedBlob, _ geometry: BlobGeometry
    ) throws(FileError) -> (BlobFile, ChunkSet) {
        try place.removeStrangers()
        try Directory.make(place.folder)
        // A complete file that was not marked, or no longer fits its mark, is a part again.
        if let content = try place.contentPath() {
            try FileSystem.setMode(content, 0o600)
            try FileSystem.rename(content, to: place.part)
        } else if let part = try FileSystem.facts(place.part), part.mode != 0o600 {
            // Whoever was killed while it got its name left it read-only.
            try FileSystem.setMode(place.part, 0o600)
        }
        if let list = try FileSystem.facts(place.tags), list.mode != 0o600 {
            try FileSystem.setMode(place.tags, 0o600)
        }
        let bytes = try File(place.part, for: .readWriteOrCreate)
        let tags = try File(place.tags, for: .readWriteOrCreate)
        // It can be had again. While it is a part: what is read-only takes no attribute.
        bytes.note(.backup, "false")
        try bytes.truncate(to: Int64(geometry.length))
        let file = BlobFile(
            geometry: geometry, blob: blob, place: place, bytes: bytes, tags: tags,
            before: try bytes.facts())
        return (file, try file.prove())
    }

    init(
        geometry: BlobGeometry, blob: SealedBlob, place: BlobPlace, bytes: File, tags: File,
        isWritable: Bool = true, before: FileFacts? = nil
    ) {
        self.geometry = geometry
        self.blob = blob
        self.place = place
        self.bytes = bytes
        self.tags = tags
        self.isWritable = isWritable
        self.before = before
    }

    /// Whether nobody has written to the file since what was here began to be proved.
    func isAsProved(_ facts: FileFacts) -> Bool {
        facts.size == before?.size && facts.mtimeNs == before?.mtimeNs
    }

    /// The folder that is this record's alone.
    var folder: String { place.folder }

    /// Writes verified plaintext of whole chunks in a row, and after it their tags.
    func write(
        _ plaintext: Span<UInt8>, tags newTags: Span<UInt8>, from chunk: Int
    ) throws(FileError) {
        try bytes.write(plaintext, at: Int64(geometry.plainRange(chunk).lowerBound))
        try tags.write(newTags, at: Int64(chunk * BlobGeometry.tagSize))
    }

    /// Reads a chunk's plaintext, whatever lies there.
    func read(chunk: Int) throws(FileError) -> [UInt8] {
        let range = geometry.plainRange(chunk)
        return try bytes.read(count: range.count, at: Int64(range.lowerBound))
    }

    /// Gives the complete file its name, read-only, and tells its facts.
    func publish(extension suffix: String) throws(FileError) -> (path: String, facts: FileFacts) {
        try bytes.setMode(0o400)
        let path = place.content(suffix)
        try FileSystem.rename(place.part, to: path)
        return (path, try bytes.facts())
    }

    private func prove() throws(FileError) -> ChunkSet {
        var present = ChunkSet(count: geometry.chunkCount)
        let size = BlobGeometry.tagSize
        // No more memory than there are tags: the blob's length is only what an item says.
        let count = min(try tags.facts().size, Int64(geometry.chunkCount * size))
        let stored = try tags.read(count: Int(count), at: 0)
        var scratch: [UInt8] = []
        for chunk in 0..<(stored.count / size) {
            let tag = stored.span.extracting(chunk * size..<(chunk + 1) * size)
            // A hole in the list of tags reads as zeros.
            guard !tag.isZero else { continue }
            let plaintext = try read(chunk: chunk)
            if blob.proves(
                chunk: chunk, of: geometry, plaintext.span, tag: tag, scratch: &scratch)
            {
                present.insert(chunk)
            }
        }
        return present
    }
}

extension Span where Element == UInt8 {
    /// Whether all bytes are zero.
    var isZero: Bool {
        for index in indices where self[index] != 0 { return false }
        return true
    }
}
