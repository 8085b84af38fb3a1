/// Which chunks of a blob, or of a part of it, are here: one bit a chunk.
struct ChunkSet: Sendable, Hashable {
    /// The chunks that it is about.
    let range: Range<Int>
    private var words: [UInt64]
    private(set) var present = 0

    /// None of these chunks.
    init(_ range: Range<Int>) {
        self.range = range
        words = [UInt64](repeating: 0, count: (range.count + 63) / 64)
    }

    /// None of `count` chunks from the first on.
    init(count: Int) {
        self.init(0..<count)
    }

    var count: Int { range.count }
    var isComplete: Bool { present == count }

    /// Whether a chunk is here; false for one that it is not about.
    func contains(_ chunk: Int) -> Bool {
        guard range.contains(chunk) else { return false }
        let bit = chunk - range.lowerBound
        return words[bit >> 6] >> UInt64(bit & 63) & 1 == 1
    }

    mutating func insert(_ chunk: Int) {
        if !contains(chunk) { present += 1 }
        let bit = chunk - range.lowerBound
        words[bit >> 6] |= 1 << UInt64(bit & 63)
    }

    /// The first run of chunks that are not here; nil if all are.
    var firstMissingRun: Range<Int>? {
        guard let start = range.first(where: { !contains($0) }) else { return nil }
        return start..<((start..<range.upperBound).first(where: contains) ?? range.upperBound)
    }
}
