/// A call's refusal: a problem document of RFC 9457 with the protocol's code.
struct Refusal: Error, Sendable {
    var status: Int
    var code: String
    var title: String
    var headers: [Header] = []
    /// Members of this problem beyond the five that all have.
    var members: [(key: String, value: JSONTree)] = []

    init(_ status: Int, _ code: String, _ title: String) {
        self.status = status
        self.code = code
        self.title = title
    }

    static func badRequest(_ title: String) -> Refusal { Refusal(400, "bad-request", title) }

    /// The answer that says so.
    var answer: Answer {
        let document: [(key: String, value: JSONTree)] = [
            ("type", "about:blank"), ("title", .string(title)), ("status", JSONTree(status)),
            ("code", .string(code)), ("detail", .string(title)),
        ]
        return Answer(
            status,
            headers: [Header("Content-Type", "application/problem+json")] + headers,
            body: MemoryBytes(JSONTree.object(document + members).text))
    }
}
