/// What a range that came, or did not, says about the blob.
///
/// A range makes nothing `pending`: that is the whole blob's word, and whoever brings all of it says
/// it. One that comes leaves the attachment as it was; one that cannot come is noted with the same
/// evidence as a whole that cannot, so a list shows why a person who asked did not get it.
extension Materializer {
    /// Notes why a range did not come, once for all who waited, and answers it.
    func rangeFailed(_ error: any Error, _ row: AttachmentRow, _ ref: CloudBlobRef) async
        -> SyncError
    {
        let cause = Self.isGone(error) ? await cause(of: error, row, ref) : error
        if cause is AddressChanged { return .replaced(row.key) }
        let plain = (cause as? TransferFailure)?.cause ?? cause
        let known = SyncError("read \(row.key.id)", plain)
        guard case .unavailable = known.code, await isOurs(row, ref) else { return known }
        return await note(cause, row, ref.recordName)
    }

    /// Whether nobody else has, or is about to have, a word on the blob: all of it may be here, or on
    /// its way, and then its state is not the range's.
    private func isOurs(_ row: AttachmentRow, _ ref: CloudBlobRef) async -> Bool {
        if (try? pending().contains(ref.recordName)) != false { return false }
        guard let now = try? await self.row(row.key), now.ref?.recordName == ref.recordName
        else { return false }
        return now.blob?.mark == nil
    }

    /// Takes back what kept bytes from coming, as far as chunks that came now show it to be over.
    func rangeCame(_ row: AttachmentRow, _ ref: CloudBlobRef, _ chunks: Range<Int>) async {
        // Only a note: bytes that are here are handed out without it too.
        try? await catalog.clearConditions([.offline, .throttled, .signedOut, .keyMissing])
        try? await catalog.takeBack(ref.recordName) { reason, evidence in
            switch reason {
            case .serverError, .notFound, .notEntitled: true
            case .corrupt: evidence.chunk.map(chunks.contains) == true
            default: false
            }
        }
    }
}

extension SyncError {
    /// Bytes of two versions must not come out as one.
    static func replaced(_ key: AttachmentKey) -> SyncError {
        SyncError(
            .unavailable(.notFound), "open \(key.id)", "it was replaced while it was being read",
            hint: "open it again")
    }
}
