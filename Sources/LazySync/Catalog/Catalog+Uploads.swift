internal import SyncPlatform

/// A blob that a change names although neither the spool has it nor the server's version of the item
/// names it: of an item that was brought back, or of a conflict copy.
struct BorrowedBlob: Sendable {
    /// The entry's row.
    let row: Int64
    let key: AttachmentKey
    let ref: CloudBlobRef
    let role: BlobRole
    /// How long its plaintext is.
    let size: Int64
    var isPinned = false
}

/// The blobs that changes name.
extension Catalog {
    /// Those of some entries that lie in the spool, in the order of the entries.
    func uploadJobs(of rows: [Int64]) async throws(SyncError) -> [UploadJob] {
        try await read("list what is to be sent") { connection in
            var found: [UploadJob] = []
            try connection.forEachBlob(of: rows) { blob in
                guard let spooled = try connection.spooled(blob.ref.recordName) else { return }
                found.append(
                    UploadJob(row: blob.row, key: blob.key, ref: blob.ref, spooled: spooled))
            }
            return found
        }
    }

    /// Attachments of some entries that are pinned and whose bytes are in the spool.
    func pinnedUploads(of rows: [Int64]) async throws(SyncError) -> [AttachmentKey] {
        try await read("list what is pinned") { connection in
            var found: [AttachmentKey] = []
            try connection.forEachBlob(of: rows) { blob in
                guard blob.isPinned, blob.role == .original,
                    try connection.spooled(blob.ref.recordName) != nil
                else { return }
                found.append(blob.key)
            }
            return found
        }
    }

    /// Those of some entries that nothing holds at the store but this change.
    func borrowedBlobs(of rows: [Int64]) async throws(SyncError) -> [BorrowedBlob] {
        try await read("list what is to be sent") { connection in
            var found: [BorrowedBlob] = []
            var (row, named) = (Int64(0), Set<String>())
            try connection.forEachBlob(of: rows) { blob in
                if blob.row != row {
                    row = blob.row
                    named = try connection.namesInBase(of: row)
                }
                let record = blob.ref.recordName
                guard !named.contains(record), try connection.spooled(record) == nil else { return }
                found.append(blob)
            }
            return found
        }
    }
}

extension Connection {
    fileprivate func forEachBlob(
        of rows: [Int64], _ body: (BorrowedBlob) throws -> Void
    ) throws {
        let query = try prepare(.addressesOfEntry)
        for row in rows {
            query.reset()
            query.bind(row, at: 1)
            while try query.step() {
                guard let item = EntryID(bytes: query.blob(0).span),
                    let id = AttachmentID(bytes: query.blob(1).span)
                else { throw CatalogDamage(what: "an identifier of another length") }
                let key = AttachmentKey(item: item, id: id)
                for (column, role) in [(2, .original), (3, .thumbnail)] as [(Int32, BlobRole)] {
                    guard let ref = CloudBlobRef(packed: query.blob(column).span) else { continue }
                    try body(
                        BorrowedBlob(
                            row: row, key: key, ref: ref, role: role, size: query.int(column + 2),
                            isPinned: query.int(6) == 1))
                }
            }
        }
    }

    /// The records that the server's version of a changed item names.
    fileprivate func namesInBase(of row: Int64) throws -> Set<String> {
        CloudBlobRef.names(in: try waiting(row)?.base)
    }
}
