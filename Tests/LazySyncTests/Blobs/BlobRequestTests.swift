import SyncPlatform
import Testing

@testable import LazySync

/// Which bytes are asked for, and what is made of those that come.
@Suite struct BlobRequestTests {
    /// Lengths around every edge of the format, up to beyond 32 bits.
    static let lengths: [UInt64] = [
        0, 1, 15, 16, 17, 65_535, 65_536, 65_537, 131_071, 131_072, 131_073, 5 << 20,
        (4 << 30) - 1, 4 << 30, (4 << 30) + 1,
    ]

    @Test(arguments: lengths)
    func `a request for all chunks is the whole blob, to the last byte`(length: UInt64) throws {
        let geometry = try #require(BlobGeometry(length: length))
        let all = geometry.request(for: 0..<geometry.chunkCount, withHeader: true)
        #expect(all == 0...(geometry.sealedLength - 1))
        #expect(geometry.sealedLength == 40 + length + 16 * UInt64(geometry.chunkCount))
        let bare = geometry.request(for: 0..<geometry.chunkCount, withHeader: false)
        #expect(bare == 40...(geometry.sealedLength - 1))
    }

    @Test(arguments: lengths)
    func `requests for parts lie beside each other without a gap`(length: UInt64) throws {
        let geometry = try #require(BlobGeometry(length: length))
        let random = SeededRandom(seed: length)
        for _ in 0..<50 {
            let cut = random.number(below: geometry.chunkCount)
            guard cut > 0 else { continue }
            let low = geometry.request(for: 0..<cut, withHeader: true)
            let high = geometry.request(for: cut..<geometry.chunkCount, withHeader: false)
            #expect(low.upperBound + 1 == high.lowerBound)
            #expect(geometry.chunk(at: high.lowerBound) == cut)
            #expect(geometry.chunk(at: high.lowerBound - 1) == cut - 1)
            #expect(low.upperBound == geometry.sealedRange(cut - 1).upperBound - 1)
        }
    }

    @Test(arguments: lengths)
    func `an offset is in the chunk whose sealed bytes hold it`(length: UInt64) throws {
        let geometry = try #require(BlobGeometry(length: length))
        #expect(geometry.chunk(at: 0) == 0 && geometry.chunk(at: 39) == 0)
        let random = SeededRandom(seed: length ^ 7)
        for chunk in [0, geometry.chunkCount - 1]
            + (0..<50).map({ _ in random.number(below: geometry.chunkCount) })
        {
            let range = geometry.sealedRange(chunk)
            #expect(geometry.chunk(at: range.lowerBound) == chunk)
            #expect(geometry.chunk(at: range.upperBound - 1) == chunk)
        }
        #expect(geometry.chunk(at: geometry.sealedLength) <= geometry.chunkCount)
        #expect(geometry.chunk(at: .max) == geometry.chunkCount)
    }

    @Test(arguments: lengths)
    func `whole bytes end where a chunk ends, and lose less than a chunk`(length: UInt64) throws {
        let geometry = try #require(BlobGeometry(length: length))
        let random = SeededRandom(seed: length ^ 11)
        for _ in 0..<200 {
            let first = random.number(below: geometry.chunkCount)
            let start = random.number(below: 2) == 0 ? 0 : geometry.sealedRange(first).lowerBound
            let count = random.number(below: 300_000)
            let whole = geometry.wholeBytes(from: start, count: count)
            #expect(whole >= 0 && whole <= count)
            let end = start + UInt64(count)
            if end >= geometry.sealedLength {
                #expect(whole == count)
                continue
            }
            let boundary = start + UInt64(whole)
            let isBoundary =
                boundary == start
                || geometry.sealedRange(geometry.chunk(at: boundary)).lowerBound == boundary
            #expect(isBoundary, "\(start) + \(count) of \(length)")
            #expect(count - whole < 65_552 || (start == 0 && count < 40))
        }
    }

