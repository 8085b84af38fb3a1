internal import SyncPlatform

/// What is changed on this device: each change, and that it waits to be sent, in one transaction
/// that is on the disk when it returns.
extension Catalog {
    /// Changes items; what was sealed for them is named by the same transaction.
    func change<Result: Sendable>(
        _ operation: String, with tools: MergeTools, spooled: [SpooledBlob] = [],
        _ body: @escaping @Sendable (inout EntryStore) throws -> Result
    ) async throws(SyncError) -> Result {
        try await write(operation, isDurable: true) { connection in
            var store = try EntryStore(connection, with: tools)
            for blob in spooled { try connection.addSpooled(blob) }
            let result = try body(&store)
            try store.save()
            return result
        }
    }

    /// What lies in the trash, newest first.
    func trash(
        before place: (removedAt: Int64, row: Int64) = (.max, .max), limit: Int
    ) async throws(SyncError) -> [Trashed] {
        try await read("list the trash") { connection in
            let query = try connection.prepare(.trashList)
            query.bind(place.removedAt, at: 1)
            query.bind(place.row, at: 2)
            query.bind(Int64(limit), at: 3)
            var found: [Trashed] = []
            while try query.step() {
                guard let entry = EntryID(bytes: query.blob(1).span) else { continue }
                found.append(
                    Trashed(
                        row: query.int(0), entry: entry,
                        attachment: query.isNull(2) ? nil : AttachmentID(bytes: query.blob(2).span),
                        payload: query.blob(3), removedAt: query.int(4),
                        isOwn: query.int(5) == 1))
            }
            return found
        }
    }
}
