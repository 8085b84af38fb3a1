/// One header line.
struct Header: Sendable, Equatable {
    var name: String
    var value: String

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// Whether this is the header `name`, whatever its case.
    func isNamed(_ other: String) -> Bool {
        name.utf8.count == other.utf8.count && name.lowercased() == other.lowercased()
    }
}

/// A request that has come in whole.
struct Incoming: Sendable {
    var method: String
    /// The path as it was sent, without the query.
    var path: String
    /// The text after the question mark, as it was sent.
    var rawQuery = ""
    /// The query's names and values, decoded, in their order.
    var query: [(name: String, value: String)] = []
    var headers: [Header] = []
    var body: [UInt8] = []

    /// The first header of that name.
    func header(_ name: String) -> String? {
        headers.first { $0.isNamed(name) }?.value
    }

    /// How long the body is said to be.
    var bodyLength: UInt64? { header("Content-Length").flatMap { UInt64($0) } }

    /// Whether the client waits for a word before it sends the body.
    var expectsContinue: Bool { header("Expect")?.lowercased() == "100-continue" }

    /// Whether the method asks for headers alone.
    var isHead: Bool { method == "HEAD" }
}

/// What goes back: a right answer, on which faults then work.
struct Answer: Sendable {
    var status: Int
    var headers: [Header]
    var body: any ByteSource
    var delivery = Delivery()

    init(_ status: Int, headers: [Header] = [], body: any ByteSource = MemoryBytes([])) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// A JSON answer.
    static func json(_ tree: JSONTree, status: Int = 200, headers: [Header] = []) -> Answer {
        Answer(
            status, headers: [Header("Content-Type", "application/json")] + headers,
            body: MemoryBytes(tree.text))
    }

    /// Sets a header in the place of all of that name; nil only takes them away.
    mutating func setHeader(_ name: String, _ value: String?) {
        headers.removeAll { $0.isNamed(name) }
        if let value { headers.append(Header(name, value)) }
    }
}

/// What a call comes to.
enum Outcome: Sendable {
    case answer(Answer)
    /// Nothing to say yet: ask again when an account changes, and tell the call when this many
    /// seconds since its arrival are over.
    case wait(seconds: Double)
}
