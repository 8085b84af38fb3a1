internal import SyncPlatform

extension HTTPRemote: WritableRemote {
    // MARK: The manifest

    func push(_ push: ManifestPush) async throws(RemoteFailure) -> PushAnswer {
        let body = push.body
        let (head, answer) = try await call(accepts: [200, 409]) { (tokens) throws(RemoteFailure) in
            var http = try make(.post, "v1/manifest", token: tokens.token)
            http.body = .bytes(body)
            try RemoteFailure.mapping { try http.headers.add("Content-Type", "application/json") }
            return http
        }
        if head.status == 409 {
            let failure = Problem.failure(head, body: answer, hadToken: true)
            guard failure.code == Problem.headMoved else { throw failure }
            return .moved(try Self.head(in: answer))
        }
        // Only the answer itself says that it was taken: a page for people does not.
        try RemoteFailure.mapping {
            guard try JSONObject(answer).decimal("seq") == push.head.seq else {
                throw MalformedJSON(detail: "seq is another one")
            }
        }
        return .accepted
    }

    func head(after: UInt64, wait seconds: Int) async throws(RemoteFailure) -> Head? {
        let seconds = min(max(seconds, 0), 50)
        let (head, answer) = try await call(accepts: [200, 204]) { (tokens) throws(RemoteFailure) in
            var http = try make(
                .get, "v1/manifest/head?after=\(after)&wait=\(seconds)", token: tokens.token)
            http.stallSeconds = Double(seconds) + 15
            return http
        }
        if head.status == 204 { return nil }
        return try RemoteFailure.mapping {
            guard let head = try Self.head(in: answer), head.seq > after else {
                throw MalformedJSON(detail: "a head that was not asked for")
            }
            return head
        }
    }

    private static func head(in answer: [UInt8]) throws(RemoteFailure) -> Head? {
        try RemoteFailure.mapping {
            let object = try JSONObject(answer)
            guard try object.optionalText("head") != nil else { return nil }
            let bytes = try object.binary("head", count: Head.byteCount)
            return try Head(parsing: bytes.span)
        }
    }

    // MARK: Uploads

    func put(_ record: String, _ body: UploadBody) async throws(RemoteFailure) -> UploadAnswer {
        let head = try await upload(.put, "v1/blobs/" + record, body, [("If-None-Match", "*")])
        return head.status == 201 ? .created : .exists
    }

    func patch(
        _ record: String, offset: UInt64, length: UInt64, _ body: UploadBody
    ) async throws(RemoteFailure) -> UploadAnswer {
        let head = try await upload(
            .patch, "v1/uploads/" + record, body,
            [
                ("Content-Type", "application/offset+octet-stream"),
                ("Upload-Offset", "\(offset)"), ("Upload-Length", "\(length)"),
            ] + Self.protocolVersion)
        switch head.status {
        case 201: return .created
        case 204:
            let now = try Self.offset(head)
            guard (offset...offset + UInt64(body.content.count)).contains(now) else {
                throw Self.violation("an Upload-Offset that no byte sent can have led to")
            }
            return .offset(now)
        case 409:
            let now = try Self.offset(head)
            guard now != offset else {
                throw Self.violation("an Upload-Offset that is refused and right")
            }
            return .wrongOffset(now)
        default: return .exists
        }
    }

    func uploadOffset(_ record: String) async throws(RemoteFailure) -> UInt64? {
        do throws(RemoteFailure) {
            let (head, _) = try await call(accepts: [200]) { (tokens) throws(RemoteFailure) in
                var http = try make(.head, "v1/uploads/" + record, token: tokens.token)
                try RemoteFailure.mapping {
                    for (name, value) in Self.protocolVersion { try http.headers.add(name, value) }
                }
                return http
            }
            return try Self.offset(head)
        } catch  where error.reason == .notFound {
            return nil
        }
    }

    private static let protocolVersion = [("Tus-Resumable", "1.0.0")]

    /// Sends bytes; the head of a 201, a 204, a 412 `exists` or a 409 `wrong-offset`.
    private func upload(
        _ method: HTTPRequest.Method, _ path: String, _ body: UploadBody,
        _ headers: [(String, String)]
    ) async throws(RemoteFailure) -> HTTPHead {
        let refusals: Set = [412, 413, 507]
        let statuses = refusals.union(method == .put ? [201] : [201, 204, 409])
        let (head, answer) = try await call(accepts: statuses) { (tokens) throws(RemoteFailure) in
            var http = try make(method, path, token: tokens.token)
            http.body = body.content
            http.onSent = body.onSent
            try RemoteFailure.mapping {
                for (name, value) in headers { try http.headers.add(name, value) }
            }
            return http
        }
        if head.status < 300 { return head }
        var failure = Problem.failure(head, body: answer, hadToken: true)
        switch (head.status, failure.code) {
        case (412, Problem.exists?), (409, Problem.wrongOffset?): return head
        case (413, _):
            failure = RemoteFailure(
                .tooLarge, "the server takes nothing that large", status: 413, code: failure.code
            ).final()
        case (507, _):
            failure = RemoteFailure(
                .storeFull, "the account has no room left at the server", status: 507,
                code: failure.code
            ).final()
        default: break
        }
        throw failure
    }

