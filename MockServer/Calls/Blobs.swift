import Foundation

extension Call {
    /// `GET`, `HEAD /v1/blobs/{recordName}`: a blob, or one range of it.
    func blob() throws(Refusal) -> Answer {
        let account = try account()
        let name = parameters[0]
        let blob = try account.read { state throws(Refusal) in
            let blobs = state.blobs(for: member)
            return try actions.stored(blobs.blob(name), in: blobs)
        }
        if case .redirectToSigned(let origin, let status)? = actions.redirect {
            let signature = Base64URL.encode((0..<16).map { _ in UInt8.random(in: 0...255) })
            service.signed.with { $0[signature] = true }
            let path = "/signed/\(account.accountId)/\(name)?signature=\(signature)"
            return Answer(status, headers: [Header("Location", (origin ?? self.origin) + path)])
        }
        return serve(blob)
    }

    /// `GET`, `HEAD /open/{accountId}/{recordName}`: where the session's `blobs` leads.
    func openBlob() throws(Refusal) -> Answer {
        guard let account = service.account(id: parameters[0]) else {
            throw Refusal(404, "no-such-blob", "There is no blob of that name")
        }
        return serve(
            try account.read { state throws(Refusal) in
                let blobs = state.blobs(for: member)
                return try actions.stored(blobs.blob(parameters[1]), in: blobs)
            })
    }

    /// `GET`, `HEAD /signed/{accountId}/{recordName}`: a presigned address, good until it expires.
    ///
    /// Refuses as an object store would: 403 with XML, no problem document.
    func signedBlob() throws(Refusal) -> Answer {
        let signature = try query("signature") ?? ""
        guard service.signed.with({ $0[signature] }) == true else {
            return Answer(
                403, headers: [Header("Content-Type", "application/xml")],
                body: MemoryBytes(
                    "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code>"
                        + "<Message>Request has expired</Message></Error>"))
        }
        return try openBlob()
    }

    private func serve(_ blob: BlobStore.Blob) -> Answer {
        let size = blob.bytes.count
        var answer = Answer(
            200,
            headers: [
                Header("Content-Type", "application/octet-stream"), Header("ETag", blob.etag),
                Header("Accept-Ranges", "bytes"),
            ], body: blob.bytes)
        // A range that hangs on another version of the blob is a request for all of it.
        let isCurrent = incoming.header("If-Range").map { $0 == blob.etag } ?? true
        let asked = isCurrent && !incoming.isHead ? incoming.header("Range") : nil
        switch actions.range(ByteRange(asked, size: size), size: size) {
        case .whole: break
        case .unsatisfiable:
            var refusal = Refusal(416, "range-not-satisfiable", "The blob ends before this range")
            refusal.headers = [Header("Content-Range", "bytes */\(size)")]
            return refusal.answer
        case .part(let first, let last):
            answer.status = 206
            answer.body = SlicedBytes(blob.bytes, offset: first, count: last - first + 1)
            answer.headers.append(Header("Content-Range", "bytes \(first)-\(last)/\(size)"))
        }
        return answer
    }

    /// `GET /v1/blobs`: the names of all blobs, for sweeping what no entry names.
    func blobList() throws(Refusal) -> Answer {
        let after = try query("after") ?? ""
        let limit = try limit()
        let store = try account().read { $0.blobs(for: member) }
        let names = store.names().filter { after.utf8.lexicographicallyPrecedes($0.utf8) }
        let page = names.prefix(limit)
        let list = page.compactMap { name -> JSONTree? in
            guard let blob = try? store.blob(name) else { return nil }
            let created = Date(timeIntervalSince1970: blob.created).formatted(.iso8601)
            return [
                "name": .string(name), "size": JSONTree(blob.bytes.count),
                "created": .string(created),
            ]
        }
        let next = names.count > limit ? page.last : nil
        return .json(["blobs": .array(list), "next": JSONTree(next)])
    }
}