    @Test(arguments: lengths)
    func `the plain bytes of some chunks are what those chunks hold`(length: UInt64) throws {
        let geometry = try #require(BlobGeometry(length: length))
        var chunks = ChunkSet(count: geometry.chunkCount)
        #expect(geometry.plainBytes(of: chunks) == 0)
        let random = SeededRandom(seed: length ^ 13)
        var expected: Int64 = 0
        for chunk in Set(
            [geometry.chunkCount - 1]
                + (0..<100).map { _ in random.number(below: geometry.chunkCount) })
        {
            chunks.insert(chunk)
            expected += Int64(geometry.plainSize(chunk))
            #expect(geometry.plainBytes(of: chunks) == expected)
        }
        #expect(expected <= Int64(length))
    }

    @Test func `progress ends at all bytes, never above`() throws {
        for length in Self.lengths where length < 1 << 30 {
            let geometry = try #require(BlobGeometry(length: length))
            var chunks = ChunkSet(count: geometry.chunkCount)
            for chunk in 0..<geometry.chunkCount { chunks.insert(chunk) }
            #expect(geometry.plainBytes(of: chunks) == Int64(length))
        }
    }
}

/// The set of the chunks that are here.
@Suite struct ChunkSetTests {
    @Test(arguments: [1, 2, 63, 64, 65, 127, 128, 129, 1000])
    func `the first missing run is the first that a list of flags has`(count: Int) {
        let random = SeededRandom(seed: UInt64(count))
        for _ in 0..<100 {
            var set = ChunkSet(count: count)
            var flags = [Bool](repeating: false, count: count)
            for _ in 0..<random.number(below: count + 1) {
                let chunk = random.number(below: count)
                set.insert(chunk)
                flags[chunk] = true
            }
            let start = flags.firstIndex(of: false)
            let run = start.map { $0..<(flags[$0...].firstIndex(of: true) ?? count) }
            #expect(set.firstMissingRun == run)
            #expect(set.present == flags.count { $0 })
            #expect(set.isComplete == (run == nil))
            #expect((0..<count).allSatisfy { set.contains($0) == flags[$0] })
        }
    }

    @Test func `a chunk counts once`() {
        var set = ChunkSet(count: 3)
        for _ in 0..<3 { set.insert(1) }
        #expect(set.present == 1 && set.firstMissingRun == 0..<1)
    }
}

/// When a verb waits, and when it gives up.
@Suite struct BackoffTests {
    @Test func `waits double from 250 ms to 30 s, anywhere below`() {
        let policy = Backoff()
        var random = SystemRandomNumberGenerator()
        for (attempt, most) in [
            (1, 0.25), (2, 0.5), (3, 1), (4, 2), (7, 16), (8, 30), (9, 30), (1_000, 30),
            (0, 0.25), (-5, 0.25),
        ] {
            for _ in 0..<50 {
                let wait = policy.delay(after: attempt, using: &random)
                #expect(wait >= .zero && wait <= .seconds(most))
            }
        }
    }

    @Test func `eight tries without progress are all, and progress begins a new count`() {
        let policy = Backoff()
        var attempts = Attempts()
        for count in 1...8 {
            #expect(!attempts.isOver(policy))
            attempts.count(progress: false, connectionFailed: false)
            #expect(attempts.withoutProgress == count)
        }
        #expect(attempts.isOver(policy))
        attempts.count(progress: true, connectionFailed: false)
        #expect(!attempts.isOver(policy))
    }

    @Test func `three failed connections in a row are all, others between them are not`() {
        let policy = Backoff()
        var attempts = Attempts()
        attempts.count(progress: false, connectionFailed: true)
        attempts.count(progress: false, connectionFailed: true)
        attempts.count(progress: false, connectionFailed: false)
        #expect(!attempts.isOver(policy))
        for _ in 0..<2 { attempts.count(progress: false, connectionFailed: true) }
        attempts.count(progress: true, connectionFailed: true)
        #expect(!attempts.isOver(policy))
        for _ in 0..<2 { attempts.count(progress: false, connectionFailed: true) }
        #expect(attempts.isOver(policy))
    }
}
