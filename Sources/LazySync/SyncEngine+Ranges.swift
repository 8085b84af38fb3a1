internal import SyncPlatform

/// Bytes at any place of an attachment, without bringing all of it here.
extension SyncEngine {
    /// A reader of an attachment's bytes; making it costs nothing, and reads nothing.
    ///
    /// All readers of an attachment share what comes.
    ///
    /// ```swift
    /// let reader = try await engine.reader(for: video.key)
    /// let middle = try await reader.read(at: reader.size / 2, count: 65_536)
    /// ```
    /// - Throws: `noSuchID`; `unavailable` if it has no address.
    public func reader(for key: AttachmentKey) async throws(SyncError) -> AttachmentReader {
        try requireOpen("read \(key.id)")
        let (row, ref) = try await materializer.addressed(key)
        reads = reads.filter { $0.value.reads != nil }
        let place = ReadKey(key: key, record: ref.recordName)
        if let shared = reads[place]?.reads { return AttachmentReader(shared) }
        // Whoever reads keeps the engine, which is who notices a logout; it does not keep them.
        let shared = try RecordReads(materializer, row, ref, readingRoom) {
            () async throws(SyncError) in
            try await self.enter("read \(key.id)")
        }
        reads[place] = WeakReads(reads: shared)
        return AttachmentReader(shared)
    }

    /// Streams a part of an attachment, verified, and brings no more of it here than that takes.
    ///
    /// What is beyond the end is left out. `write` may block, and may throw to stop.
    /// - Throws: as a reader does. The file that is answered has no path.
    public func stream(
        _ key: AttachmentKey, _ range: Range<Int64>,
        write: @escaping @Sendable (Span<UInt8>) throws -> Void
    ) async throws(SyncError) -> MaterializedFile {
        let reader = try await reader(for: key)
        try await reader.readAll(range.clamped(to: 0..<reader.size), write)
        return MaterializedFile(
            key: key, path: "", size: reader.size, bytesFetched: reader.bytesFetched,
            requests: reader.requests)
    }

    /// Room in the cache for those who can do without.
    nonisolated var readingRoom: ReadingRoom {
        configuration.readingRoom ?? ReadingRoom(materializer.room)
    }

    /// What readers share: one version of one attachment.
    struct ReadKey: Hashable {
        let key: AttachmentKey
        let record: String
    }

    /// What readers share, as long as there is one.
    struct WeakReads {
        weak var reads: RecordReads?
    }
}
