/// Writes and reads base64url without padding; reading is strict: canonical text or nothing.
package enum Base64URL {
    /// Answers how many characters `count` bytes take.
    package static func encodedCount(_ count: Int) -> Int { count / 3 * 4 + [0, 2, 3][count % 3] }

    /// Answers how many bytes `count` characters hold; nil for a length that no text has.
    package static func decodedCount(_ count: Int) -> Int? {
        count % 4 == 1 ? nil : count / 4 * 3 + max(count % 4 - 1, 0)
    }

    /// Appends the text of `bytes`.
    package static func encode(_ bytes: Span<UInt8>, appendingTo out: inout [UInt8]) {
        // Adding nothing would still write to the storage that all empty arrays share.
        guard bytes.count > 0 else { return }
        out.append(addingCapacity: encodedCount(bytes.count)) { out in
            out.withUnsafeMutableBufferPointer { buffer, initialized in
                guard let start = buffer.baseAddress else { return }
                initialized += bytes.withUnsafeBufferPointer { encode($0, to: start + initialized) }
            }
        }
    }

    /// Answers the text of `bytes`.
    package static func encode(_ bytes: Span<UInt8>) -> String {
        var out: [UInt8] = []
        encode(bytes, appendingTo: &out)
        return String(decoding: out, as: UTF8.self)
    }

    /// Reads `text` into `out`, which must be exactly as long as `decodedCount` says.
    ///
    /// False for text that is not canonical; `out` then holds nothing of use.
    package static func decode(_ text: Span<UInt8>, into out: inout MutableSpan<UInt8>) -> Bool {
        guard let count = decodedCount(text.count) else { return false }
        precondition(out.count == count)
        return out.withPointer { out, _ in text.withUnsafeBufferPointer { decode($0, to: out) } }
    }

    /// Appends what `text` holds; if it is not canonical, the answer is false and nothing is added.
    package static func decode(_ text: Span<UInt8>, appendingTo bytes: inout [UInt8]) -> Bool {
        guard let count = decodedCount(text.count) else { return false }
        guard count > 0 else { return true }
        var valid = true
        bytes.append(addingCapacity: count) { out in
            out.withUnsafeMutableBufferPointer { buffer, initialized in
                guard let start = buffer.baseAddress else { return }
                valid = text.withUnsafeBufferPointer { decode($0, to: start + initialized) }
                if valid { initialized += count }
            }
        }
        return valid
    }

    /// Answers what `text` holds; nil if it is not canonical.
    package static func decode(_ text: Span<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        return decode(text, appendingTo: &bytes) ? bytes : nil
    }

    private static func encode(
        _ bytes: UnsafeBufferPointer<UInt8>, to out: UnsafeMutablePointer<UInt8>
    ) -> Int {
        let pairs = Tables.pairs
        let characters = Tables.characters
        var read = 0
        var written = 0
        while read + 3 <= bytes.count {
            let word = Int(bytes[read]) << 16 | Int(bytes[read + 1]) << 8 | Int(bytes[read + 2])
            let target = UnsafeMutableRawPointer(out + written)
            target.storeBytes(of: pairs[word >> 12], as: UInt16.self)
            target.storeBytes(of: pairs[word & 0xFFF], toByteOffset: 2, as: UInt16.self)
            read += 3
            written += 4
        }
        if bytes.count - read == 1 {
            out[written] = characters[Int(bytes[read] >> 2)]
            out[written + 1] = characters[Int(bytes[read] & 3) << 4]
            written += 2
        } else if bytes.count - read == 2 {
            let word = Int(bytes[read]) << 8 | Int(bytes[read + 1])
            out[written] = characters[word >> 10]
            out[written + 1] = characters[word >> 4 & 63]
            out[written + 2] = characters[(word & 15) << 2]
            written += 3
        }
        return written
    }

    private static func decode(
        _ text: UnsafeBufferPointer<UInt8>, to out: UnsafeMutablePointer<UInt8>
    ) -> Bool {
        let values = Tables.values
        var read = 0
        var written = 0
        var seen: UInt32 = 0
        while read + 4 <= text.count {
            // One table a place in the group, each value shifted to where it belongs.
            let word =
                values[Int(text[read])] | values[256 + Int(text[read + 1])]
                | values[512 + Int(text[read + 2])] | values[768 + Int(text[read + 3])]
            seen |= word
            out[written] = UInt8(truncatingIfNeeded: word >> 16)
            out[written + 1] = UInt8(truncatingIfNeeded: word >> 8)
            out[written + 2] = UInt8(truncatingIfNeeded: word)
            read += 4
            written += 3
        }
        if text.count - read >= 2 {
            var word = values[Int(text[read])] | values[256 + Int(text[read + 1])]
            if text.count - read == 3 { word |= values[512 + Int(text[read + 2])] }
            seen |= word
            out[written] = UInt8(truncatingIfNeeded: word >> 16)
            // The bits that no byte takes must be zero, or two texts would mean the same bytes.
            var rest = word & 0xFFFF
            if text.count - read == 3 {
                out[written + 1] = UInt8(truncatingIfNeeded: word >> 8)
                rest = word & 0xFF
            }
            if rest != 0 { return false }
        }
        return seen & Tables.invalid == 0
    }

    // Plain memory that is made once and never freed: an array would check bounds in the loops.
    private enum Tables {
        static let invalid: UInt32 = 1 << 31

        nonisolated(unsafe) static let characters: UnsafePointer<UInt8> = {
            let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
            let table = UnsafeMutablePointer<UInt8>.allocate(capacity: 64)
            for (value, character) in alphabet.utf8.enumerated() { table[value] = character }
            return UnsafePointer(table)
        }()

        // The two characters of 12 bits, in the order in which memory has them.
        nonisolated(unsafe) static let pairs: UnsafePointer<UInt16> = {
            let table = UnsafeMutablePointer<UInt16>.allocate(capacity: 4096)
            for value in 0..<4096 {
                let pair = UInt16(characters[value >> 6]) << 8 | UInt16(characters[value & 63])
                table[value] = UInt16(bigEndian: pair)
            }
            return UnsafePointer(table)
        }()

        nonisolated(unsafe) static let values: UnsafePointer<UInt32> = {
            let table = UnsafeMutablePointer<UInt32>.allocate(capacity: 1024)
            table.initialize(repeating: invalid, count: 1024)
            for value in 0..<64 {
                for place in 0..<4 {
                    table[256 * place + Int(characters[value])] =
                        UInt32(value) << (6 * (3 - place))
                }
            }
            return UnsafePointer(table)
        }()
    }
}
