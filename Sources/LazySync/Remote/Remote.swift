internal import SyncPlatform

/// The server, as the passes see it: a few calls, each one request.
///
/// Every call throws `RemoteFailure`; tokens, problem documents and JSON stay below.
protocol Remote: Sendable {
    /// Asks for a page of changes; `page` continues a run that began with the same `after`.
    func manifestPage(after: UInt64, page: String?, limit: Int) async throws(RemoteFailure)
        -> ManifestPage
    /// Asks for entries by id, 100 at the most.
    func entries(_ ids: [EntryID]) async throws(RemoteFailure) -> ManifestPage
    /// Fetches a record, whole or a part, into a sink that sees the head before the first byte.
    func blob(_ request: BlobRequest, into sink: any HTTPSink) async throws(RemoteFailure)
        -> HTTPHead
    /// Ends the session at the server.
    func endSession() async throws(RemoteFailure)
}

/// A page as it came: the bytes of its JSON, and where the next one is if a header said so.
struct ManifestPage: Sendable {
    let body: [UInt8]
    /// The page token of the Link header, so that the next page can be asked for before this one
    /// is parsed; the body's own `next` wins.
    let linkedNext: String?
}

/// Which bytes of which record.
struct BlobRequest: Sendable {
    let record: String
    /// The first and last byte of the sealed blob; nil asks for all of it.
    var range: ClosedRange<UInt64>?
    /// A strong ETag that the rest must still have.
    var ifRange: String?
    /// The most bytes that are read of the answer.
    var limit: UInt64
}
