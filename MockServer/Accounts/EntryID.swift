/// An entry's id, 16 bytes, compared as bytes.
struct EntryID: Hashable, Comparable, Sendable {
    let high: UInt64
    let low: UInt64

    /// Reads 32 lower-case hex digits.
    init?(hex: some Collection<UInt8>) {
        guard hex.count == 32 else { return nil }
        var halves: (UInt64, UInt64) = (0, 0)
        for (index, digit) in hex.enumerated() {
            let value: UInt64
            switch digit {
            case 0x30...0x39: value = UInt64(digit - 0x30)
            case 0x61...0x66: value = UInt64(digit - 0x61 + 10)
            default: return nil
            }
            if index < 16 {
                halves.0 = halves.0 << 4 | value
            } else {
                halves.1 = halves.1 << 4 | value
            }
        }
        (high, low) = halves
    }

    init?(_ text: String) { self.init(hex: text.utf8) }

    /// The 32 digits.
    var hex: String {
        func digits(_ half: UInt64) -> String {
            let text = String(half, radix: 16)
            return String(repeating: "0", count: 16 - text.utf8.count) + text
        }
        return digits(high) + digits(low)
    }

    static func < (left: EntryID, right: EntryID) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}
