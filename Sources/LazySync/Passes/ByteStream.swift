internal import SyncPlatform

/// Hands out a blob's verified bytes in order, as soon as they are here.
struct ByteStream {
    let materializer: Materializer
    let key: AttachmentKey
    let write: @Sendable (Span<UInt8>) throws -> Void

    /// What has been handed out: so many chunks of one record's file.
    private struct Written: Sendable {
        var folder = ""
        var chunks = 0
    }

    /// What the two halves of the work end with.
    private enum Half: Sendable {
        case file(MaterializedFile)
        case written(Written)
    }

    /// Runs to the end of the blob; a writer that throws ends the transfer too.
    func run() async throws -> MaterializedFile {
        let (arrivals, arrival) = AsyncStream.makeStream(
            of: (BlobFile, ChunkSet).self, bufferingPolicy: .bufferingNewest(1))
        let (file, written) = try await withThrowingTaskGroup(of: Half.self) { group in
            group.addTask {
                defer { arrival.finish() }
                return .file(try await materializer.file(key) { arrival.yield(($0, $1)) })
            }
            group.addTask { .written(try await follow(arrivals)) }
            var file: MaterializedFile?
            var written = Written()
            while let half = try await group.next() {
                switch half {
                case .file(let whole): file = whole
                case .written(let part): written = part
                }
            }
            return (file, written)
        }
        // Both halves have ended, so there is a file.
        guard let file else { throw CancellationError() }
        if written.chunks > 0, written.folder != FileSystem.folder(of: file.path) {
            throw replaced()
        }
        try await writeRest(of: file, from: written.chunks)
        return file
    }

    /// Writes chunk after chunk while they come.
    private func follow(_ arrivals: AsyncStream<(BlobFile, ChunkSet)>) async throws -> Written {
        var written = Written()
        for await (file, chunks) in arrivals {
            if written.chunks > 0, written.folder != file.folder { throw replaced() }
            let start = written.chunks
            let end = (start..<chunks.count).first { !chunks.contains($0) } ?? chunks.count
            try await Blocking.run {
                for chunk in start..<end {
                    let plaintext = try file.read(chunk: chunk)
                    try write(plaintext.span)
                }
            }
            written = Written(folder: file.folder, chunks: end)
        }
        return written
    }

    /// Bytes of two versions must not come out as one.
    private func replaced() -> SyncError {
        SyncError(
            .unavailable(.notFound), "open \(key.id)", "it was replaced while it was being read",
            hint: "open it again")
    }

    private func writeRest(of file: MaterializedFile, from chunk: Int) async throws {
        let start = Int64(chunk) * Int64(BlobGeometry.chunkSize)
        guard start < file.size else { return }
        try await Blocking.run {
            let bytes = try File(file.path, for: .read)
            var offset = start
            while offset < file.size {
                let piece = try bytes.read(count: BlobGeometry.chunkSize, at: offset)
                guard !piece.isEmpty else {
                    throw SyncError(.storage, "open \(key.id)", "the cached file was cut")
                }
                try write(piece.span)
                offset += Int64(piece.count)
            }
        }
    }
}
