internal import SyncPlatform

/// What waits to be sent: the files of the spool, against the rows that name what lies in them.
///
/// It is the only copy of what was added here, so nothing of it is touched but what nobody names.
extension VerifyPass {
    /// The attachment that names a blob.
    private struct Named: Sendable {
        let key: AttachmentKey
        let ref: CloudBlobRef
    }

    mutating func checkSpool() async throws(SyncError) {
        var named: [UInt64] = []
        var last: Int64 = 0
        while true {
            let page = try await catalog.waiting(after: last, limit: Self.page)
            guard let end = page.last else { break }
            last = end.row
            for job in try await catalog.uploadJobs(of: page.map(\.row)) {
                named.append(RecordHash.of(job.spooled.record))
                try await check(job.spooled, Named(key: job.key, ref: job.ref))
            }
        }
        // What was taken out again lies in the trash, and can come back.
        let known = KnownRecords(named)
        var record = ""
        while true {
            let page = try await catalog.spooled(after: record, limit: Self.page)
            guard let end = page.last else { break }
            record = end.record
            for blob in page where !known.contains(RecordHash.of(blob.record)) {
                try await check(blob, nil)
            }
        }
        try await checkPacks()
    }

    private mutating func check(_ blob: SpooledBlob, _ named: Named?) async throws(SyncError) {
        try await checkCancellation(at: nil)
        report.spooled += 1
        let path = Spool(places).path(blob.pack)
        var problem = VerifyProblem(kind: .spoolDamaged, key: named?.key, path: path)
        switch try await blocking({ try FileSystem.facts(path) }) {
        case nil: problem.kind = .spoolMissing
        case let facts? where facts.size < blob.place + blob.size:
            problem.detail = "the file is too short"
        default:
            guard let named, isChosen() else { return }
            guard let bad = try await prove(blob, named, path) else { return }
            problem.chunks = bad
            if bad.isEmpty { problem.detail = "its header is not what it should be" }
        }
        // It may have been sent since the page was read.
        let now = try await catalog.spooled(blob.record)
        guard now?.pack == blob.pack, now?.place == blob.place else { return }
        add(problem)
    }

    /// Opens every chunk of a blob; answers those that are damaged, none if its header is, and nil
    /// if all is right.
    private mutating func prove(
        _ blob: SpooledBlob, _ named: Named, _ path: String
    ) async throws(SyncError) -> [Int]? {
        guard
            let proof = SpoolProof(
                path: path, blob: blob, sealed: try await open(named.ref, named.key, blob.role))
        else { return [] }
        let isCancelled = Locked(false)
        do throws(SyncError) {
            let result = try await SyncError.mapping("verify") {
                try await withTaskCancellationHandler {
                    try await Blocking.run { try proof.run { isCancelled.withLock { $0 } } }
                } onCancel: {
                    isCancelled.withLock { $0 = true }
                }
            }
            guard result.isHeaderRight else { return [] }
            guard result.bad.isEmpty else { return Array(result.bad.prefix(1_000)) }
            proved(proof.length)
            return nil
        } catch {
            if error.code == .cancelled { throw error }
            // What has gone since was sent; anything else is tried again at the next check.
            if !FileSystem.isGone(path) { report.skipped += 1 }
            return nil
        }
    }

    /// Files that no row names, but for those of somebody who is writing one.
    private mutating func checkPacks() async throws(SyncError) {
        let spool = Spool(places)
        let found = try await blocking { try spool.finished() }
        let strays = try await catalog.unnamedPacks(of: found)
        if strays.isEmpty { return }
        // On a disk that cannot be written to, they stay.
        if options.repair { try? await catalog.sweepSpool(spool) }
        for name in strays {
            let path = spool.path(name)
            let isGone = FileSystem.isGone(path)
            // Somebody else has removed it.
            if isGone, !options.repair { continue }
            add(VerifyProblem(kind: .spoolOrphan, path: path, repaired: isGone))
        }
    }
}

/// Opens every chunk of a blob in the spool.
struct SpoolProof: Sendable {
    let path: String
    let place: Int64
    let sealed: SealedBlob
    let geometry: BlobGeometry

    /// What the chunks showed.
    struct Result: Sendable {
        var isHeaderRight = true
        /// The damaged chunks.
        var bad: [Int] = []
    }

    /// Nil for a length that no sealed blob has.
    init?(path: String, blob: SpooledBlob, sealed: SealedBlob) {
        let size = UInt64(blob.size)
        guard size >= UInt64(BlobGeometry.headerSize + BlobGeometry.tagSize),
            let geometry = BlobGeometry(length: Resealing.plainLength(sealed: size)),
            geometry.sealedLength == size
        else { return nil }
        (self.path, place, self.sealed, self.geometry) = (path, blob.place, sealed, geometry)
    }

    /// The length of the plaintext.
    var length: Int64 { Int64(geometry.length) }

    func run(_ isCancelled: () -> Bool) throws -> Result {
        let file = try File(path, for: .read)
        let header = try file.read(count: BlobGeometry.headerSize, at: place)
        var result = Result()
        do throws(SealedBlob.HeaderProblem) {
            try sealed.check(header: header.span)
        } catch {
            result.isHeaderRight = false
            return result
        }
        var plaintext = [UInt8](repeating: 0, count: BlobGeometry.chunkSize)
        for chunk in 0..<geometry.chunkCount {
            if isCancelled() { throw CancellationError() }
            let range = geometry.sealedRange(chunk)
            let bytes = try file.read(count: range.count, at: place + Int64(range.lowerBound))
            var whole = plaintext.mutableSpan
            var target = whole._mutatingExtracting(0..<geometry.plainSize(chunk))
            let isRight = sealed.open(chunk: chunk, of: geometry, bytes.span, into: &target)
            if !isRight { result.bad.append(chunk) }
        }
        return result
    }
}
