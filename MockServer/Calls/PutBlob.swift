extension Call {
    /// `PUT /v1/blobs/{recordName}`: a blob in one request.
    func putBlob() throws(Refusal) -> any BodySink {
        let name = try recordName()
        guard incoming.header("If-None-Match") == "*" else {
            throw .badRequest("If-None-Match is not *")
        }
        let limits = service.options.limits
        let length = incoming.bodyLength
        let account = try account()
        let space = try account.beginPut(name, length: length ?? 0, limits)
        let largest = min(limits.blob, limits.put)
        guard length ?? 0 <= largest else { throw PutSink.tooLarge(largest) }
        return PutSink(account, name, space, largest: largest) { [service] in service.now }
    }

    /// The record name in the path.
    func recordName() throws(Refusal) -> String {
        let name = parameters[0]
        guard BlobStore.isName(name) else { throw .badRequest("That is not a record name") }
        return name
    }
}

/// Takes the body of a PUT; what does not come whole leaves nothing.
final class PutSink: BodySink {
    private let account: ServedAccount
    private let name: String
    private let space: any UploadSpace
    private let largest: UInt64
    private let now: () -> Double

    init(
        _ account: ServedAccount, _ name: String, _ space: any UploadSpace, largest: UInt64,
        now: @escaping () -> Double
    ) {
        self.account = account
        self.name = name
        self.space = space
        self.largest = largest
        self.now = now
    }

    static func tooLarge(_ largest: UInt64) -> Refusal {
        Refusal(413, "too-large", "One request brings \(largest) bytes at the most")
    }

    func take(_ piece: UnsafeRawBufferPointer) throws(BodyEnd) {
        do throws(Refusal) {
            // A chunked body says its length only by ending.
            guard space.count + UInt64(piece.count) <= largest else {
                throw PutSink.tooLarge(largest)
            }
            try refusing { () throws(StoreFailure) in try space.append(piece) }
        } catch {
            space.discard()
            throw .refused(error)
        }
    }

    func finish() throws(Refusal) -> Answer {
        try account.finishPut(name, space, now: now())
        return Answer(201)
    }

    func abandon() { space.discard() }
}
