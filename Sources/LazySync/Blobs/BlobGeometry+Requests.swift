/// What to ask for, and what to make of what comes, in whole chunks.
extension BlobGeometry {
    /// The chunk that a sealed offset is in; `chunkCount` beyond the last.
    func chunk(at sealedOffset: UInt64) -> Int {
        guard sealedOffset >= UInt64(Self.headerSize) else { return 0 }
        let chunk = (sealedOffset - UInt64(Self.headerSize)) / UInt64(Self.chunkSize + Self.tagSize)
        return min(Int(chunk), chunkCount)
    }

    /// How many of `count` bytes from a sealed offset on end where a chunk ends.
    ///
    /// What is beyond the end of the blob counts as its last chunk's, whose reader stops in time.
    func wholeBytes(from start: UInt64, count: Int) -> Int {
        let end = start + UInt64(count)
        if end >= sealedLength { return count }
        let boundary = sealedRange(chunk(at: end)).lowerBound
        return boundary > start && boundary <= end ? Int(boundary - start) : 0
    }

    /// The sealed bytes of chunks in a row; from the very first byte if the header must come too.
    func request(for chunks: Range<Int>, withHeader: Bool) -> ClosedRange<UInt64> {
        let first = withHeader ? 0 : sealedRange(chunks.lowerBound).lowerBound
        return first...(sealedRange(chunks.upperBound - 1).upperBound - 1)
    }

    /// The plaintext bytes of the chunks in a set.
    func plainBytes(of chunks: ChunkSet) -> Int64 {
        guard chunks.present > 0 else { return 0 }
        let last = chunkCount - 1
        let missing = chunks.contains(last) ? Self.chunkSize - plainSize(last) : 0
        return Int64(chunks.present) * Int64(Self.chunkSize) - Int64(missing)
    }
}
