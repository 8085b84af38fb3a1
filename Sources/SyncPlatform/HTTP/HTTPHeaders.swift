/// Lists header fields in their order, duplicates included.
///
/// All fields live in one buffer, so that an answer costs two allocations, not two a field.
package struct HTTPHeaders: Sendable {
    /// Each field as "name: value" and a NUL, which is what libcurl takes.
    private(set) var bytes: [UInt8] = []
    private(set) var marks: [Mark] = []

    struct Mark: Sendable {
        var start: Int
        var nameCount: Int
        var valueCount: Int

        var name: Range<Int> { start..<start + nameCount }
        var value: Range<Int> { start + nameCount + 2..<start + nameCount + 2 + valueCount }
    }

    /// Makes an empty list.
    package init() {}

    /// Collects fields for a request.
    ///
    /// - Throws: `HTTPError.badHeader`, as ``add(_:_:)`` does.
    package init(_ fields: KeyValuePairs<String, String>) throws(HTTPError) {
        for (name, value) in fields { try add(name, value) }
    }

    /// How many fields there are.
    package var count: Int { marks.count }

    /// The first value under this name, in any case of letters.
    package subscript(name: String) -> String? {
        marks.first { isNamed($0, name) }.map { text($0.value) }
    }

    /// All values under this name, in their order.
    package func values(_ name: String) -> [String] {
        marks.filter { isNamed($0, name) }.map { text($0.value) }
    }

    /// All fields as they came.
    package var fields: [(name: String, value: String)] {
        marks.map { (text($0.name), text($0.value)) }
    }

    /// Adds a field to a request.
    ///
    /// - Throws: `HTTPError.badHeader` when the name is no token, when the value holds a control
    ///   character, and for names that the client itself answers for (framing, host, encoding). The
    ///   error never shows the value.
    package mutating func add(_ name: String, _ value: String) throws(HTTPError) {
        guard !name.isEmpty, name.utf8.allSatisfy(Self.isToken) else {
            throw HTTPError(.badHeader, operation: "header", detail: "a name that is no token")
        }
        guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else {
            throw HTTPError(.badHeader, operation: "header \(name)", detail: "a control character")
        }
        guard !Self.reserved.contains(name.lowercased()) else {
            throw HTTPError(.badHeader, operation: "header \(name)", detail: "set by the client")
        }
        append(name: name.utf8, value: value.utf8)
    }

    mutating func append(name: some Collection<UInt8>, value: some Collection<UInt8>) {
        marks.append(
            Mark(start: bytes.count, nameCount: name.count, valueCount: value.count))
        bytes.append(contentsOf: name)
        bytes.append(0x3a)
        bytes.append(0x20)
        bytes.append(contentsOf: value)
        bytes.append(0)
    }

    func isNamed(_ mark: Mark, _ name: String) -> Bool {
        mark.nameCount == name.utf8.count
            && zip(mark.name, name.utf8).allSatisfy { Self.lower(bytes[$0]) == Self.lower($1) }
    }

    private func text(_ range: Range<Int>) -> String {
        String(decoding: bytes[range], as: UTF8.self)
    }

    static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
        case 0x21, 0x23...0x27, 0x2a, 0x2b, 0x2d, 0x2e, 0x5e...0x60, 0x7c, 0x7e: true
        default: false
        }
    }

    static func lower(_ byte: UInt8) -> UInt8 {
        (0x41...0x5a).contains(byte) ? byte | 0x20 : byte
    }

    private static let reserved: Set = [
        "accept-encoding", "connection", "content-length", "expect", "host", "keep-alive",
        "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    ]
}
