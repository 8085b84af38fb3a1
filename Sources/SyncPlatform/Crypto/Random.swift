import CSodium
import Synchronization

/// Fills bytes with randomness; handed in, so that a whole run can be repeated from one seed.
package protocol RandomSource: Sendable {
    /// Overwrites all of `bytes`.
    func fill(_ bytes: inout MutableSpan<UInt8>)
}

extension RandomSource {
    /// Answers `count` random bytes.
    package func bytes(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var span = bytes.mutableSpan
        fill(&span)
        return bytes
    }

    /// Answers a random key in guarded memory.
    package func secret(_ count: Int) -> SecretBytes {
        SecretBytes(count: count) { bytes in fill(&bytes) }
    }

    /// Answers a random number, all 64 bits of it.
    package func number() -> UInt64 {
        var bytes = InlineArray<8, UInt8>(repeating: 0)
        var span = bytes.mutableSpan
        fill(&span)
        var number: UInt64 = 0
        for index in bytes.indices { number = number << 8 | UInt64(bytes[index]) }
        return number
    }
}

/// Takes randomness from the operating system.
package struct SystemRandom: RandomSource {
    /// Makes the source; all instances are the same.
    package init() {}

    /// Overwrites all of `bytes`.
    package func fill(_ bytes: inout MutableSpan<UInt8>) {
        _ = Sodium.ready
        bytes.withPointer { randombytes_buf($0, $1) }
    }
}

/// Gives the same bytes for the same seed and the same order of calls; for tests and simulations.
package final class SeededRandom: RandomSource {
    private let seed: InlineArray<32, UInt8>
    private let calls = Atomic<UInt64>(0)

    /// Begins at the start of the seed's sequence.
    package init(seed: UInt64) {
        var text = InlineArray<8, UInt8>(repeating: 0)
        for index in text.indices { text[index] = UInt8(truncatingIfNeeded: seed >> (8 * index)) }
        self.seed = Hash.blake2b256(text.span)
    }

    /// Overwrites all of `bytes`.
    package func fill(_ bytes: inout MutableSpan<UInt8>) {
        let call = calls.wrappingAdd(1, ordering: .relaxed).newValue
        // Every call has a stream of its own: the hash of the seed and the call's number.
        var state = HashState()
        state.update(seed.span)
        var number = InlineArray<8, UInt8>(repeating: 0)
        for index in number.indices {
            number[index] = UInt8(truncatingIfNeeded: call >> (8 * index))
        }
        state.update(number.span)
        let streamSeed = state.finish()
        bytes.withPointer { bytes, length in
            streamSeed.span.withPointer { seed, _ in
                randombytes_buf_deterministic(bytes, length, seed)
            }
        }
    }
}
