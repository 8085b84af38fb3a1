internal import SyncPlatform

/// What was asked for, did not come, and may come by itself.
extension Catalog {
    /// Blobs whose last try failed for a reason that can pass, as a plan needs them.
    func failedBlobs(limit: Int = 10_000) async throws(SyncError) -> [RetryPlan.Failed] {
        try await read("list what is to be tried again") { connection in
            var rows: [Int64] = []
            var found: [(UnavailableReason?, String?, Int64?, Int64)] = []
            let query = try connection.prepare(.failedBlobs)
            query.bind(-1, at: 1)
            query.bind(Int64(limit), at: 2)
            while try query.step() {
                rows.append(query.int(0))
                found.append(
                    (
                        query.isNull(1) ? nil : UnavailableReason(rawValue: try query.text(1)),
                        query.isNull(2) ? nil : try query.text(2),
                        query.isNull(3) ? nil : query.int(3), query.int(4)
                    ))
            }
            return try zip(rows, found).compactMap { row, blob in
                let (reason, code, next, last) = blob
                return try connection.attachmentKey(row: row).map {
                    RetryPlan.Failed(key: $0, reason: reason, code: code, next: next, last: last)
                }
            }
        }
    }
}
