internal import SyncPlatform

/// Verifies sealed bytes chunk by chunk and keeps those that are right and wanted.
final class ChunkStore: Sendable {
    let geometry: BlobGeometry
    private let place: any ChunkPlace
    private let blob: SealedBlob
    private let present: Locked<ChunkSet>
    /// Room for a run, kept from one to the next: fresh pages cost more than opening does.
    private let spare = Locked<[UInt8]>([])
    private let progress: @Sendable (ChunkSet) -> Void

    /// What was wrong with some bytes.
    struct Problem: Sendable {
        var suspect: [Int] = []
        var headerIsWrong = false
        var fileError: FileError?
    }

    /// Keeps chunks at a place where some of those that `present` is about are already.
    ///
    /// `progress` is told of all that are there.
    init(
        _ place: any ChunkPlace, _ blob: SealedBlob, _ geometry: BlobGeometry, present: ChunkSet,
        progress: @escaping @Sendable (ChunkSet) -> Void
    ) {
        self.place = place
        self.blob = blob
        self.geometry = geometry
        self.present = Locked(present)
        self.progress = progress
    }

    /// The chunks that are wanted, and which of them are here.
    var chunks: ChunkSet { present.withLock { $0 } }

    /// Takes sealed bytes that begin where the blob, or one of its chunks, begins.
    ///
    /// Chunks that are here already, or that nobody wants, are passed over, so a whole answer to a
    /// ranged request costs nothing but its bytes.
    func take(_ sealed: Span<UInt8>, at start: UInt64) -> Problem {
        var problem = Problem()
        var offset = 0
        if start < UInt64(BlobGeometry.headerSize) {
            guard start == 0, sealed.count >= BlobGeometry.headerSize,
                isHeader(sealed.extracting(..<BlobGeometry.headerSize))
            else {
                problem.headerIsWrong = true
                return problem
            }
            offset = BlobGeometry.headerSize
        }
        let here = chunks
        var run = ChunkRun(
            first: geometry.chunk(at: start + UInt64(offset)),
            spare.withLock { spare in
                defer { spare = [] }
                return spare
            }, room: sealed.count)
        for chunk in run.first..<geometry.chunkCount {
            let length = geometry.plainSize(chunk) + BlobGeometry.tagSize
            guard offset + length <= sealed.count else { break }
            let bytes = sealed.extracting(offset..<offset + length)
            offset += length
            let isNeeded = here.range.contains(chunk) && !here.contains(chunk)
            if !isNeeded || !run.append(chunk, bytes, blob, geometry) {
                if isNeeded { problem.suspect.append(chunk) }
                problem.fileError = problem.fileError ?? write(run)
                run.restart(at: chunk + 1)
            }
        }
        problem.fileError = problem.fileError ?? write(run)
        spare.withLock { $0 = run.bytes }
        return problem
    }

    private func isHeader(_ bytes: Span<UInt8>) -> Bool {
        do {
            try blob.check(header: bytes)
            return true
        } catch {
            return false
        }
    }

    private func write(_ run: ChunkRun) -> FileError? {
        guard run.count > 0 else { return nil }
        do throws(FileError) {
            let (bytes, tags) = (run.bytes, run.tags)
            try place.write(bytes.span.extracting(..<run.used), tags: tags.span, from: run.first)
        } catch {
            return error
        }
        let now = present.withLock { present in
            for chunk in run.first..<run.first + run.count { present.insert(chunk) }
            return present
        }
        progress(now)
        return nil
    }
}

/// Verified chunks in a row, to be written at once.
private struct ChunkRun {
    private(set) var first: Int
    private(set) var count = 0
    /// The plaintext of its chunks, and behind it room for more.
    private(set) var bytes: [UInt8]
    private(set) var used = 0
    private(set) var tags: [UInt8] = []

    /// Begins a run in room that is there, or in more if that is less than `room` bytes.
    init(first: Int, _ spare: [UInt8], room: Int) {
        self.first = first
        bytes = spare.count < room ? [UInt8](repeating: 0, count: room) : spare
    }

    /// Begins another run where this one was.
    mutating func restart(at chunk: Int) {
        first = chunk
        count = 0
        used = 0
        tags.removeAll(keepingCapacity: true)
    }

    /// Opens a chunk at the end of the run; false if it is not that chunk of this blob.
    mutating func append(
        _ chunk: Int, _ sealed: Span<UInt8>, _ blob: SealedBlob, _ geometry: BlobGeometry
    ) -> Bool {
        let range = used..<used + geometry.plainSize(chunk)
        var whole = bytes.mutableSpan
        var target = whole._mutatingExtracting(range)
        guard blob.open(chunk: chunk, of: geometry, sealed, into: &target) else { return false }
        used = range.upperBound
        tags.append(copying: sealed.extracting(last: BlobGeometry.tagSize))
        count += 1
        return true
    }
}
