internal import SyncPlatform

/// A record's files as a reader has them: nothing is moved, and a chunk is proved when it is read.
extension BlobFile {
    /// Opens a record's files as they are, at no cost; nil if none are there.
    ///
    /// A complete file is opened where it lies, and only for reading. Needs no lock: whoever has the
    /// record's transfer lock may complete and rename the file under this one's hands.
    static func openToRead(
        _ place: BlobPlace, _ blob: SealedBlob, _ geometry: BlobGeometry
    ) throws(FileError) -> BlobFile? {
        // The file may get its name between the two looks.
        for _ in 0..<2 {
            if let part = try openPart(place, blob, geometry) { return part }
            guard let content = try place.contentPath() else { continue }
            guard let bytes = try existing(content, .read) else { continue }
            guard let tags = try existing(place.tags, .read) else { return nil }
            return BlobFile(
                geometry: geometry, blob: blob, place: place, bytes: bytes, tags: tags,
                isWritable: false)
        }
        return nil
    }

    /// Opens a part, for writing too where that is possible; nil if there is none.
    private static func openPart(
        _ place: BlobPlace, _ blob: SealedBlob, _ geometry: BlobGeometry
    ) throws(FileError) -> BlobFile? {
        do {
            guard let bytes = try existing(place.part, .readWrite),
                let tags = try existing(place.tags, .readWriteOrCreate)
            else { return nil }
            return BlobFile(
                geometry: geometry, blob: blob, place: place, bytes: bytes, tags: tags)
        } catch {
            guard error.isNoPlace else { throw error }
            // What came before nobody could write here is still right.
            guard let bytes = try existing(place.part, .read),
                let tags = try existing(place.tags, .read)
            else { return nil }
            return BlobFile(
                geometry: geometry, blob: blob, place: place, bytes: bytes, tags: tags,
                isWritable: false)
        }
    }

    /// Opens a record's files for a reader that is about to bring some chunks.
    ///
    /// What is there is taken as it is; see `openToRead`.
    static func openToFill(
        _ place: BlobPlace, _ blob: SealedBlob, _ geometry: BlobGeometry
    ) throws(FileError) -> BlobFile? {
        if let file = try openToRead(place, blob, geometry) { return file }
        try place.removeStrangers()
        try Directory.make(place.folder)
        do {
            try File(place.part, for: .create).truncate(to: Int64(geometry.length))
        } catch {
            guard error.code == .exists else { throw error }
        }
        // A whole transfer may have begun and ended since the look: the complete file counts.
        if try place.contentPath() != nil { try FileSystem.remove(place.part) }
        return try openToRead(place, blob, geometry)
    }

    /// Opens a file if it is there; what is no file of ours is not.
    static func existing(
        _ path: String, _ access: File.Access
    ) throws(FileError) -> File? {
        do {
            return try File(path, for: access)
        } catch {
            if error.code == .notFound || error.code == .notOurs { return nil }
            throw error
        }
    }

    /// A chunk's plaintext if it is here: its tag is, and what lies there gives that tag.
    func proved(_ chunk: Int) throws(FileError) -> [UInt8]? {
        let tag = try tags.read(
            count: BlobGeometry.tagSize, at: Int64(chunk * BlobGeometry.tagSize))
        guard tag.count == BlobGeometry.tagSize, !tag.span.isZero else { return nil }
        let plaintext = try read(chunk: chunk)
        var scratch: [UInt8] = []
        let isRight = blob.proves(
            chunk: chunk, of: geometry, plaintext.span, tag: tag.span, scratch: &scratch)
        return isRight ? plaintext : nil
    }

    /// The first chunks of a run that look as if they were not here: those that have no tag.
    ///
    /// The first of all counts as missing in any case, since whoever asks knows.
    func missing(_ run: Range<Int>) throws(FileError) -> Range<Int> {
        let size = BlobGeometry.tagSize
        let stored = try tags.read(count: run.count * size, at: Int64(run.lowerBound * size))
        for index in 1..<max(stored.count / size, 1)
        where !stored.span.extracting(index * size..<(index + 1) * size).isZero {
            return run.lowerBound..<run.lowerBound + index
        }
        return run
    }

    /// Whether a chunk has a tag, right or wrong.
    func hasTag(_ chunk: Int) throws(FileError) -> Bool {
        let size = BlobGeometry.tagSize
        let tag = try tags.read(count: size, at: Int64(chunk * size))
        return tag.count == size && !tag.span.isZero
    }

    /// Whether somebody gave the file its name: its facts are noted then and must stay as they are.
    func isPublished() throws(FileError) -> Bool { try bytes.facts().mode & 0o200 == 0 }
}

extension FileError {
    /// Whether the disk takes nothing; what lies in the way of a file is another thing.
    var isNoPlace: Bool { code == .noSpace || code == .readOnly || code == .permission }
}
