internal import SyncPlatform

/// Thumbnails as files, each under its final name; small, verified in memory before they are
/// written.
struct ThumbnailStore: Sendable {
    let folder: String

    /// The media types whose extension is worth having; any other thumbnail has none.
    private static let suffixes = [
        "image/jpeg": ".jpg", "image/png": ".png", "image/webp": ".webp", "image/gif": ".gif",
    ]

    /// Where a record's thumbnail is, or would be.
    func path(_ record: String, type: String) -> String {
        path(record) + (Self.suffixes[type] ?? "")
    }

    private func path(_ record: String) -> String {
        let hash = BlobPlace.hash(record)
        return "\(folder)/\(hash.prefix(2))/\(hash.dropFirst(2))"
    }

    /// Writes a verified thumbnail; one that is there already, whole or left by a crash, is replaced
    /// at once, since somebody may be reading it.
    func write(_ bytes: Span<UInt8>, to path: String) throws(FileError) {
        do {
            return try fillOrReplace(path, bytes)
        } catch {
            guard error.code == .notFound else { throw error }
        }
        try Directory.make(FileSystem.folder(of: path))
        try fillOrReplace(path, bytes)
    }

    private func fillOrReplace(_ path: String, _ bytes: Span<UInt8>) throws(FileError) {
        do {
            try fill(path, bytes)
        } catch {
            guard error.code == .exists else { throw error }
            try replace(path, bytes)
        }
    }

    private func replace(_ path: String, _ bytes: Span<UInt8>) throws(FileError) {
        let temporary = FileSystem.temporaryPath(in: FileSystem.folder(of: path))
        try fill(temporary, bytes)
        do {
            try FileSystem.rename(temporary, to: path)
        } catch {
            _ = try? FileSystem.remove(temporary)
            throw error
        }
    }

    private func fill(_ path: String, _ bytes: Span<UInt8>) throws(FileError) {
        let file = try File(path, for: .create)
        do {
            try file.write(bytes, at: 0)
        } catch {
            _ = try? FileSystem.remove(path)
            throw error
        }
    }

    /// Removes a record's thumbnail, under whichever extension it is.
    func remove(_ record: String) throws(FileError) {
        for suffix in [""] + Self.suffixes.values {
            try FileSystem.remove(path(record) + suffix)
        }
    }

    /// Whether there is a file of a record's thumbnail, under whichever extension.
    func holds(_ record: String) -> Bool {
        ([""] + Self.suffixes.values).contains { !FileSystem.isGone(path(record) + $0) }
    }

    /// The tags of a sealed blob's chunks: what proves the file later, without the network.
    static func tags(of sealed: Span<UInt8>, _ geometry: BlobGeometry) -> [UInt8] {
        var tags: [UInt8] = []
        for chunk in 0..<geometry.chunkCount {
            let end = Int(geometry.sealedRange(chunk).upperBound)
            tags.append(copying: sealed.extracting(end - BlobGeometry.tagSize..<end))
        }
        return tags
    }

    /// Whether a file is the thumbnail that these tags are of.
    func proves(
        _ path: String, _ blob: SealedBlob, _ geometry: BlobGeometry, tags: [UInt8]
    ) -> Bool {
        let size = BlobGeometry.tagSize
        guard tags.count == geometry.chunkCount * size,
            let bytes = try? File(path, for: .read).readAll(limit: Int(geometry.length)),
            UInt64(bytes.count) == geometry.length
        else { return false }
        var scratch: [UInt8] = []
        for chunk in 0..<geometry.chunkCount {
            let range = geometry.plainRange(chunk)
            let tag = tags.span.extracting(chunk * size..<(chunk + 1) * size)
            let plaintext = bytes.span.extracting(Int(range.lowerBound)..<Int(range.upperBound))
            guard
                blob.proves(chunk: chunk, of: geometry, plaintext, tag: tag, scratch: &scratch)
            else { return false }
        }
        return true
    }
}
