internal import SyncPlatform

/// Reads an attachment's bytes at any place, each one verified, without bringing all of it here.
///
/// Chunks that are here are read from the disk; only those that are missing are fetched, in one
/// request for a read, and ahead of reads that follow each other. It reads one version of the
/// attachment: when that is replaced and gone from the server, reading fails.
///
/// A reader may be used by many tasks at once; each of several readers follows its own pattern.
public actor AttachmentReader {
    /// Whose bytes they are.
    public nonisolated let key: AttachmentKey
    /// How many bytes there are.
    public nonisolated let size: Int64

    private let reads: RecordReads
    private nonisolated let cost = ReadCost()
    private var pattern = ReadPattern()
    /// Transfers that go on though no read waits for them: what is read ahead.
    private var held: [RangeFetch] = []
    /// The chunk that was read last: small reads in a row prove it once.
    private var recent: (chunk: Int, bytes: [UInt8])?

    /// How much is handed out at once to somebody who reads all of a part.
    private static let piece = 4 * BlobGeometry.chunkSize
    /// Times that a chunk is asked for before reading gives up: it came, and the disk lost it.
    private static let mostRounds = 6

    init(_ reads: RecordReads) {
        self.reads = reads
        key = reads.row.key
        size = reads.row.size
    }

    deinit {
        for fetch in held { fetch.release(.soon) }
    }

    /// The folder that is this version's alone.
    nonisolated var folder: String { reads.place.folder }

    /// Plaintext bytes that came over the wire for this reader.
    public nonisolated var bytesFetched: Int64 { cost.bytes }
    /// HTTP requests that were sent for this reader.
    public nonisolated var requests: Int { cost.requests }

    /// Reads verified bytes: fewer than `count` only where the blob ends, none beyond it.
    ///
    /// - Throws: `invalidInput` for a negative place or count; `unavailable` with the reason, which
    ///   the list then shows too; `notLoggedIn` after a logout.
    public func read(at offset: Int64, count: Int) async throws(SyncError) -> [UInt8] {
        try await read(at: offset, count: count, through: nil)
    }

    /// Hands out a part piece by piece; what is here of it is not asked for, nor what is behind it.
    func readAll(
        _ range: Range<Int64>, _ write: @escaping @Sendable (Span<UInt8>) throws -> Void
    ) async throws(SyncError) {
        var offset = range.lowerBound
        while offset < range.upperBound {
            let count = Int(min(range.upperBound - offset, Int64(Self.piece)))
            let piece = try await read(at: offset, count: count, through: range.upperBound)
            guard !piece.isEmpty else { return }
            try await SyncError.mapping("read \(key.id)") {
                try await Blocking.run { try write(piece.span) }
            }
            offset += Int64(piece.count)
        }
        // Also what these bytes mean for the blob's state is noted by then.
        for fetch in held { await fetch.end() }
    }

    /// Reads; `end` is where somebody ends who will surely read on to there.
    private func read(
        at offset: Int64, count: Int, through end: Int64?
    ) async throws(SyncError) -> [UInt8] {
        guard offset >= 0, count >= 0 else {
            throw SyncError(
                .invalidInput, "read \(key.id)", "a place or a count below zero")
        }
        let tenant = try await reads.enter()
        defer { withExtendedLifetime(tenant) {} }
        guard offset < size, count > 0 else { return [] }
        let range = offset..<offset + min(Int64(count), size - offset)
        do throws(SyncError) {
            let bytes = try await SyncError.mapping("read \(key.id)") {
                try await collect(range, through: end)
            }
            // The account may have been logged out meanwhile.
            _ = try await reads.enter()
            return bytes
        } catch {
            // A logout ends what is on its way.
            _ = try await reads.enter()
            throw error
        }
    }

    private func collect(_ range: Range<Int64>, through end: Int64?) async throws -> [UInt8] {
        try Task.checkCancellation()
        if let bytes = try await reads.whole(range) { return bytes }
        pattern.note(range, isCertain: end != nil)
        let geometry = reads.geometry
        let needed = geometry.chunks(
            holding: UInt64(range.lowerBound)..<UInt64(range.upperBound))
        let last = geometry.chunks(holding: 0..<UInt64(end ?? size)).upperBound
        let isSequential = pattern.isSequential
        letGo { !isSequential || $0.upperBound <= needed.lowerBound }
        // What this read waits for stays on its way, whatever other reads let go.
        var waitedFor: [RangeFetch] = []
        defer { for fetch in waitedFor { fetch.release(.now) } }
        var result: [UInt8] = []
        result.reserveCapacity(range.count)
        for chunk in needed {
            let plaintext = try await find(
                chunk, through: needed.upperBound, before: last, &waitedFor)
            let start = Int64(geometry.plainRange(chunk).lowerBound)
            let piece = range.clamped(to: start..<start + Int64(plaintext.count))
            result.append(
                copying: plaintext.span.extracting(
                    Int(piece.lowerBound - start)..<Int(piece.upperBound - start)))
        }
        // What nobody needs yet must not fail a read that has its bytes.
        try? await readAhead(from: needed.upperBound, before: last)
        return result
    }

    /// One chunk, from wherever it is.
    private func find(
        _ chunk: Int, through needed: Int, before last: Int, _ waitedFor: inout [RangeFetch]
    ) async throws -> [UInt8] {
        if let recent, recent.chunk == chunk { return recent.bytes }
        for round in 1...Self.mostRounds {
            try Task.checkCancellation()
            var found = (waitedFor + held).lazy.compactMap { $0.window.chunk(chunk) }.first
            if found == nil { found = try await reads.local(chunk) }
            if let found {
                recent = (chunk, found)
                return found
            }
            if round == Self.mostRounds / 2 { await reads.useMemoryOnly() }
            let end = min(last, max(needed, chunk + pattern.nextReach))
            let fetch = try await reads.bring(
                chunk, upTo: end, .now, waits: round < Self.mostRounds / 2, cost)
            guard let fetch else { continue }
            // Held twice: by this read, and by the reader for what comes behind the chunk.
            for passed in waitedFor where passed.chunks.upperBound <= chunk {
                passed.release(.now)
            }
            waitedFor.removeAll { $0.chunks.upperBound <= chunk }
            waitedFor.append(fetch)
            keep(fetch)
            do {
                try await fetch.arrival(of: chunk)
            } catch is RangeFetch.LookAgain {
                continue
            } catch {
                letGo { $0 == fetch.chunks }
                throw error
            }
        }
        throw SyncError(.storage, "read \(key.id)", "the cache does not keep what comes")
    }

    /// Has the next chunks brought while what is here is being used.
    private func readAhead(from chunk: Int, before last: Int) async throws {
        guard pattern.reach > 0 else { return }
        let known = held.map(\.chunks.upperBound).max() ?? chunk
        let start = max(known, chunk)
        guard start < last, start - chunk < pattern.reach / 2 else { return }
        let end = min(last, start + pattern.nextReach)
        guard let fetch = try await reads.bringAhead(start..<end, cost) else { return }
        keep(fetch)
        fetch.release(.soon)
    }

    /// The transfers that go on for this reader, for tests.
    var ahead: [RangeFetch] { held.filter(\.isOpen) }
    /// The chunks that they bring.
    var readsAhead: [Range<Int>] { ahead.map(\.chunks) }

    /// What is held in memory of them.
    var windowBytes: Int { held.reduce(0) { $0 + $1.window.byteCount } }

    private func keep(_ fetch: RangeFetch) {
        guard !held.contains(where: { $0 === fetch }) else { return }
        fetch.hold()
        held.append(fetch)
        pattern.asked()
    }

    private func letGo(_ isUseless: (Range<Int>) -> Bool) {
        for fetch in held where isUseless(fetch.chunks) { fetch.release(.soon) }
        held.removeAll { isUseless($0.chunks) }
    }
}
