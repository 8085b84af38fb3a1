internal import SyncPlatform

/// Hands out a blob's verified bytes in order, as soon as they are here.
///
/// What the cache has no room for goes through a window in memory: a reader that keeps nothing, and
/// that reads no further ahead than whoever writes can follow.
struct ByteStream {
    let materializer: Materializer
    let key: AttachmentKey
    let room: ReadingRoom
    let reader: @Sendable () async throws(SyncError) -> AttachmentReader
    let write: @Sendable (Span<UInt8>) throws -> Void

    /// What has been handed out: so many chunks of one record's file.
    private struct Written: Sendable {
        var folder = ""
        var chunks = 0
    }

    /// Runs to the end of the blob; a writer that throws ends the transfer too.
    func run() async throws -> MaterializedFile {
        let written = Locked(Written())
        do {
            guard let room = try await findRoom() else {
                return try await readThrough(from: Written())
            }
            do {
                let file = try await whileItComes(written)
                withExtendedLifetime(room) {}
                return file
            } catch {
                await room.giveBack()
                throw error
            }
        } catch let error as SyncError where Self.isRoom(error) {
            return try await readThrough(from: written.withLock { $0 })
        }
    }

    /// Room for all of it; nil if there is none.
    ///
    /// Asked beforehand, so that a blob that is too large for the cache does not become one that
    /// could not come.
    private func findRoom() async throws -> HeldRoom? {
        let (row, ref) = try await materializer.addressed(key)
        // A disk that takes no lock takes nothing else either, but what it has can be read.
        let use = try? await Blocking.run { [places = materializer.places] in
            try BlobUses(places).share(ref.recordName)
        }
        if try await materializer.here(row, ref) != nil {
            return HeldRoom(use, ref.recordName, materializer.room)
        }
        do throws(SyncError) {
            try await room.reserve(ref.recordName, row, DiskCost.blob(row.size))
            return HeldRoom(use, ref.recordName, materializer.room)
        } catch {
            guard Self.isRoom(error) else { throw error }
            return nil
        }
    }

    /// Whether the cache did not take it: no reason not to read it.
    private static func isRoom(_ error: SyncError) -> Bool {
        switch error.code {
        case .unavailable(.tooLarge), .unavailable(.diskFull), .storage: true
        default: false
        }
    }

    private func whileItComes(_ written: Locked<Written>) async throws -> MaterializedFile {
        let (arrivals, arrival) = AsyncStream.makeStream(
            of: (BlobFile, ChunkSet).self, bufferingPolicy: .bufferingNewest(1))
        let file = try await withThrowingTaskGroup(of: MaterializedFile?.self) { group in
            group.addTask {
                defer { arrival.finish() }
                return try await materializer.file(key, handsOut: false) { arrival.yield(($0, $1)) }
            }
            group.addTask {
                try await follow(arrivals, written)
                return nil
            }
            var file: MaterializedFile?
            while let half = try await group.next() { file = half ?? file }
            return file
        }
        // Both halves have ended, so there is a file.
        guard let file else { throw CancellationError() }
        let part = written.withLock { $0 }
        if part.chunks > 0, part.folder != FileSystem.folder(of: file.path) {
            throw SyncError.replaced(key)
        }
        try await writeRest(of: file, from: part.chunks)
        return file
    }

    /// Writes chunk after chunk while they come.
    private func follow(
        _ arrivals: AsyncStream<(BlobFile, ChunkSet)>, _ written: Locked<Written>
    ) async throws {
        for await (file, chunks) in arrivals {
            let before = written.withLock { $0 }
            if before.chunks > 0, before.folder != file.folder { throw SyncError.replaced(key) }
            let start = before.chunks
            let end = (start..<chunks.count).first { !chunks.contains($0) } ?? chunks.count
            try await Blocking.run {
                for chunk in start..<end {
                    let plaintext = try file.read(chunk: chunk)
                    try write(plaintext.span)
                }
            }
            written.withLock { $0 = Written(folder: file.folder, chunks: end) }
        }
    }

    /// Reads to the end what the cache has no room for; nothing lies anywhere afterwards.
    private func readThrough(from part: Written) async throws -> MaterializedFile {
        let reader = try await reader()
        if part.chunks > 0, part.folder != reader.folder { throw SyncError.replaced(key) }
        let start = Int64(part.chunks) * Int64(BlobGeometry.chunkSize)
        try await reader.readAll(min(start, reader.size)..<reader.size, write)
        return MaterializedFile(
            key: key, path: "", size: reader.size, bytesFetched: reader.bytesFetched,
            requests: reader.requests)
    }

    private func writeRest(of file: MaterializedFile, from chunk: Int) async throws {
        let start = Int64(chunk) * Int64(BlobGeometry.chunkSize)
        guard start < file.size else { return }
        let bytes = try File(file.path, for: .read)
        var offset = start
        while offset < file.size {
            try Task.checkCancellation()
            offset = try await Blocking.run { [offset] in
                var next = offset
                for _ in 0..<Self.piecesAtOnce where next < file.size {
                    // Whoever writes may have been at it for long.
                    _ = try materializer.access.enter("open \(key.id)")
                    let piece = try bytes.read(count: BlobGeometry.chunkSize, at: next)
                    guard !piece.isEmpty else {
                        throw SyncError(.storage, "open \(key.id)", "the cached file was cut")
                    }
                    try write(piece.span)
                    next += Int64(piece.count)
                }
                return next
            }
        }
    }

    /// Between two looks whether anybody still wants it.
    private static let piecesAtOnce = 16
}
