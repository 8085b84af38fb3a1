internal import SyncPlatform

/// What lets this device talk to the server.
struct SessionTokens: Sendable, Hashable {
    let token: String
    let refresh: String
    /// Another origin that serves the blobs.
    let blobs: HTTPURL?

    /// Reads the members that a login, a refresh and the key store have in common.
    init(_ object: JSONObject, blobs known: HTTPURL? = nil) throws {
        token = try object.text("token")
        refresh = try object.text("refresh")
        // They go into a header and a file: what fits in neither is no token.
        for value in [token, refresh] {
            guard (1...4_096).contains(value.utf8.count),
                value.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else { throw MalformedJSON(detail: "a token") }
        }
        blobs = try object.optionalText("blobs").map { try HTTPURL($0) } ?? known
    }

    /// The bytes that the key store holds.
    var stored: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("token")
        writer.string(token)
        writer.key("refresh")
        writer.string(refresh)
        if let blobs {
            writer.key("blobs")
            writer.string(blobs.string)
        }
        writer.endObject()
        return writer.bytes
    }
}

/// Keeps one account's session, and refreshes its token once for all workers and processes.
///
/// Whoever finds the token expired takes the `session` lock and reads the stored one again: it may
/// be new already. The new one is stored before it is used, and the old refresh value stays good
/// until then, so an answer that is lost or a process that is killed signs nobody out.
actor Session {
    private let keys: KeyStore
    private let lock: FileLock
    private let client: HTTPClient
    private let base: HTTPURL
    private let stallSeconds: Double
    private var known: SessionTokens?
    private var renewal: Task<SessionTokens, any Error>?

    init(
        keys: KeyStore, lock: FileLock, client: HTTPClient, base: HTTPURL, stallSeconds: Double
    ) {
        self.stallSeconds = stallSeconds
        self.keys = keys
        self.lock = lock
        self.client = client
        self.base = base
    }

    /// The tokens to send with.
    ///
    /// - Throws: `signedOut` if the session has ended.
    func tokens() async throws(RemoteFailure) -> SessionTokens {
        if let known { return known }
        guard let stored = try await stored() else {
            throw RemoteFailure(.signedOut, "the session has ended").final()
        }
        known = stored
        return stored
    }

    /// A token newer than `stale`; one request for all who ask at once.
    func renew(_ stale: SessionTokens) async throws(RemoteFailure) -> SessionTokens {
        if let known, known != stale { return known }
        let task = renewal ?? Task { try await refresh(stale) }
        renewal = task
        do {
            return try await task.value
        } catch {
            throw error as? RemoteFailure ?? RemoteFailure(.serverError, "\(error)")
        }
    }

    /// Forgets a session that the server has ended, unless a new one was stored meanwhile.
    func end(_ tokens: SessionTokens) async throws(RemoteFailure) {
        let held = try await locked()
        defer { withExtendedLifetime(held) {} }
        if try await stored() == tokens { try await mapped { try $0.remove(.session) } }
        known = nil
    }

    private func refresh(_ stale: SessionTokens) async throws -> SessionTokens {
        defer { renewal = nil }
        let held = try await locked()
        defer { withExtendedLifetime(held) {} }
        guard let stored = try await stored() else {
            known = nil
            throw RemoteFailure(.signedOut, "the session has ended").final()
        }
        if stored != stale {
            known = stored
            return stored
        }
        let renewed: SessionTokens
        do {
            renewed = try await askForTokens(stored)
        } catch {
            if let failure = error as? RemoteFailure, failure.reason == .signedOut {
                try await mapped { try $0.remove(.session) }
                known = nil
            }
            throw error
        }
        try await mapped { try $0.write(.session, renewed.stored) }
        known = renewed
        return renewed
    }

    private func askForTokens(_ stored: SessionTokens) async throws -> SessionTokens {
        let request = try RemoteFailure.mapping {
            var body = JSONWriter()
            body.beginObject()
            body.key("refresh")
            body.string(stored.refresh)
            body.endObject()
            var request = HTTPRequest(
                .post, url: try base.resolving("v1/sessions/refresh"), body: body.bytes)
            try request.headers.add("Content-Type", "application/json")
            request.stallSeconds = stallSeconds
            return request
        }
        do {
            let answer = try await client.object(request, accepts: 200)
            return try RemoteFailure.mapping { try SessionTokens(answer, blobs: stored.blobs) }
        } catch {
            // The one 401 to a request without a token that says something about the session.
            guard error.status == 401, error.code == Problem.sessionEnded else { throw error }
            throw RemoteFailure(
                .signedOut, "the session has ended", status: 401, code: Problem.sessionEnded
            ).final()
        }
    }

    private func stored() async throws(RemoteFailure) -> SessionTokens? {
        try await mapped { try $0.read(.session).map { try SessionTokens(JSONObject($0)) } }
    }

    private func locked() async throws(RemoteFailure) -> FileLock.Token {
        try await mapped { [lock] _ in try lock.lock(.exclusive) }
    }

    /// The key store may wait for another program or a lock: never on the cooperative pool.
    private func mapped<Result: Sendable>(
        _ body: @escaping @Sendable (KeyStore) throws -> Result
    ) async throws(RemoteFailure) -> Result {
        do {
            return try await Blocking.run { [keys] in try body(keys) }
        } catch {
            let secretError = error as? SecretError
            let isFull = secretError?.code == .noSpace || (error as? FileError)?.code == .noSpace
            let reason: UnavailableReason = isFull ? .diskFull : .keyMissing
            throw RemoteFailure(reason, secretError?.words ?? "\(error)").final()
        }
    }
}
