/// Which chunks of a blob are here: one bit a chunk.
struct ChunkSet: Sendable, Hashable {
    let count: Int
    private var words: [UInt64]
    private(set) var present = 0

    /// None of `count` chunks.
    init(count: Int) {
        self.count = count
        words = [UInt64](repeating: 0, count: (count + 63) / 64)
    }

    var isComplete: Bool { present == count }

    func contains(_ chunk: Int) -> Bool { words[chunk >> 6] >> UInt64(chunk & 63) & 1 == 1 }

    mutating func insert(_ chunk: Int) {
        if !contains(chunk) { present += 1 }
        words[chunk >> 6] |= 1 << UInt64(chunk & 63)
    }

    /// The first run of chunks that are not here; nil if all are.
    var firstMissingRun: Range<Int>? {
        guard let start = (0..<count).first(where: { !contains($0) }) else { return nil }
        return start..<((start..<count).first(where: contains) ?? count)
    }
}
