internal import SyncPlatform

/// The server over HTTP, for one session.
struct HTTPRemote: Remote {
    let client: HTTPClient
    private let base: HTTPURL
    private let session: Session
    let stallSeconds: Double

    /// The largest manifest page, unpacked.
    private static let pageLimit = 64 << 20

    init(client: HTTPClient, base: HTTPURL, session: Session, stallSeconds: Double) {
        self.client = client
        self.base = base
        self.session = session
        self.stallSeconds = stallSeconds
    }

    func manifestPage(
        after: UInt64, page: String?, limit: Int
    ) async throws(RemoteFailure) -> ManifestPage {
        var query = "after=\(after)&limit=\(limit)"
        if let page { query += "&page=" + page.percentEscaped }
        return try await manifest("v1/manifest?" + query)
    }

    func entries(_ ids: [EntryID]) async throws(RemoteFailure) -> ManifestPage {
        let query = ids.map { "id=\($0)" }.joined(separator: "&")
        return try await manifest("v1/manifest/entries?" + query)
    }

    func blob(
        _ request: BlobRequest, into sink: any HTTPSink
    ) async throws(RemoteFailure) -> HTTPHead {
        try await stored(.get, request.record, into: sink, accepts: [200, 206, 416]) {
            (http) throws in
            if let range = request.range {
                try http.headers.add("Range", "bytes=\(range.lowerBound)-\(range.upperBound)")
            }
            if let tag = request.ifRange { try http.headers.add("If-Range", tag) }
            http.bodyLimit = Int(clamping: request.limit)
        }
    }

    /// Asks for a record, or about it, wherever the session says that records are.
    func stored(
        _ method: HTTPRequest.Method, _ record: String, into sink: any HTTPSink,
        accepts statuses: Set<Int>, _ edit: (inout HTTPRequest) throws -> Void = { _ in }
    ) async throws(RemoteFailure) -> HTTPHead {
        try await authorized { (tokens) async throws(RemoteFailure) in
            // Another origin gets no token: a record's address there is its own permission.
            let elsewhere = tokens.blobs?.string
            let path = (elsewhere ?? "v1/blobs/") + record
            var http = try make(method, path, token: elsewhere == nil ? tokens.token : nil)
            try RemoteFailure.mapping { try edit(&http) }
            http.redirects = .follow
            do throws(RemoteFailure) {
                return try await client.send(http, into: sink, accepts: statuses)
            } catch  where error.code == Problem.expiredRedirect {
                // A presigned address may have expired: the first one gives a fresh one.
                return try await client.send(http, into: sink, accepts: statuses)
            }
        }
    }

    func endSession() async throws(RemoteFailure) {
        _ = try await authorized { (tokens) async throws(RemoteFailure) in
            let http = try make(.delete, "v1/sessions/current", token: tokens.token)
            return try await client.send(http, into: BufferSink(limit: 0), accepts: [204])
        }
    }

    // MARK: Keys

    /// The account's key records.
    func keyRecords() async throws(RemoteFailure) -> KeyRecords {
        let body = BufferSink(limit: 1 << 20)
        let head = try await authorized { (tokens) async throws(RemoteFailure) in
            let http = try make(.get, "v1/keys", token: tokens.token)
            return try await client.send(http, into: body, accepts: [200])
        }
        return try RemoteFailure.mapping {
            guard let version = head["etag"] else { throw MalformedJSON(detail: "no ETag") }
            return try KeyRecords(JSONObject(body.take()), version: version)
        }
    }

    /// Puts these records in the place of all; false if somebody else has changed them meanwhile.
    func replace(_ records: KeyRecords, _ new: AccountLock) async throws(RemoteFailure) -> Bool {
        do throws(RemoteFailure) {
            _ = try await authorized { (tokens) async throws(RemoteFailure) in
                var http = try make(.put, "v1/keys", token: tokens.token)
                http.body = .bytes(records.request(new.record.kind, new.authKey))
                try RemoteFailure.mapping {
                    try http.headers.add("Content-Type", "application/json")
                    try http.headers.add("If-Match", records.version)
                }
                return try await client.send(http, into: BufferSink(limit: 0), accepts: [204])
            }
            return true
        } catch  where error.status == 412 && error.code == Problem.keysChanged {
            return false
        }
    }

    // MARK: One request

    private func manifest(_ path: String) async throws(RemoteFailure) -> ManifestPage {
        let body = BufferSink(limit: Self.pageLimit)
        let head = try await authorized { (tokens) async throws(RemoteFailure) in
            var http = try make(.get, path, token: tokens.token)
            http.bodyLimit = Self.pageLimit
            http.compressed = true
            return try await client.send(http, into: body, accepts: [200])
        }
        return ManifestPage(body: body.take(), linkedNext: head["link"].flatMap(NextLink.page))
    }

    /// Sends with the session's token; once more with a new one if that is what the server asks
    /// for.
    func authorized<Result>(
        _ send: (SessionTokens) async throws(RemoteFailure) -> Result
    ) async throws(RemoteFailure) -> Result {
        let tokens = try await session.tokens()
        do throws(RemoteFailure) {
            return try await send(tokens)
        } catch  where error.reason == .signedOut && error.code == Problem.tokenExpired {
            return try await sendAgain(try await session.renew(tokens), send)
        } catch  where error.reason == .signedOut && error.code == Problem.sessionEnded {
            // Only an answer to our token can mean this: another origin's 401 is its own trouble.
            try await session.end(tokens)
            throw error
        }
    }

    private func sendAgain<Result>(
        _ tokens: SessionTokens, _ send: (SessionTokens) async throws(RemoteFailure) -> Result
    ) async throws(RemoteFailure) -> Result {
        do throws(RemoteFailure) {
            return try await send(tokens)
        } catch  where error.reason == .signedOut && error.code == Problem.tokenExpired {
            throw RemoteFailure(
                .serverError, "the server refuses a token that it just gave", status: 401)
        }
    }

    func make(
        _ method: HTTPRequest.Method, _ path: String, token: String?
    ) throws(RemoteFailure) -> HTTPRequest {
        try RemoteFailure.mapping {
            var request = HTTPRequest(method, url: try base.resolving(path))
            if let token { try request.headers.add("Authorization", "Bearer " + token) }
            request.stallSeconds = stallSeconds
            return request
        }
    }
}
