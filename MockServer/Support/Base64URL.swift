import Foundation

/// Base64url without padding, the form of every binary value on the wire.
enum Base64URL {
    /// Encodes `bytes`.
    static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text = [UInt8](Data(bytes).base64EncodedData())
        while text.last == UInt8(ascii: "=") { text.removeLast() }
        for index in text.indices {
            switch text[index] {
            case UInt8(ascii: "+"): text[index] = UInt8(ascii: "-")
            case UInt8(ascii: "/"): text[index] = UInt8(ascii: "_")
            default: break
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes canonical text, and nothing else.
    static func decode(_ text: String) -> [UInt8]? {
        // Byte by byte: replacing in strings took as long as all else that a push costs.
        var padded = Array(text.utf8)
        for index in padded.indices {
            switch padded[index] {
            case UInt8(ascii: "-"): padded[index] = UInt8(ascii: "+")
            case UInt8(ascii: "_"): padded[index] = UInt8(ascii: "/")
            default: break
            }
        }
        padded += [UInt8](repeating: UInt8(ascii: "="), count: (4 - padded.count % 4) % 4)
        guard let data = Data(base64Encoded: Data(padded)) else { return nil }
        // Foundation takes text whose last bits are not zero; the round trip does not.
        return encode(data) == text ? [UInt8](data) : nil
    }
}

extension Sequence<UInt8> {
    /// Two lower-case hex digits a byte.
    var hex: String {
        map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
