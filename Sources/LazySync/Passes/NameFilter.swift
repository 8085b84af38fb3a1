internal import SyncPlatform

/// Remembers which records are named, in a few MiB however many they are.
///
/// What it does not know is named by nothing, for certain. Of those that nothing names it takes some
/// for known, one in a hundred or so; with another seed the next time, those are others.
struct NameFilter {
    private var bits: [UInt64]
    private let seed: UInt64

    /// How many bits stand for a name.
    private static let probes: UInt64 = 7
    private static let words = 1 << 19

    init(seed: UInt64) {
        self.seed = seed
        bits = [UInt64](repeating: 0, count: Self.words)
    }

    mutating func insert(_ name: Span<UInt8>) {
        Self.forEachPlace(of: name, seed) { word, bit in
            bits[word] |= bit
            return true
        }
    }

    /// False: nothing names it.
    func mayContain(_ name: Span<UInt8>) -> Bool {
        Self.forEachPlace(of: name, seed) { word, bit in bits[word] & bit != 0 }
    }

    /// Goes over the bits of a name, as long as `body` says so; whether it went over all.
    ///
    /// It has no hold on the bits: whoever changes them would copy them all.
    @discardableResult
    private static func forEachPlace(
        of name: Span<UInt8>, _ seed: UInt64, _ body: (Int, UInt64) -> Bool
    ) -> Bool {
        // Names are chosen by clients: with a seed that nobody knows, none can be made to collide.
        var message: [UInt8] = []
        message.append(bigEndian: seed)
        message.append(copying: name)
        let hash = Hash.blake2b256(message.span)
        let first = hash.span.bigEndian(at: 0, as: UInt64.self)
        let second = hash.span.bigEndian(at: 8, as: UInt64.self) | 1
        for probe in 0..<probes {
            let place = (first &+ probe &* second) % UInt64(words * 64)
            guard body(Int(place / 64), 1 << (place % 64)) else { return false }
        }
        return true
    }
}
