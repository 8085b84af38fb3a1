import Glibc

/// Finds a key that an object has twice, and nesting that is too deep, in one walk over the tape.
///
/// Keys are compared as they are after unescaping. The work is linear in the document, times a
/// logarithm for objects of many keys, whatever the keys are.
struct JSONDuplicates {
    // Start of each key of the object at hand; kept for its memory.
    private var keys: [(word: UInt64, start: UnsafePointer<UInt8>)] = []

    /// Below this many keys, comparing each with each is the quickest.
    private static let few = 16

    mutating func check(
        _ tape: UnsafePointer<UInt64>, end: Int, strings: UnsafePointer<UInt8>, maxDepth: Int
    ) throws(JSONError) {
        var index = 1
        var depth = 0
        while index < end {
            switch UInt8(truncatingIfNeeded: tape[index] >> 56) {
            case UInt8(ascii: "{"):
                depth += 1
                try checkObject(tape, at: index, strings: strings)
                index += 1
            case UInt8(ascii: "["):
                depth += 1
                index += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                index += 1
            case UInt8(ascii: "l"), UInt8(ascii: "u"), UInt8(ascii: "d"):
                index += 2
            default:
                index += 1
            }
            if depth > maxDepth { throw JSONError(.tooDeep) }
        }
    }

    private mutating func checkObject(
        _ tape: UnsafePointer<UInt64>, at start: Int, strings: UnsafePointer<UInt8>
    ) throws(JSONError) {
        keys.removeAll(keepingCapacity: true)
        let end = Int(tape[start] & 0xFFFF_FFFF) - 1
        var index = start + 1
        while index < end {
            let string = strings + Int(tape[index] & 0x00FF_FFFF_FFFF_FFFF)
            keys.append((Self.word(string), string))
            let value = tape[index + 1]
            switch UInt8(truncatingIfNeeded: value >> 56) {
            case UInt8(ascii: "{"), UInt8(ascii: "["): index = Int(value & 0xFFFF_FFFF)
            case UInt8(ascii: "l"), UInt8(ascii: "u"), UInt8(ascii: "d"): index += 3
            default: index += 2
            }
        }
        guard keys.count > 1 else { return }
        let found = keys.count <= Self.few ? hasEqualAmongFew() : hasEqualAmongMany()
        if found { throw JSONError(.duplicateKey) }
    }

    /// A key's length and first four bytes: keys that differ here differ, and most do.
    private static func word(_ string: UnsafePointer<UInt8>) -> UInt64 {
        // A string is its length as a u32, its bytes, and a zero, with simdjson's padding behind
        // the last; so eight bytes can be read, and those beyond the end are cut away.
        let word = UnsafeRawPointer(string).loadUnaligned(as: UInt64.self)
        let kept = min(UInt64(truncatingIfNeeded: UInt32(truncatingIfNeeded: word)), 4)
        return kept == 4 ? word : word & ((1 << (32 + 8 * kept)) - 1)
    }

    private static func rest(
        _ left: UnsafePointer<UInt8>, _ right: UnsafePointer<UInt8>, _ word: UInt64
    ) -> Int32 {
        let length = Int(UInt32(truncatingIfNeeded: word))
        return length > 4 ? memcmp(left + 8, right + 8, length - 4) : 0
    }

    private func hasEqualAmongFew() -> Bool {
        keys.withUnsafeBufferPointer { keys in
            for later in 1..<keys.count {
                let key = keys[later]
                for earlier in 0..<later where keys[earlier].word == key.word {
                    if Self.rest(keys[earlier].start, key.start, key.word) == 0 { return true }
                }
            }
            return false
        }
    }

    private mutating func hasEqualAmongMany() -> Bool {
        // Sorted, equal keys are neighbours; no choice of keys makes that quadratic.
        keys.sort { left, right in
            left.word != right.word
                ? left.word < right.word : Self.rest(left.start, right.start, left.word) < 0
        }
        for later in 1..<keys.count where keys[later - 1].word == keys[later].word {
            if Self.rest(keys[later - 1].start, keys[later].start, keys[later].word) == 0 {
                return true
            }
        }
        return false
    }
}
