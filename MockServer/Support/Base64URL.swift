import Foundation

/// Base64url without padding, the form of every binary value on the wire.
enum Base64URL {
    /// Encodes `bytes`.
    static func encode(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString()
            .replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }

    /// Decodes canonical text, and nothing else.
    static func decode(_ text: String) -> [UInt8]? {
        var padded = text.replacingOccurrences(of: "-", with: "+")
            .replacingOccurrences(of: "_", with: "/")
        padded += String(repeating: "=", count: (4 - padded.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: padded) else { return nil }
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
