internal import SyncPlatform

/// Writes and reads a recovery key as a person has it on paper: 52 characters and one to check.
///
/// Crockford's base32, most significant bit first, four zero bits at the end; the last character
/// is the 256-bit number modulo 37.
enum RecoveryKey {
    private static let alphabet: [UInt8] = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ*~$=U".utf8)
    private static let characterCount = 53

    /// Answers the text of a 32-byte key, without hyphens.
    static func text(_ key: SecretBytes) -> String {
        let characters = key.withBytes { key in
            precondition(key.count == 32)
            var characters: [UInt8] = []
            for place in 0..<52 {
                var value = 0
                for bit in (5 * place)..<(5 * place + 5) {
                    let isSet = bit < 256 && key[bit / 8] >> (7 - bit % 8) & 1 == 1
                    value = value << 1 | (isSet ? 1 : 0)
                }
                characters.append(alphabet[value])
            }
            characters.append(alphabet[check(key)])
            return characters
        }
        return String(decoding: characters, as: UTF8.self)
    }

    /// Reads a key; hyphens and case do not matter, and O, I, L are 0, 1, 1.
    ///
    /// - Throws: `FormatError`: `text` for what is not one, or is mistyped.
    static func parse(_ text: Span<UInt8>) throws(FormatError) -> SecretBytes {
        let operation = "read a recovery key"
        var values: [UInt8] = []
        // Room at once, so that growing leaves no copies behind.
        values.reserveCapacity(text.count)
        for index in text.indices where text[index] != UInt8(ascii: "-") {
            guard let value = value(text[index]) else { throw FormatError(.text, operation) }
            values.append(value)
        }
        defer { ConstantTime.wipe(&values) }
        guard values.count == characterCount, values.dropLast().allSatisfy({ $0 < 32 }),
            // 52 characters are 260 bits; the last four belong to nobody.
            values[51] & 15 == 0
        else { throw FormatError(.text, operation) }
        let key = SecretBytes(count: 32) { key in
            for bit in 0..<256 {
                let isSet = values[bit / 5] >> (4 - bit % 5) & 1
                key[bit / 8] |= isSet << (7 - bit % 8)
            }
        }
        guard key.withBytes({ check($0) }) == Int(values[52]) else {
            throw FormatError(.text, operation)
        }
        return key
    }

    private static func check(_ key: Span<UInt8>) -> Int {
        var rest = 0
        for index in key.indices { rest = (rest << 8 | Int(key[index])) % 37 }
        return rest
    }

    private static func value(_ character: UInt8) -> UInt8? {
        let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(character)
        let upper = isLetter ? character & 0xDF : character
        switch upper {
        case UInt8(ascii: "O"): return 0
        case UInt8(ascii: "I"), UInt8(ascii: "L"): return 1
        default: return alphabet.firstIndex(of: upper).map { UInt8($0) }
        }
    }
}
