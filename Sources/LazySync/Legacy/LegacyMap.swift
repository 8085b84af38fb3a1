internal import SyncPlatform

/// Says which of an old file's arrays are items, and which fields of their records become what.
///
/// ```json
/// {"version":1,"arrays":[
///   {"array":"notes","title":"name","text":"body","created":"made","times":"reference","skip":["color"]}]}
/// ```
/// A record of `array` becomes an item; `title` names the field that it is called by, and `text`,
/// `created` and `modified` those that are taken over if they are there. `skip` are fields that are
/// known and not wanted; a field that the map does not name is reported.
struct LegacyMap: Sendable, Equatable {
    /// How numbers are meant that stand where a time should.
    enum Times: String, Sendable, CaseIterable {
        /// Seconds since 1970.
        case unix
        /// Thousandths of a second since 1970.
        case milliseconds
        /// Seconds since 2001, as Apple counts.
        case reference
    }

    /// One array and its fields.
    struct Array: Sendable, Equatable {
        var array: String
        var title: String
        var text: String?
        var created: String?
        var modified: String?
        var times: Times?
        var skip: [String] = []

        /// Every field that the map has a word about.
        var named: Set<String> {
            Set([title, text, created, modified].compactMap { $0 } + skip)
        }
    }

    var arrays: [Array]

    private static let version: Int64 = 1
    private static let limit = 1 << 20

    /// Reads a map.
    ///
    /// - Throws: `LegacyProblem` for what is none, and for words that nobody knows: a misspelt one
    ///   would leave a field out without a word.
    init(_ bytes: [UInt8]) throws(LegacyProblem) {
        let parser = JSONParser(maxBytes: Self.limit, maxDepth: 8)
        let root: JSONValue
        do {
            root = try parser.parse(bytes.span)
        } catch {
            throw LegacyProblem("the map is not JSON (\(error.code))")
        }
        let members = try Self.members(root, parser, known: ["version", "arrays"])
        guard members["version"].flatMap({ parser.int64($0) }) == Self.version else {
            throw LegacyProblem("the map's version is to be \(Self.version)")
        }
        guard let list = members["arrays"], parser.kind(list) == .array else {
            throw LegacyProblem("the map names no arrays")
        }
        var found: [Array] = []
        var elements = parser.elements(list)
        while let element = parser.next(&elements) { found.append(try Self.array(element, parser)) }
        guard !found.isEmpty else { throw LegacyProblem("the map names no arrays") }
        guard Set(found.map(\.array)).count == found.count else {
            throw LegacyProblem("the map names an array twice")
        }
        arrays = found
    }

    private static func array(
        _ value: JSONValue, _ parser: JSONParser
    ) throws(LegacyProblem) -> Array {
        let members = try members(
            value, parser,
            known: ["array", "title", "text", "created", "modified", "times", "skip"])
        func text(_ key: String) throws(LegacyProblem) -> String? {
            guard let member = members[key] else { return nil }
            guard let text = parser.string(member), !text.isEmpty else {
                throw LegacyProblem("the map's \(key) is to be a text")
            }
            return text
        }
        guard let name = try text("array"), let title = try text("title") else {
            throw LegacyProblem("the map's arrays need \"array\" and \"title\"")
        }
        var array = Array(
            array: name, title: title, text: try text("text"), created: try text("created"),
            modified: try text("modified"))
        if let word = try text("times") {
            guard let times = Times(rawValue: word) else {
                let words = Times.allCases.map(\.rawValue).joined(separator: ", ")
                throw LegacyProblem("the map's times are one of \(words)")
            }
            array.times = times
        }
        if let skip = members["skip"] {
            var elements = parser.elements(skip)
            while let element = parser.next(&elements) {
                guard let field = parser.string(element) else {
                    throw LegacyProblem("the map's skip is to be a list of texts")
                }
                array.skip.append(field)
            }
        }
        return array
    }

    private static func members(
        _ value: JSONValue, _ parser: JSONParser, known: Set<String>
    ) throws(LegacyProblem) -> [String: JSONValue] {
        guard parser.kind(value) == .object else {
            throw LegacyProblem("the map is no object where one was to be")
        }
        var found: [String: JSONValue] = [:]
        var members = parser.members(value)
        while let (key, member) = parser.next(&members) {
            let name = parser.string(key) ?? ""
            guard known.contains(name) else {
                throw LegacyProblem("the map has a word that nobody knows")
            }
            found[name] = member
        }
        return found
    }
}
