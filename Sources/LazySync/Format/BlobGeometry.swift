/// Where the parts of a sealed blob are, by the length of what is in it.
struct BlobGeometry: Sendable, Equatable {
    /// How much of the plaintext a chunk holds; only the last holds less.
    static let chunkSize = 65_536
    /// How much longer a sealed chunk is.
    static let tagSize = 16
    /// The bytes before the first chunk.
    static let headerSize = 40
    /// The largest plaintext that the format allows.
    static let maximumLength: UInt64 = 1 << 48

    /// The length of the plaintext.
    let length: UInt64

    /// Lays out a plaintext of `length` bytes; nil for one that the format does not allow.
    ///
    /// Within that bound nothing here can overflow.
    init?(length: UInt64) {
        guard length <= Self.maximumLength else { return nil }
        self.length = length
    }

    /// The number of chunks; an empty plaintext has one too.
    var chunkCount: Int {
        max(1, Int((length + UInt64(Self.chunkSize) - 1) / UInt64(Self.chunkSize)))
    }

    /// The exact length of the sealed blob.
    var sealedLength: UInt64 {
        UInt64(Self.headerSize) + length + UInt64(Self.tagSize) * UInt64(chunkCount)
    }

    /// Tells whether a chunk is the last one, which is sealed as such.
    func isLast(_ chunk: Int) -> Bool { chunk == chunkCount - 1 }

    /// Answers which bytes of the plaintext a chunk holds.
    func plainRange(_ chunk: Int) -> Range<UInt64> {
        let start = UInt64(chunk) * UInt64(Self.chunkSize)
        return start..<min(start + UInt64(Self.chunkSize), length)
    }

    /// Answers how many bytes of the plaintext a chunk holds.
    func plainSize(_ chunk: Int) -> Int { plainRange(chunk).count }

    /// Answers where a chunk is in the sealed blob.
    func sealedRange(_ chunk: Int) -> Range<UInt64> {
        let start = UInt64(Self.headerSize) + UInt64(chunk) * UInt64(Self.chunkSize + Self.tagSize)
        return start..<(start + UInt64(plainSize(chunk) + Self.tagSize))
    }

    /// Answers the chunks that hold a part of the plaintext; what is beyond the end is left out.
    func chunks(holding range: Range<UInt64>) -> Range<Int> {
        let range = range.clamped(to: 0..<length)
        guard !range.isEmpty else { return 0..<0 }
        let first = Int(range.lowerBound / UInt64(Self.chunkSize))
        return first..<(Int((range.upperBound - 1) / UInt64(Self.chunkSize)) + 1)
    }
}
