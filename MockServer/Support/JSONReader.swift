/// Reads one JSON text into a ``JSONTree``, front to back.
struct JSONReader {
    let bytes: [UInt8]
    private var at = 0
    private var depth = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The whole text, which must be one value and nothing else.
    mutating func document() throws(JSONTree.Malformed) -> JSONTree {
        let value = try value()
        skipSpace()
        guard at == bytes.count else { throw malformed("bytes after the end") }
        return value
    }

    private func malformed(_ reason: String) -> JSONTree.Malformed {
        JSONTree.Malformed(reason: reason, offset: at)
    }

    private var next: UInt8? { at < bytes.count ? bytes[at] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
            at += 1
        }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        at += 1
        return true
    }

    private mutating func value() throws(JSONTree.Malformed) -> JSONTree {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"):
            return try nested { reader throws(JSONTree.Malformed) in
                try reader.object()
            }
        case UInt8(ascii: "["):
            return try nested { reader throws(JSONTree.Malformed) in
                try reader.array()
            }
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func nested(
        _ body: (inout JSONReader) throws(JSONTree.Malformed) -> JSONTree
    ) throws(JSONTree.Malformed) -> JSONTree {
        guard depth < 32 else { throw malformed("deeper than 32") }
        at += 1
        depth += 1
        let value = try body(&self)
        depth -= 1
        return value
    }

    private mutating func object() throws(JSONTree.Malformed) -> JSONTree {
        var members: [(key: String, value: JSONTree)] = []
        skipSpace()
        if take("}") { return .object(members) }
        repeat {
            skipSpace()
            let key = try string()
            guard !members.contains(where: { $0.key.utf8.elementsEqual(key.utf8) }) else {
                throw malformed("the key \(key) twice")
            }
            skipSpace()
            guard take(":") else { throw malformed("no colon") }
            members.append((key, try value()))
            skipSpace()
        } while take(",")
        guard take("}") else { throw malformed("an object without its end") }
        return .object(members)
    }

    private mutating func array() throws(JSONTree.Malformed) -> JSONTree {
        var elements: [JSONTree] = []
        skipSpace()
        if take("]") { return .array(elements) }
        repeat {
            elements.append(try value())
            skipSpace()
        } while take(",")
        guard take("]") else { throw malformed("an array without its end") }
        return .array(elements)
    }

    private mutating func word(
        _ word: StaticString, _ value: JSONTree
    ) throws(JSONTree.Malformed) -> JSONTree {
        let length = word.utf8CodeUnitCount
        let matches = word.withUTF8Buffer { bytes[at...].prefix(length).elementsEqual($0) }
        guard matches else { throw malformed("not a value") }
        at += length
        return value
    }

    private mutating func digits() -> Int {
        let start = at
        while let byte = next, byte >= 0x30, byte <= 0x39 { at += 1 }
        return at - start
    }

    private mutating func number() throws(JSONTree.Malformed) -> JSONTree {
        let start = at
        _ = take("-")
        let leadsWithZero = next == UInt8(ascii: "0")
        let whole = digits()
        guard whole > 0, whole == 1 || !leadsWithZero else { throw malformed("not a value") }
        if take("."), digits() == 0 { throw malformed("not a number") }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            if digits() == 0 { throw malformed("not a number") }
        }
        return .number(String(decoding: bytes[start..<at], as: UTF8.self))
    }

    private mutating func string() throws(JSONTree.Malformed) -> String {
        guard take("\"") else { throw malformed("not a string") }
        var text: [UInt8] = []
        var start = at
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                text += bytes[start..<at]
                at += 1
                guard let string = String(validating: text, as: UTF8.self) else {
                    throw malformed("not UTF-8")
                }
                return string
            case UInt8(ascii: "\\"):
                text += bytes[start..<at]
                at += 1
                text += String(try escape()).utf8
                start = at
            case 0..<0x20: throw malformed("a control character in a string")
            default: at += 1
            }
        }
        throw malformed("a string without its end")
    }

    private mutating func escape() throws(JSONTree.Malformed) -> Unicode.Scalar {
        let letter = next
        at += 1
        switch letter {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            let unit = try hexUnit()
            if let scalar = Unicode.Scalar(unit) { return scalar }
            guard unit < 0xDC00, take("\\"), take("u") else { throw malformed("half a pair") }
            let low = try hexUnit()
            guard low >= 0xDC00, low <= 0xDFFF,
                let scalar = Unicode.Scalar(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))
            else { throw malformed("half a pair") }
            return scalar
        default: throw malformed("not an escape")
        }
    }

    private mutating func hexUnit() throws(JSONTree.Malformed) -> UInt32 {
        let digits = bytes[at...].prefix(4)
        guard digits.count == 4, digits.allSatisfy({ isHex($0) }),
            let unit = UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw malformed("not four hex digits") }
        at += 4
        return unit
    }

    private func isHex(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
        default: false
        }
    }
}
