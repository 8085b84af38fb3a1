/// Who is logged in: sessions, their tokens and their refresh values.
struct SessionBook: Sendable {
    /// What a login or a refresh hands out.
    struct Grant: Sendable, Equatable {
        var token: String
        var expiresIn: Int
        var refresh: String
    }

    /// A session as a call sees it.
    struct Member: Sendable, Equatable {
        var session: Int
        var accountId: String
        /// What the login called it.
        var device: String
    }

    private struct Session: Sendable {
        var accountId: String
        var device: String
        var refresh: String
        /// The refresh value before, and the answer that it keeps getting.
        var previous: (refresh: String, grant: Grant, at: Double)?
        /// Page tokens of an older epoch have expired.
        var cursorEpoch = 0
        /// The session must read from 0 again.
        var mustRestart = false
    }

    private var sessions: [Int: Session] = [:]
    private var tokens: [String: (session: Int, expires: Double)] = [:]
    private var next = 1
    /// Seconds that a token is good for.
    var lifetime = 3600

    /// Nobody is logged in.
    init() {}

    /// Opens a session.
    mutating func open(accountId: String, device: String = "", now: Double) -> Grant {
        let id = next
        next += 1
        let grant = Grant(token: Self.secret(), expiresIn: lifetime, refresh: Self.secret())
        sessions[id] = Session(accountId: accountId, device: device, refresh: grant.refresh)
        tokens[grant.token] = (id, now + Double(lifetime))
        return grant
    }

    /// Trades a refresh value for a new token.
    ///
    /// The old value stays good, with the same answer, until the new token is first used, for
    /// 10 minutes at most: a client whose answer got lost is not signed out.
    mutating func refresh(_ value: String, now: Double) throws(Refusal) -> Grant {
        for (id, session) in sessions {
            if session.refresh == value {
                let grant = Grant(token: Self.secret(), expiresIn: lifetime, refresh: Self.secret())
                tokens[grant.token] = (id, now + Double(lifetime))
                sessions[id]?.refresh = grant.refresh
                sessions[id]?.previous = (value, grant, now)
                return grant
            }
            if let previous = session.previous, previous.refresh == value, now - previous.at <= 600
            {
                return previous.grant
            }
        }
        throw Refusal(401, "session-ended", "The session has ended")
    }

    /// Whose token this is.
    ///
    /// - Throws: `token-expired`, or `session-ended` for none and an unknown one.
    mutating func member(_ token: String?, now: Double) throws(Refusal) -> Member {
        guard let token, let known = tokens[token], let session = sessions[known.session] else {
            throw Refusal(401, "session-ended", "The session has ended")
        }
        if session.previous?.grant.token == token { sessions[known.session]?.previous = nil }
        guard now < known.expires else {
            throw Refusal(401, "token-expired", "The token has expired")
        }
        return Member(
            session: known.session, accountId: session.accountId, device: session.device)
    }

    /// Ends one session.
    mutating func end(_ id: Int) {
        sessions[id] = nil
        tokens = tokens.filter { $0.value.session != id }
    }

    /// Ends all sessions.
    mutating func endAll() {
        sessions = [:]
        tokens = [:]
    }

    /// Makes every token that is out now an expired one.
    mutating func expireTokens() {
        for token in tokens.keys { tokens[token]?.expires = -.infinity }
    }

    /// Makes every cursor and page token that is out now an expired one.
    mutating func expireCursors() {
        for id in sessions.keys {
            sessions[id]?.cursorEpoch += 1
            sessions[id]?.mustRestart = true
        }
    }

    /// Takes a cursor, and says which epoch its page tokens belong to.
    ///
    /// - Throws: `cursor-expired`, until the session begins at 0 again.
    mutating func useCursor(_ id: Int, after: UInt64, pageEpoch: Int?) throws(Refusal) -> Int {
        guard let session = sessions[id] else { return 0 }
        if after == 0, pageEpoch == nil { sessions[id]?.mustRestart = false }
        let isStale =
            pageEpoch.map { $0 < session.cursorEpoch } ?? (after > 0 && session.mustRestart)
        guard !isStale else {
            throw Refusal(410, "cursor-expired", "The cursor has expired: start again from 0")
        }
        return session.cursorEpoch
    }

    private static func secret() -> String {
        Base64URL.encode((0..<24).map { _ in UInt8.random(in: 0...255) })
    }
}

// MARK: Keeping

extension SessionBook {
    /// All that another process needs to know, but for what has expired by `now`.
    func tree(now: Double) -> JSONTree {
        let list = sessions.map { id, session -> JSONTree in
            let previous = session.previous.map { previous -> JSONTree in
                [
                    "refresh": .string(previous.refresh), "at": .number(String(previous.at)),
                    "token": .string(previous.grant.token),
                    "expiresIn": JSONTree(previous.grant.expiresIn),
                    "next": .string(previous.grant.refresh),
                ]
            }
            return [
                "id": JSONTree(id), "accountId": .string(session.accountId),
                "device": .string(session.device), "refresh": .string(session.refresh),
                "previous": previous ?? .null,
            ]
        }
        let good = tokens.filter { $0.value.expires > now }.map { token, known -> JSONTree in
            [
                "token": .string(token), "session": JSONTree(known.session),
                "expires": .number(String(known.expires)),
            ]
        }
        return ["next": JSONTree(next), "sessions": .array(list), "tokens": .array(good)]
    }

    /// Reads what ``tree(now:)`` wrote; what is not whole is left out.
    init(_ tree: JSONTree) {
        next = tree["next"]?.int ?? 1
        for tree in tree["sessions"]?.array ?? [] {
            guard let id = tree["id"]?.int, let accountId = tree["accountId"]?.string,
                let device = tree["device"]?.string, let refresh = tree["refresh"]?.string
            else { continue }
            var session = Session(accountId: accountId, device: device, refresh: refresh)
            if let previous = tree["previous"], let old = previous["refresh"]?.string,
                let at = previous["at"]?.double, let token = previous["token"]?.string,
                let expiresIn = previous["expiresIn"]?.int, let next = previous["next"]?.string
            {
                let grant = Grant(token: token, expiresIn: expiresIn, refresh: next)
                session.previous = (old, grant, at)
            }
            sessions[id] = session
        }
        for tree in tree["tokens"]?.array ?? [] {
            guard let token = tree["token"]?.string, let session = tree["session"]?.int,
                let expires = tree["expires"]?.double
            else { continue }
            tokens[token] = (session, expires)
        }
    }
}
