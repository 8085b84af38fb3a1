/// Writes and reads hexadecimal, lower case only.
package enum Hex {
    private static let digits: [UInt8] = Array("0123456789abcdef".utf8)
    // What each byte stands for as a digit; 255 for what is none.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, digit) in digits.enumerated() { values[Int(digit)] = UInt8(value) }
        return values
    }()

    /// Appends two digits a byte.
    package static func encode(_ bytes: Span<UInt8>, appendingTo out: inout [UInt8]) {
        out.reserveCapacity(out.count + 2 * bytes.count)
        for index in bytes.indices {
            out.append(digits[Int(bytes[index] >> 4)])
            out.append(digits[Int(bytes[index] & 15)])
        }
    }

    /// Answers two digits a byte, as text.
    package static func encode(_ bytes: Span<UInt8>) -> String {
        var out: [UInt8] = []
        encode(bytes, appendingTo: &out)
        return String(decoding: out, as: UTF8.self)
    }

    /// Reads eight bytes out of sixteen digits from `start` on; nil if one of them is no digit.
    package static func decode64(_ text: Span<UInt8>, at start: Int) -> UInt64? {
        guard start >= 0, text.count - start >= 16 else { return nil }
        var number: UInt64 = 0
        var seen: UInt8 = 0
        for index in start..<(start + 16) {
            let value = values[Int(text[index])]
            seen |= value
            number = number << 4 | UInt64(value & 15)
        }
        return seen < 16 ? number : nil
    }

    /// Reads text of an even number of digits; nil for anything else.
    package static func decode(_ text: Span<UInt8>) -> [UInt8]? {
        guard text.count.isMultiple(of: 2) else { return nil }
        var out: [UInt8] = []
        out.reserveCapacity(text.count / 2)
        for index in stride(from: 0, to: text.count, by: 2) {
            let high = values[Int(text[index])]
            let low = values[Int(text[index + 1])]
            guard high | low < 16 else { return nil }
            out.append(high << 4 | low)
        }
        return out
    }
}
