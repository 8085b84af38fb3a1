internal import SyncPlatform

/// Reads an XML property list in UTF-8.
///
/// It knows the elements of a property list and as much of XML as they need: the five entities,
/// characters by number, comments, CDATA. It fetches nothing, and a DOCTYPE that declares anything
/// is refused.
struct XMLPropertyList {
    private let bytes: [UInt8]
    private var index = 0
    private var values = 0

    static func read(_ bytes: [UInt8]) throws(LegacyProblem) -> LegacyValue {
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw LegacyProblem("the property list is not in UTF-8")
        }
        var list = XMLPropertyList(bytes)
        return try list.document()
    }

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
    }

    static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    private func damaged(_ what: String) -> LegacyProblem {
        let line = bytes[..<min(index, bytes.count)].count { $0 == UInt8(ascii: "\n") } + 1
        return LegacyProblem("line \(line) of the property list: \(what)")
    }

    // MARK: Structure

    private mutating func document() throws(LegacyProblem) -> LegacyValue {
        try prologue()
        let root = try tag()
        guard root.name == "plist", !root.isEnd, !root.isEmpty else {
            throw damaged("a property list begins with <plist>")
        }
        guard let value = try value(in: "plist", depth: 0) else {
            throw damaged("there is nothing in it")
        }
        try skip()
        let end = try tag()
        guard end.name == "plist", end.isEnd else { throw damaged("there are two values in it") }
        try skip()
        guard index == bytes.count else { throw damaged("there is something behind it") }
        return value
    }

    /// The declaration and the DOCTYPE.
    private mutating func prologue() throws(LegacyProblem) {
        while true {
            try skip()
            if take("<?") {
                let start = index
                guard find("?>") else { throw damaged("a declaration does not end") }
                let text = String(decoding: bytes[start..<index], as: UTF8.self).lowercased()
                if text.hasPrefix("xml"), text.contains("encoding"), !text.contains("utf-8"),
                    !text.contains("ascii")
                {
                    throw damaged("the encoding is not UTF-8")
                }
            } else if take("<!DOCTYPE") {
                while index < bytes.count, bytes[index] != UInt8(ascii: ">") {
                    guard bytes[index] != UInt8(ascii: "[") else {
                        throw damaged("a DOCTYPE that declares something")
                    }
                    index += 1
                }
                guard take(">") else { throw damaged("a DOCTYPE does not end") }
            } else {
                return
            }
        }
    }

    /// A value within an element; nil at the element's end, which is left to the caller.
    private mutating func value(
        in parent: String, depth: Int
    ) throws(LegacyProblem) -> LegacyValue? {
        try skip()
        let before = index
        let tag = try tag()
        if tag.isEnd {
            guard tag.name == parent else { throw damaged("</\(parent)> was to come") }
            index = before
            return nil
        }
        values += 1
        guard values <= LegacyLimits.values else { throw damaged("it has too many values") }
        guard depth <= LegacyLimits.depth else { throw damaged("it is nested too deeply") }
        switch tag.name {
        case "dict": return .dictionary(try tag.isEmpty ? [:] : dictionary(depth))
        case "array":
            var found: [LegacyValue] = []
            guard !tag.isEmpty else { return .array([]) }
            while let element = try value(in: "array", depth: depth + 1) { found.append(element) }
            try end("array")
            return .array(found)
        case "true", "false":
            if !tag.isEmpty { try end(tag.name) }
            return .bool(tag.name == "true")
        case "string", "integer", "real", "date", "data":
            let text = try tag.isEmpty ? "" : text(of: tag.name)
            return try scalar(tag.name, text)
        default: throw damaged("an element that no property list has")
        }
    }

    private mutating func dictionary(
        _ depth: Int
    ) throws(LegacyProblem) -> [String: LegacyValue] {
        var found: [String: LegacyValue] = [:]
        while true {
            try skip()
            let tag = try tag()
            if tag.isEnd {
                guard tag.name == "dict" else { throw damaged("</dict> was to come") }
                return found
            }
            guard tag.name == "key" else { throw damaged("a key was to come") }
            let key = try tag.isEmpty ? "" : text(of: "key")
            guard let value = try value(in: "dict", depth: depth + 1) else {
                throw damaged("a key has no value")
            }
            guard found.updateValue(value, forKey: key) == nil else {
                throw damaged("it has a key twice")
            }
        }
    }

    private func scalar(_ name: String, _ text: String) throws(LegacyProblem) -> LegacyValue {
        let word = text.filter { !$0.isWhitespace }
        switch name {
        case "string": return .text(text)
        case "integer":
            if let number = Self.integer(word) { return .integer(number) }
            guard let number = UInt64(word) else { throw damaged("an integer is none") }
            return .real(Double(number))
        case "real":
            guard let number = Double(word) else { throw damaged("a number is none") }
            return .real(number)
        case "date":
            guard let date = Timestamp(word) else { throw damaged("a date is none") }
            return .date(date)
        default: return .data
        }
    }

    private static func integer(_ word: String) -> Int64? {
        let isNegative = word.hasPrefix("-")
        let digits = isNegative || word.hasPrefix("+") ? word.dropFirst() : word[...]
        guard digits.hasPrefix("0x") || digits.hasPrefix("0X") else { return Int64(word) }
        return Int64((isNegative ? "-" : "") + digits.dropFirst(2), radix: 16)
    }

    // MARK: Characters

    private struct Tag {
        let name: String
        let isEnd: Bool
        let isEmpty: Bool
    }

    private mutating func tag() throws(LegacyProblem) -> Tag {
        guard take("<") else { throw damaged("an element was to come") }
        let isEnd = take("/")
        let start = index
        while index < bytes.count, bytes[index] != UInt8(ascii: ">") {
            guard bytes[index] != UInt8(ascii: "<") else { throw damaged("a < in an element") }
            index += 1
        }
        guard index < bytes.count else { throw damaged("the file ends within an element") }
        var inner = bytes[start..<index]
        index += 1
        let isEmpty = inner.last == UInt8(ascii: "/")
        if isEmpty { inner = inner.dropLast() }
        let name = inner.prefix { !Self.isSpace($0) }
        return Tag(
            name: String(decoding: name, as: UTF8.self), isEnd: isEnd, isEmpty: isEmpty && !isEnd)
    }

    private mutating func end(_ name: String) throws(LegacyProblem) {
        try skip()
        let tag = try tag()
        guard tag.isEnd, tag.name == name else { throw damaged("</\(name)> was to come") }
    }

    /// The text up to the end of an element, with entities and CDATA resolved.
    private mutating func text(of name: String) throws(LegacyProblem) -> String {
        var text: [UInt8] = []
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "&"): try entity(into: &text)
            case UInt8(ascii: "<"):
                if take("<![CDATA[") {
                    let start = index
                    guard find("]]>") else { throw damaged("CDATA does not end") }
                    text += bytes[start..<(index - 3)]
                } else if take("<!--") {
                    guard find("-->") else { throw damaged("a comment does not end") }
                } else {
                    let tag = try tag()
                    guard tag.isEnd, tag.name == name else {
                        throw damaged("</\(name)> was to come")
                    }
                    return String(decoding: text, as: UTF8.self)
                }
            case 0x0D:
                // XML reads every end of a line as one character.
                index += 1
                if index < bytes.count, bytes[index] == 0x0A { index += 1 }
                text.append(0x0A)
            default:
                text.append(bytes[index])
                index += 1
            }
        }
        throw damaged("the file ends within <\(name)>")
    }

    private mutating func entity(into text: inout [UInt8]) throws(LegacyProblem) {
        let named: [(String, UInt8)] = [
            ("&lt;", 0x3C), ("&gt;", 0x3E), ("&amp;", 0x26), ("&quot;", 0x22), ("&apos;", 0x27),
        ]
        for (name, byte) in named where take(name) {
            text.append(byte)
            return
        }
        guard take("&#") else { throw damaged("an entity that is not known") }
        let isHex = take("x")
        let start = index
        guard find(";"), index - start <= 9,
            let value = UInt32(
                String(decoding: bytes[start..<(index - 1)], as: UTF8.self),
                radix: isHex ? 16 : 10),
            let scalar = Unicode.Scalar(value), value != 0
        else { throw damaged("a character's number is none") }
        text += Array(String(Character(scalar)).utf8)
    }

    /// Goes over spaces and comments.
    private mutating func skip() throws(LegacyProblem) {
        while index < bytes.count {
            if Self.isSpace(bytes[index]) {
                index += 1
            } else if take("<!--") {
                guard find("-->") else { throw damaged("a comment does not end") }
            } else {
                return
            }
        }
    }

    private mutating func take(_ text: String) -> Bool {
        guard bytes[index...].starts(with: text.utf8) else { return false }
        index += text.utf8.count
        return true
    }

    /// Goes behind the next place of a text.
    private mutating func find(_ text: String) -> Bool {
        let wanted = Array(text.utf8)
        while index + wanted.count <= bytes.count {
            if bytes[index] == wanted[0], bytes[index...].starts(with: wanted) {
                index += wanted.count
                return true
            }
            index += 1
        }
        return false
    }
}
