import Foundation

/// JSON as it was written: members in their order, numbers as text.
///
/// Strict, because the protocol is: an equal key twice, depth above 32 and trailing bytes are
/// refused, which Foundation's reader does not do.
indirect enum JSONTree: Sendable, Equatable {
    case object([(key: String, value: JSONTree)])
    case array([JSONTree])
    case string(String)
    case number(String)
    case bool(Bool)
    case null

    /// Why text is not JSON, and where.
    struct Malformed: Error, CustomStringConvertible {
        let reason: String
        let offset: Int
        var description: String { "\(reason) at byte \(offset)" }
    }

    /// Reads a whole JSON text.
    init(parsing bytes: [UInt8]) throws(Malformed) {
        var reader = JSONReader(bytes: bytes)
        self = try reader.document()
    }

    /// The member named `key`, if this is an object that has one.
    subscript(key: String) -> JSONTree? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key == key }?.value
    }

    /// The text, if this is a string.
    var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The elements, if this is an array.
    var array: [JSONTree]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// The value, if this is true or false.
    var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The value, if this is a plain integer that fits.
    var int: Int? {
        guard case .number(let text) = self else { return nil }
        return Int(text)
    }

    /// The value, if this is a number.
    var double: Double? {
        guard case .number(let text) = self else { return nil }
        return Double(text)
    }

    static func == (left: JSONTree, right: JSONTree) -> Bool {
        switch (left, right) {
        case (.object(let a), .object(let b)):
            a.count == b.count && zip(a, b).allSatisfy { $0.key == $1.key && $0.value == $1.value }
        case (.array(let a), .array(let b)): a == b
        case (.string(let a), .string(let b)): a == b
        case (.number(let a), .number(let b)): a == b
        case (.bool(let a), .bool(let b)): a == b
        case (.null, .null): true
        default: false
        }
    }
}

extension JSONTree: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    init(stringLiteral value: String) { self = .string(value) }
    init(integerLiteral value: Int) { self = .number(String(value)) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(nilLiteral: ()) { self = .null }
    init(arrayLiteral elements: JSONTree...) { self = .array(elements) }
    init(dictionaryLiteral elements: (String, JSONTree)...) {
        self = .object(elements.map { (key: $0.0, value: $0.1) })
    }

    /// A string, or null for nil.
    init(_ text: String?) { self = text.map(JSONTree.string) ?? .null }

    /// A plain integer.
    init(_ value: some BinaryInteger) { self = .number(String(value)) }

    /// The JSON text, on one line.
    var text: String {
        var out = ""
        write(to: &out)
        return out
    }

    private func write(to out: inout String) {
        switch self {
        case .object(let members):
            out += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { out += "," }
                JSONTree.quote(member.key, to: &out)
                out += ":"
                member.value.write(to: &out)
            }
            out += "}"
        case .array(let elements):
            out += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { out += "," }
                element.write(to: &out)
            }
            out += "]"
        case .string(let text): JSONTree.quote(text, to: &out)
        case .number(let text): out += text
        case .bool(let value): out += value ? "true" : "false"
        case .null: out += "null"
        }
    }

    private static func quote(_ text: String, to out: inout String) {
        out += "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": out += "\\\""
            case "\\": out += "\\\\"
            case "\n": out += "\\n"
            case "\r": out += "\\r"
            case "\t": out += "\\t"
            case _ where scalar.value < 0x20:
                let hex = String(scalar.value, radix: 16)
                out += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            default: out.unicodeScalars.append(scalar)
            }
        }
        out += "\""
    }
}
