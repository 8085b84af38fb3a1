internal import SyncPlatform

/// Blobs of which parts were read.
extension Catalog {
    /// Forgets why a record's bytes did not come, if `isOver` says so of the reason.
    ///
    /// Looks first, so that the common case, nothing to forget, writes nothing.
    func takeBack(
        _ record: String, _ isOver: @escaping @Sendable (UnavailableReason, Evidence) -> Bool
    ) async throws(SyncError) {
        @Sendable func isDue(_ blob: BlobRecord?) -> Bool {
            guard let blob, blob.mark == nil, let reason = blob.reason else { return false }
            return isOver(reason, blob.evidence)
        }
        let before = try await read("look at a blob") { try $0.blobRecord(record) }
        guard isDue(before) else { return }
        try await write("take back a failure") { connection in
            guard isDue(try connection.blobRecord(record)) else { return }
            let cleared = try connection.prepare(.blobFailed)
            cleared.bind(blob: record.utf8Span.span, at: 1)
            cleared.bind(0, at: 6)
            cleared.bind(0, at: 7)
            try cleared.run()
            var tally = Tally()
            tally[.blobsFailed] -= 1
            try tally.save(connection)
        }
    }
}
