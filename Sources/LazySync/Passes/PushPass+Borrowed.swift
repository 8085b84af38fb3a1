internal import SyncPlatform

/// Blobs that a change names and that nothing else holds at the store: a sweep may have let them go
/// since.
extension PushPass {
    /// How many are asked for at once.
    private static let width = 16

    /// Makes sure that what some changes borrow is still there; what is not is sealed again from the
    /// bytes that are here.
    ///
    /// Answers those that are nowhere: their items wait; and the records that are there. A thumbnail
    /// that is gone is left out.
    func checkBorrowed(
        _ rows: [Int64]
    ) async throws -> (lost: [BorrowedBlob], there: Set<String>) {
        let borrowed = try await catalog.borrowedBlobs(of: rows)
        if borrowed.isEmpty { return ([], []) }
        var lost: [BorrowedBlob] = []
        var there = Set(borrowed.map(\.ref.recordName))
        let missing = try await borrowed.concurrently(Self.width) { try await ifMissing($0) }
        for blob in missing.compactMap({ $0 }).sorted(by: { $0.row < $1.row }) {
            there.remove(blob.ref.recordName)
            if blob.role == .thumbnail {
                try await change(blob, spooled: []) { $0.thumb = nil }
            } else if try await !sealFromCache(blob) {
                lost.append(blob)
            }
        }
        return (lost, there)
    }

    @concurrent
    private func ifMissing(_ blob: BorrowedBlob) async throws -> BorrowedBlob? {
        guard let geometry = BlobGeometry(length: UInt64(blob.size)) else { return blob }
        let upload = BlobUpload(
            record: blob.ref.recordName,
            source: UploadSource(path: "", length: geometry.sealedLength), remote: remote,
            policy: policy, clock: clock)
        do {
            return try await upload.check() == .stored ? nil : blob
        } catch let failure as RemoteFailure where failure.code == Problem.exists {
            return blob
        }
    }

    private func sealFromCache(_ blob: BorrowedBlob) async throws -> Bool {
        guard let file = try await hooks.bytes(blob.key),
            let geometry = BlobGeometry(length: UInt64(blob.size))
        else { return false }
        let spool = Spool(places)
        let entered = try spool.enter()
        defer { withExtendedLifetime(entered) {} }
        let tools = tools
        let (ref, spooled) = try await Blocking.run {
            let sealer = FileSealer(tools.opener, tools.random, spool)
            let ref = try sealer.seal(geometry, for: blob.key.item, blob.key.id, .original) {
                try file.read(count: $1, at: $0)
            }
            try sealer.finish()
            return (ref, sealer.spooled)
        }
        try await change(blob, spooled: spooled) { $0.ref = .address(ref) }
        return true
    }

    private func change(
        _ blob: BorrowedBlob, spooled: [SpooledBlob],
        _ edit: @escaping @Sendable (inout ItemDraft.Attachment) -> Void
    ) async throws {
        try await catalog.change("seal a blob again", with: tools) { store in
            _ = try store.replace(blob.ref, blob.role, of: blob.key, spooled: spooled, edit)
        }
    }
}
