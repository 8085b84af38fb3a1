internal import SyncPlatform

/// A value of an old key-value store, whatever kind of file it stood in.
enum LegacyValue: Sendable, Equatable {
    case text(String)
    case integer(Int64)
    case real(Double)
    case bool(Bool)
    case date(Timestamp)
    /// Bytes are never a title or a text; that there are some is all that is told of them.
    case data
    case null
    case array([LegacyValue])
    case dictionary([String: LegacyValue])

    /// What it is, for a report.
    var kind: String {
        switch self {
        case .text: "text"
        case .integer, .real: "a number"
        case .bool: "yes or no"
        case .date: "a date"
        case .data: "bytes"
        case .null: "nothing"
        case .array: "a list"
        case .dictionary: "a dictionary"
        }
    }
}

/// Why an old file cannot be read; says what, and never a value.
struct LegacyProblem: Error, Sendable, Equatable {
    let detail: String

    init(_ detail: String) { self.detail = detail }
}

/// What an old file may be, so that no file can take all memory or the stack.
enum LegacyLimits {
    static let file = 64 << 20
    static let depth = 32
    /// Values in all; a binary list can name one of its objects again and again.
    static let values = 10_000_000
    /// Bytes of text in all, however often the same text is named.
    static let bytes = 256 << 20
}

/// Reads an old file: a property list, binary or XML, or JSON.
enum LegacyFile {
    /// Tells the kinds apart by how they begin.
    static func read(_ bytes: [UInt8]) throws(LegacyProblem) -> LegacyValue {
        guard bytes.count <= LegacyLimits.file else {
            throw LegacyProblem("it has more than \(LegacyLimits.file >> 20) MiB")
        }
        if bytes.starts(with: "bplist".utf8) {
            return try BinaryPropertyList.read(bytes)
        }
        let first = bytes.first { !XMLPropertyList.isSpace($0) }
        if first == UInt8(ascii: "<") || bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
            return try XMLPropertyList.read(bytes)
        }
        return try json(bytes)
    }

    private static func json(_ bytes: [UInt8]) throws(LegacyProblem) -> LegacyValue {
        let parser = JSONParser(maxBytes: LegacyLimits.file, maxDepth: LegacyLimits.depth)
        do {
            return value(try parser.parse(bytes.span), parser)
        } catch {
            throw LegacyProblem(
                error.code == .duplicateKey
                    ? "it has a key twice" : "it is neither a property list nor JSON")
        }
    }

    private static func value(_ value: JSONValue, _ parser: JSONParser) -> LegacyValue {
        switch parser.kind(value) {
        case .object:
            var found: [String: LegacyValue] = [:]
            var members = parser.members(value)
            while let (key, member) = parser.next(&members) {
                found[parser.string(key) ?? ""] = self.value(member, parser)
            }
            return .dictionary(found)
        case .array:
            var found: [LegacyValue] = []
            var elements = parser.elements(value)
            while let element = parser.next(&elements) { found.append(self.value(element, parser)) }
            return .array(found)
        case .string: return .text(parser.string(value) ?? "")
        case .integer:
            if let number = parser.int64(value) { return .integer(number) }
            return .real(parser.uint64(value).map(Double.init) ?? 0)
        case .double: return .real(parser.double(value) ?? 0)
        case .bool: return .bool(parser.bool(value) ?? false)
        case .null: return .null
        }
    }
}
