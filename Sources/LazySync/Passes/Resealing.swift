internal import SyncPlatform

/// Seals a blob of the spool again, under fresh keys and a fresh name.
///
/// It blocks: not for the cooperative pool.
struct Resealing {
    var opener: RefOpener
    let random: any RandomSource
    let spool: Spool

    /// Answers the new address and where its bytes lie.
    func run(_ job: UploadJob) throws -> (CloudBlobRef, [SpooledBlob]) {
        let (key, role) = (job.key, job.spooled.role)
        var opener = opener
        let length = Self.plainLength(sealed: UInt64(job.spooled.size))
        let known = opener.blob(
            job.ref.packed.span, entry: key.item, attachment: key.id, role: role)
        guard let geometry = BlobGeometry(length: length), let blob = known,
            let file = try spool.open(job.spooled.pack)
        else { throw Self.damaged(key) }
        let sealer = FileSealer(opener, random, spool)
        let ref = try sealer.seal(geometry, for: key.item, key.id, role) { offset, count in
            try Self.read(file, job.spooled, blob, geometry, offset, count)
        }
        try sealer.finish()
        return (ref, sealer.spooled)
    }

    /// Opens the chunks that hold a part; it begins where a chunk does.
    private static func read(
        _ file: File, _ spooled: SpooledBlob, _ blob: SealedBlob, _ geometry: BlobGeometry,
        _ offset: Int64, _ count: Int
    ) throws -> [UInt8] {
        let chunks = geometry.chunks(holding: UInt64(offset)..<UInt64(offset) + UInt64(count))
        var plaintext: [UInt8] = []
        for chunk in chunks {
            let range = geometry.sealedRange(chunk)
            let sealed = try file.read(
                count: range.count, at: spooled.place + Int64(range.lowerBound))
            var piece = [UInt8](repeating: 0, count: geometry.plainSize(chunk))
            var span = piece.mutableSpan
            guard blob.open(chunk: chunk, of: geometry, sealed.span, into: &span) else {
                throw SyncError(.storage, "seal a blob again", "the spool is damaged")
            }
            plaintext += piece
        }
        return plaintext
    }

    /// How long the plaintext of a sealed blob is.
    static func plainLength(sealed: UInt64) -> UInt64 {
        let body = sealed - UInt64(BlobGeometry.headerSize)
        let whole = UInt64(BlobGeometry.chunkSize + BlobGeometry.tagSize)
        let chunks = max(1, (body + whole - 1) / whole)
        return body - chunks * UInt64(BlobGeometry.tagSize)
    }

    private static func damaged(_ key: AttachmentKey) -> SyncError {
        SyncError(.storage, "seal \(key.id) again", "the spool does not have it any more")
    }
}
