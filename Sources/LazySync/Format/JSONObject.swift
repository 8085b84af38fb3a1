internal import SyncPlatform

/// Says which member of a JSON object is missing or not what it must be.
struct MalformedJSON: Error, Sendable, Hashable {
    let detail: String
}

/// A JSON object's members, each asked for by key and type; for documents of a few members.
struct JSONObject {
    private let parser: JSONParser
    private let value: JSONValue

    /// Parses a document whose root is an object.
    init(_ bytes: [UInt8], limit: Int = 1 << 20) throws(MalformedJSON) {
        parser = JSONParser(maxBytes: limit)
        do throws(JSONError) {
            value = try parser.parse(bytes.span)
        } catch {
            throw MalformedJSON(detail: "not JSON (\(error.code))")
        }
        guard parser.kind(value) == .object else { throw MalformedJSON(detail: "not an object") }
    }

    private init(_ parser: JSONParser, _ value: JSONValue) {
        self.parser = parser
        self.value = value
    }

    /// A string; nil if it is absent or null.
    func optionalText(_ key: StaticString) throws(MalformedJSON) -> String? {
        guard let member = present(key) else { return nil }
        guard let text = parser.string(member) else { throw Self.wrong(key) }
        return text
    }

    func text(_ key: StaticString) throws(MalformedJSON) -> String {
        try required(key, try optionalText(key))
    }

    /// A plain integer.
    func integer(_ key: StaticString) throws(MalformedJSON) -> Int64 {
        try required(key, present(key).flatMap { parser.int64($0) })
    }

    /// A u64 as a decimal string without sign or leading zero.
    func decimal(_ key: StaticString) throws(MalformedJSON) -> UInt64 {
        try required(key, Self.decimal(try text(key)))
    }

    /// Binary, as base64url without padding; `count` bytes if that is given.
    func binary(_ key: StaticString, count: Int? = nil) throws(MalformedJSON) -> [UInt8] {
        let bytes = try required(key, Base64URL.decode(try text(key).utf8Span.span))
        if let count, bytes.count != count { throw Self.wrong(key) }
        return bytes
    }

    /// An identifier in hex.
    func identifier<Kind>(_ key: StaticString) throws(MalformedJSON) -> Identifier<Kind> {
        try required(key, Identifier<Kind>(try text(key)))
    }

    /// An object within; nil if it is absent or null.
    func object(_ key: StaticString) throws(MalformedJSON) -> JSONObject? {
        guard let member = present(key) else { return nil }
        guard parser.kind(member) == .object else { throw Self.wrong(key) }
        return JSONObject(parser, member)
    }

    /// An array of strings; empty if it is absent or null.
    func texts(_ key: StaticString) throws(MalformedJSON) -> [String] {
        guard let member = present(key) else { return [] }
        guard parser.kind(member) == .array else { throw Self.wrong(key) }
        var texts: [String] = []
        var elements = parser.elements(member)
        while let element = parser.next(&elements) {
            guard let text = parser.string(element) else { throw Self.wrong(key) }
            texts.append(text)
        }
        return texts
    }

    /// An array of objects; empty if it is absent or null.
    func objects(_ key: StaticString) throws(MalformedJSON) -> [JSONObject] {
        guard let member = present(key) else { return [] }
        guard parser.kind(member) == .array else { throw Self.wrong(key) }
        var objects: [JSONObject] = []
        var elements = parser.elements(member)
        while let element = parser.next(&elements) {
            guard parser.kind(element) == .object else { throw Self.wrong(key) }
            objects.append(JSONObject(parser, element))
        }
        return objects
    }

    /// Reads a u64 without sign, leading zero or anything around it.
    static func decimal(_ text: String) -> UInt64? {
        guard let number = UInt64(text), String(number) == text else { return nil }
        return number
    }

    private func present(_ key: StaticString) -> JSONValue? {
        guard let member = parser.member(key, of: value), !parser.isNull(member) else { return nil }
        return member
    }

    private func required<Value>(
        _ key: StaticString, _ value: Value?
    ) throws(MalformedJSON) -> Value {
        guard let value else { throw Self.wrong(key) }
        return value
    }

    private static func wrong(_ key: StaticString) -> MalformedJSON {
        MalformedJSON(detail: "\(key) is missing or not what it must be")
    }
}
