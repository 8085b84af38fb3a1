/// One request as the server saw it.
struct LogEntry: Sendable {
    /// How the answer ended.
    enum Ending: String, Sendable {
        /// It has not ended yet.
        case open
        /// All of it went out.
        case whole
        /// The connection ended first, by a fault or by the client.
        case cut
    }

    /// Counts requests in the order in which they came, from 1.
    var number: Int
    /// Counts connections; two requests with the same one shared it.
    var connection: Int
    var method: String
    var path: String
    /// The text after the question mark.
    var query: String
    var headers: [Header]
    /// The request's body, at most its first MiB.
    var body: [UInt8]
    /// How long the request's body was.
    var bodyCount: Int
    /// Seconds from the server's start to the request.
    var began: Double
    /// Seconds from the request to the end of its answer.
    var took: Double?
    /// 0 until there is an answer, and for a request that gets none.
    var status = 0
    /// Bytes of body that went out; of a cut answer, what the other side is known to have got.
    var bytesSent: UInt64 = 0
    var ending = Ending.open
    /// The fault that hit the request.
    var fault: FaultScript.ID?

    /// The request's first header of that name.
    func header(_ name: String) -> String? {
        headers.first { $0.isNamed(name) }?.value
    }

    /// The Range header.
    var range: String? { header("Range") }

    /// The If-Range header.
    var ifRange: String? { header("If-Range") }

    /// Whether the request carried a token.
    var isAuthorized: Bool { header("Authorization") != nil }

    /// The entry as JSON; the secret of an Authorization header is left out.
    var tree: JSONTree {
        let headers = headers.map { header -> JSONTree in
            let isSecret = header.isNamed("Authorization")
            return [.string(header.name), .string(isSecret ? "…" : header.value)]
        }
        return [
            "number": JSONTree(number), "connection": JSONTree(connection),
            "method": .string(method), "path": .string(path), "query": .string(query),
            "range": JSONTree(range), "ifRange": JSONTree(ifRange),
            "authorized": .bool(isAuthorized), "headers": .array(headers),
            "bodyBytes": JSONTree(bodyCount), "status": JSONTree(status),
            "bytesSent": JSONTree(bytesSent), "ending": .string(ending.rawValue),
            "began": .number(String(began)), "took": took.map { .number(String($0)) } ?? .null,
            "fault": fault.map { JSONTree($0.number) } ?? .null,
        ]
    }
}
