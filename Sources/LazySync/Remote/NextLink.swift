/// The `Link` header's way to the next page (RFC 8288), as far as it is worth reading.
enum NextLink {
    /// The page token in a `rel="next"` link; nil if there is none that can be read.
    ///
    /// It only lets the next page be asked for early: the body's own `next` decides.
    static func page(_ header: String) -> String? {
        for link in header.split(separator: ",") {
            let parts = link.split(separator: ";").map { $0.trimmed }
            guard let target = parts.first, target.hasPrefix("<"), target.hasSuffix(">"),
                parts.dropFirst().contains(where: { $0 == "rel=\"next\"" || $0 == "rel=next" })
            else { continue }
            let query = target.dropFirst().dropLast().split(separator: "?", maxSplits: 1).last ?? ""
            for field in query.split(separator: "&") where field.hasPrefix("page=") {
                return String(field.dropFirst(5)).percentUnescaped
            }
        }
        return nil
    }
}

extension Substring {
    /// Without spaces and tabs at its ends.
    var trimmed: Substring {
        var text = self
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}

extension String {
    /// Escapes everything but RFC 3986's unreserved characters.
    var percentEscaped: String {
        let digits = Array("0123456789ABCDEF")
        var escaped = ""
        for byte in utf8 {
            switch byte {
            case 48...57, 65...90, 97...122, 45, 46, 95, 126:
                escaped.unicodeScalars.append(Unicode.Scalar(byte))
            default: escaped += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
        return escaped
    }

    /// Undoes percent-escapes; nil if one is broken or the result is not UTF-8.
    var percentUnescaped: String? {
        var bytes: [UInt8] = []
        var rest = Array(utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(Self.digit),
                let low = rest.popFirst().flatMap(Self.digit)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 48...57: byte - 48
        case 65...70: byte - 55
        case 97...102: byte - 87
        default: nil
        }
    }
}
