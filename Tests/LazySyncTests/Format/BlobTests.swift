import SyncPlatform
import Testing

@testable import LazySync

@Suite struct BlobTests {
    private let blob = Vectors.all.blob

    @Test func `the largest blob is laid out without an overflow, and a larger one is none`() throws
    {
        let geometry = try #require(BlobGeometry(length: 1 << 48))
        #expect(geometry.chunkCount == 1 << 32)
        #expect(geometry.sealedLength == 40 + (1 << 48) + 16 << 32)
        let last = geometry.chunkCount - 1
        #expect(geometry.isLast(last) && geometry.plainSize(last) == 65_536)
        #expect(geometry.sealedRange(last).upperBound == geometry.sealedLength)
        #expect(BlobGeometry(length: (1 << 48) + 1) == nil)
        #expect(BlobGeometry(length: .max) == nil)
    }

    @Test func `a range of the plaintext is in the chunks that hold it`() throws {
        let geometry = try #require(BlobGeometry(length: 200_000))
        for (range, chunks) in [
            (0..<1, 0..<1), (65_535..<65_536, 0..<1), (65_535..<65_537, 0..<2),
            (65_536..<131_072, 1..<2), (199_999..<200_000, 3..<4), (0..<UInt64.max, 0..<4),
            (200_000..<300_000, 0..<0), (5..<5, 0..<0),
        ] as [(Range<UInt64>, Range<Int>)] {
            #expect(geometry.chunks(holding: range) == chunks)
        }
        let empty = try #require(BlobGeometry(length: 0))
        #expect(empty.chunkCount == 1 && empty.plainSize(0) == 0 && empty.isLast(0))
        #expect(empty.chunks(holding: 0..<10).isEmpty)
    }

    @Test func `a source that is longer or shorter than it should be makes no blob`() throws {
        for length in [0, 1, 65_536, 65_537] {
            let geometry = try #require(BlobGeometry(length: UInt64(length)))
            var out: [UInt8] = []
            var long = BlobSealer(blob, geometry: geometry)
            let tooMuch = Vectors.pattern(length + 1)
            #expect(throws: FormatError(.length, "seal a blob")) {
                try long.append(tooMuch.span, to: &out)
                try long.finish(to: &out)
            }
            guard length > 0 else { continue }
            var short = BlobSealer(blob, geometry: geometry)
            let tooLittle = Vectors.pattern(length - 1)
            #expect(throws: FormatError(.length, "seal a blob")) {
                try short.append(tooLittle.span, to: &out)
                try short.finish(to: &out)
            }
        }
    }

    @Test func `a header says what is wrong with it`() {
        let header = [UInt8](copying: blob.header.span)
        var other = header
        other[39] ^= 1
        #expect(throws: SealedBlob.HeaderProblem.commitment) { try blob.check(header: other.span) }
        other[6] = 1
        #expect(throws: SealedBlob.HeaderProblem.unknown) { try blob.check(header: other.span) }
        #expect(throws: SealedBlob.HeaderProblem.unknown) {
            try blob.check(header: header.span.extracting(0..<39))
        }
        #expect(throws: SealedBlob.HeaderProblem.unknown) { try blob.check(header: Span()) }
        #expect(throws: Never.self) { try blob.check(header: header.span) }
    }

    @Test func `a chunk of the cache is proved by its tag, and by no other chunk's`() throws {
        let geometry = try #require(BlobGeometry(length: 131_100))
        let plaintext = Vectors.pattern(131_100)
        var sealed: [UInt8] = []
        var sealer = BlobSealer(blob, geometry: geometry)
        try sealer.append(plaintext.span, to: &sealed)
        try sealer.finish(to: &sealed)
        var scratch: [UInt8] = []
        for chunk in 0..<geometry.chunkCount {
            let plain = geometry.plainRange(chunk)
            let text = plaintext.span.extracting(Int(plain.lowerBound)..<Int(plain.upperBound))
            for other in 0..<geometry.chunkCount {
                let end = Int(geometry.sealedRange(other).upperBound)
                let tag = sealed.span.extracting((end - 16)..<end)
                let proves = blob.proves(
                    chunk: chunk, of: geometry, text, tag: tag, scratch: &scratch)
                #expect(proves == (chunk == other))
            }
            let cut = text.extracting(1...)
            let proves = blob.proves(
                chunk: chunk, of: geometry, cut, tag: sealed.span.extracting(0..<16),
                scratch: &scratch)
            #expect(!proves)
        }
    }

    @Test func `a chunk beyond the end or of another length opens nothing`() throws {
        let geometry = try #require(BlobGeometry(length: 10))
        var plaintext = [UInt8](repeating: 0, count: 10)
        let sealed = [UInt8](repeating: 0, count: 27)
        for (chunk, count) in [(0, 25), (0, 27), (1, 26), (1 << 40, 26), (0, 0)] {
            var span = plaintext.mutableSpan
            let part = sealed.span.extracting(0..<count)
            let opens = blob.open(chunk: chunk, of: geometry, part, into: &span)
            #expect(!opens)
        }
    }
}
