internal import SyncPlatform

/// The server, as who sends sees it: a few calls, each one request.
///
/// Every call throws `RemoteFailure`; tokens, problem documents and JSON stay below.
protocol WritableRemote: Sendable {
    /// Sends entries and the head that counts them, all or nothing; the very same push again is
    /// accepted again.
    ///
    /// - Throws: For good: 422 `bad-push`, 413 `too-large`, and 507 as `storeFull`.
    func push(_ push: ManifestPush) async throws(RemoteFailure) -> PushAnswer
    /// Waits for a head whose seq is above `after`, 50 seconds at the most; nil if there was none.
    func head(after: UInt64, wait seconds: Int) async throws(RemoteFailure) -> Head?
    /// Sends a blob in one request; `created` or `exists`.
    ///
    /// - Throws: For good: 413 as `tooLarge`, 507 as `storeFull`.
    func put(_ record: String, _ body: UploadBody) async throws(RemoteFailure) -> UploadAnswer
    /// Asks how far an upload has come; nil if none has begun, or if it is a blob by now.
    func uploadOffset(_ record: String) async throws(RemoteFailure) -> UInt64?
    /// Sends what follows `offset` of a blob of `length` bytes, or its first bytes.
    ///
    /// - Throws: For good: 413 as `tooLarge`, 507 as `storeFull`.
    func patch(
        _ record: String, offset: UInt64, length: UInt64, _ body: UploadBody
    ) async throws(RemoteFailure) -> UploadAnswer
    /// Asks how long a stored blob is; nil if it is not there, or not any more.
    func size(of record: String) async throws(RemoteFailure) -> UInt64?
    /// Deletes a blob; one that is gone already is as good.
    func delete(_ record: String) async throws(RemoteFailure)
    /// Lists stored blobs by name, behind `after`; 5,000 at the most.
    func blobs(after: String?, limit: Int) async throws(RemoteFailure) -> BlobList
}

/// What one push brings.
struct ManifestPush: Sendable {
    let head: Head
    let entries: [(facts: EntryFacts, sealed: [UInt8])]

    /// What one entry adds to the body at the most, so that a push can be planned.
    static func byteCount(sealed count: Int) -> Int { (count * 4 + 2) / 3 + 160 }

    /// The body of the request.
    var body: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(
            entries.reduce(256) { $0 + Self.byteCount(sealed: $1.sealed.count) })
        var writer = JSONWriter(appendingTo: bytes)
        writer.beginObject()
        writer.member("head", Base64URL.encode(head.bytes.span))
        writer.key("entries")
        writer.beginArray()
        for (facts, sealed) in entries {
            writer.beginObject()
            writer.member("id", "\(facts.id)")
            writer.member("version", "\(facts.version)")
            writer.key("kind")
            writer.integer(facts.kind.rawValue)
            writer.key("epoch")
            writer.integer(facts.epoch)
            writer.member("sealed", Base64URL.encode(sealed.span))
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }
}

/// What became of a push.
enum PushAnswer: Sendable, Equatable {
    /// The server has it, be it from now on or since an earlier try.
    case accepted
    /// Somebody else was first; the head that the server has now, which proves nothing yet.
    case moved(Head?)
}

/// Bytes to send, and who is told how far they came.
struct UploadBody: Sendable {
    let content: HTTPBody
    /// Told how many bytes went out, from another thread, which must not be held up.
    var onSent: (@Sendable (Int) -> Void)?
}

/// What became of a call that brings bytes.
enum UploadAnswer: Sendable, Equatable {
    /// The blob exists now.
    case created
    /// The name is taken: by this very blob, sent before, or by something else.
    case exists
    /// The bytes were taken, and the upload stands here; no further than what was sent.
    case offset(UInt64)
    /// The upload stands elsewhere; nothing was taken.
    case wrongOffset(UInt64)
}

/// A page of what the store holds.
struct BlobList: Sendable, Equatable {
    /// One stored blob.
    struct Blob: Sendable, Equatable {
        let name: RecordName
        let size: UInt64
        let created: Timestamp
    }

    let blobs: [Blob]
    /// The `after` of the next page; nil at the end.
    let next: String?
}
