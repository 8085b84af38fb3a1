/// A JSON value that is written on one line, with its keys in the order given.
///
/// An object is written as a literal. A member whose value is nil is left out; `.null` is written.
enum JSON: Sendable, Equatable {
    case null
    case bool(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([Member])

    struct Member: Sendable, Equatable {
        let key: String
        let value: JSON
    }

    /// A string, or null.
    static func string(orNull text: String?) -> JSON { text.map(JSON.string) ?? .null }

    /// A whole number.
    static func integer(_ number: Int) -> JSON { .integer(Int64(number)) }

    /// A whole number, or null.
    static func integer(orNull number: Int?) -> JSON { number.map(JSON.integer) ?? .null }

    /// The value as text, without line breaks.
    var text: String {
        var text = ""
        write(to: &text)
        return text
    }

    private func write(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .unsigned(let value): text += String(value)
        // JSON has no word for infinity.
        case .number(let value): text += value.isFinite ? value.description : "null"
        case .string(let value): JSON.quote(value, to: &text)
        case .array(let values):
            text += "["
            for (index, value) in values.enumerated() {
                if index > 0 { text += "," }
                value.write(to: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { text += "," }
                JSON.quote(member.key, to: &text)
                text += ":"
                member.value.write(to: &text)
            }
            text += "}"
        }
    }

    /// Writes a string; besides what JSON asks for, everything that could act on a terminal is
    /// escaped, which a reader of JSON does not notice.
    private static func quote(_ string: String, to text: inout String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            // All of these have four digits: none lies beyond the basic plane.
            case _ where scalar.isHazardous:
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}

extension JSON: ExpressibleByDictionaryLiteral {
    init(dictionaryLiteral members: (String, JSON?)...) {
        self = .object(
            members.compactMap { key, value in value.map { Member(key: key, value: $0) } })
    }
}
