/// One call being handled; its handlers are in `Calls`, a file each.
struct Call: Sendable {
    let service: Service
    let incoming: Incoming
    /// What stood in the path where the route has a star.
    let parameters: [String]
    let actions: FaultActions
    /// Seconds since the call came in.
    let waited: Double
    /// Who calls; nil for an open call.
    var member: SessionBook.Member?

    /// Finds out who calls.
    mutating func authenticate() throws(Refusal) {
        let token = incoming.header("Authorization").flatMap { value in
            value.lowercased().hasPrefix("bearer ") ? String(value.dropFirst(7)) : nil
        }
        let now = service.now
        member = try service.sessions.with { book throws(Refusal) in
            try book.member(token, now: now)
        }
    }

    /// The account of who calls.
    func account() throws(Refusal) -> ServedAccount {
        guard let member, let account = service.account(id: member.accountId) else {
            throw Refusal(401, "session-ended", "The session has ended")
        }
        return account
    }

    /// The query's one value of that name.
    func query(_ name: String) throws(Refusal) -> String? {
        let values = incoming.query.filter { $0.name == name }
        guard values.count < 2 else { throw .badRequest("\(name) twice") }
        return values.first?.value
    }

    /// The query's number of that name.
    func number(_ name: String) throws(Refusal) -> UInt64? {
        guard let text = try query(name) else { return nil }
        guard let value = Decimal64.parse(text) else {
            throw .badRequest("\(name) is not a number")
        }
        return value
    }

    /// The query's limit, or what it is when none is given.
    func limit() throws(Refusal) -> Int {
        let limit = try number("limit") ?? 1000
        guard limit > 0 else { throw .badRequest("limit is 0") }
        return Int(min(limit, 5000))
    }

    /// The body, which has to be a JSON object.
    func body() throws(Refusal) -> JSONTree {
        let tree: JSONTree
        do { tree = try JSONTree(parsing: incoming.body) } catch {
            throw .badRequest("The body is not JSON: \(error)")
        }
        guard case .object = tree else { throw .badRequest("The body is not an object") }
        return tree
    }

    /// The body's text of that name.
    func text(_ name: String, in body: JSONTree) throws(Refusal) -> String {
        guard let text = body[name]?.string else { throw .badRequest("\(name) is missing") }
        return text
    }

    /// This server's address, by the name that the client knows.
    var origin: String { "http://" + (incoming.header("Host") ?? "127.0.0.1") }
}
