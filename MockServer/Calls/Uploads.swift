extension Call {
    private static let version = Header("Tus-Resumable", "1.0.0")

    /// `HEAD /v1/uploads/{recordName}`: how far an upload has come.
    ///
    /// Whoever asks is about to go on: a request that hangs adds nothing after this answer.
    func upload() throws(Refusal) -> Answer {
        let name = try recordName()
        guard let hold = try account().uploads.takeOver(name, now: service.now) else {
            throw Refusal(404, "no-such-upload", "No upload of that name has begun")
        }
        return Answer(
            200,
            headers: [
                Call.version, Header("Upload-Offset", String(hold.offset)),
                Header("Upload-Length", String(hold.upload.length)),
                Header("Cache-Control", "no-store"),
            ])
    }

    /// `PATCH /v1/uploads/{recordName}`: the next bytes of an upload, or its first.
    func addToUpload() throws(Refusal) -> any BodySink {
        let name = try recordName()
        guard incoming.header("Content-Type")?.lowercased() == "application/offset+octet-stream"
        else { throw .badRequest("Content-Type is not application/offset+octet-stream") }
        let (offset, length) = (try header("Upload-Offset"), try header("Upload-Length"))
        guard offset <= length, incoming.bodyLength ?? 0 <= length - offset else {
            throw .badRequest("There are more bytes than Upload-Length says")
        }
        let account = try account()
        let hold = try account.resume(
            name, length: length, offset: offset, service.options.limits, now: service.now)
        return UploadSink(account, hold) { [service] in service.now }
    }

    private func header(_ name: String) throws(Refusal) -> UInt64 {
        guard let value = incoming.header(name).flatMap({ Decimal64.parse($0) }) else {
            throw .badRequest("\(name) is not a number")
        }
        return value
    }

    fileprivate static func uploaded(_ isWhole: Bool, _ offset: UInt64) -> Answer {
        Answer(
            isWhole ? 201 : 204, headers: [version, Header("Upload-Offset", String(offset))])
    }
}

/// Takes the body of a PATCH; each byte that comes is kept, whatever becomes of the request.
final class UploadSink: BodySink {
    private let account: ServedAccount
    private let hold: UploadBook.Hold
    private let now: () -> Double

    init(_ account: ServedAccount, _ hold: UploadBook.Hold, now: @escaping () -> Double) {
        self.account = account
        self.hold = hold
        self.now = now
    }

    func take(_ piece: UnsafeRawBufferPointer) throws(BodyEnd) {
        let upload = hold.upload
        guard upload.space.count + UInt64(piece.count) <= upload.length else {
            throw .refused(.badRequest("There are more bytes than Upload-Length says"))
        }
        let taken: Void?
        do throws(StoreFailure) {
            taken = try upload.asOwner(hold.owner, now: now()) { () throws(StoreFailure) in
                try upload.space.append(piece)
            }
        } catch { throw .refused(error.refusal) }
        // A newer request has taken over.
        guard taken != nil else { throw .closed }
    }

    func finish() throws(Refusal) -> Answer {
        let isWhole = try account.pause(hold, now: now())
        return Call.uploaded(isWhole, isWhole ? hold.upload.length : hold.upload.space.count)
    }

    func abandon() {
        // So that what came is not in an open file; a failure shows at the next request.
        _ = try? hold.upload.asOwner(hold.owner, now: now()) { () throws(StoreFailure) in
            try hold.upload.space.settle()
        }
    }
}