    private static func offset(_ head: HTTPHead) throws(RemoteFailure) -> UInt64 {
        let texts = head.headers.values("upload-offset")
        guard texts.count == 1, let offset = texts.first.flatMap(JSONObject.decimal) else {
            throw violation("no clear Upload-Offset")
        }
        return offset
    }

    // MARK: What is stored

    func size(of record: String) async throws(RemoteFailure) -> UInt64? {
        do throws(RemoteFailure) {
            let head = try await stored(.head, record, into: BufferSink(limit: 0), accepts: [200])
            if head["content-type"]?.lowercased().hasPrefix("text/html") == true {
                throw RemoteFailure.page()
            }
            guard let length = head.contentLength, head["content-encoding"] == nil else {
                throw Self.violation("no Content-Length of a blob")
            }
            return length
        } catch  where error.reason == .notFound {
            return nil
        }
    }

    func delete(_ record: String) async throws(RemoteFailure) {
        do throws(RemoteFailure) {
            _ = try await call(accepts: [204]) { (tokens) throws(RemoteFailure) in
                try make(.delete, "v1/blobs/" + record, token: tokens.token)
            }
        } catch  where error.reason == .notFound {
            return
        }
    }

    func blobs(after: String?, limit: Int) async throws(RemoteFailure) -> BlobList {
        let limit = min(max(limit, 1), 5_000)
        let (_, answer) = try await call(accepts: [200]) { (tokens) throws(RemoteFailure) in
            let query = "limit=\(limit)" + (after.map { "&after=" + $0.percentEscaped } ?? "")
            var http = try make(.get, "v1/blobs?" + query, token: tokens.token)
            http.bodyLimit = Self.listLimit
            http.compressed = true
            return http
        }
        return try RemoteFailure.mapping {
            try BlobList(JSONObject(answer, limit: Self.listLimit), after: after, limit: limit)
        }
    }

    /// The longest list, unpacked: 5,000 lines of 200 bytes are 1 MB.
    private static let listLimit = 4 << 20

    // MARK: One request

    /// Sends with the session's token; the head and the body of an answer with such a status.
    private func call(
        accepts statuses: Set<Int>,
        _ request: (SessionTokens) throws(RemoteFailure) -> HTTPRequest
    ) async throws(RemoteFailure) -> (HTTPHead, [UInt8]) {
        try await authorized { (tokens) async throws(RemoteFailure) in
            let http = try request(tokens)
            let body = BufferSink(limit: max(http.bodyLimit, HTTPRequest.errorLimit))
            let head = try await client.send(http, into: body, accepts: statuses)
            return (head, body.take())
        }
    }

    private static func violation(_ what: String) -> RemoteFailure {
        RemoteFailure(.serverError, "the answer breaks the protocol: \(what)", code: "protocol")
    }
}

extension BlobList {
    /// Reads a page, and refuses one that a walk over all of them could not trust.
    init(_ object: JSONObject, after: String?, limit: Int) throws(MalformedJSON) {
        var last = after ?? ""
        var blobs: [Blob] = []
        for line in try object.objects("blobs") {
            let name = try line.text("name")
            guard let record = RecordName(name), last.utf8.lexicographicallyPrecedes(name.utf8),
                let size = UInt64(exactly: try line.integer("size")), size <= Self.largest,
                let created = Timestamp(try line.text("created"))
            else { throw MalformedJSON(detail: "a stored blob, or its place") }
            last = name
            blobs.append(Blob(name: record, size: size, created: created))
        }
        guard blobs.count <= limit else { throw MalformedJSON(detail: "more than asked for") }
        let next = try object.optionalText("next")
        if let next {
            // A page without a blob and a `next` that stands still would be asked for for ever.
            guard RecordName(next) != nil, next != after ?? "",
                !next.utf8.lexicographicallyPrecedes(last.utf8)
            else { throw MalformedJSON(detail: "next") }
        }
        (self.blobs, self.next) = (blobs, next)
    }

    /// The length of the largest blob that the format allows.
    private static let largest =
        BlobGeometry(length: BlobGeometry.maximumLength)?.sealedLength ?? 0
}
