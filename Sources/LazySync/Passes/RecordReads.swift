internal import SyncPlatform

/// One attachment's bytes as its readers see them: what lies here, and what is on its way.
///
/// All readers of an attachment share it, so what one asks for comes once for all. It is bound to
/// one record: bytes of two versions never come out as one. The disk is looked at anew for every
/// chunk, which is proved before it is handed out; so what another transfer or process brings counts
/// at once, and nothing has to be proved beforehand.
actor RecordReads {
    nonisolated let row: AttachmentRow
    nonisolated let geometry: BlobGeometry
    nonisolated let ref: CloudBlobRef
    nonisolated let materializer: Materializer
    /// Answers what must be held while bytes are read; makes sure that the account is still open.
    let enter: @Sendable () async throws(SyncError) -> FileLock.Token?
    let room: ReadingRoom
    /// What lies here, as it was found last; nil if it is to be looked for.
    var source: Source?
    /// Keeps the files where they are as long as somebody reads.
    private var use: FileLock.Token?
    var hasReserved = false
    var isMemoryOnly = false
    private var blob: SealedBlob?
    var fetches: [RangeFetch] = []

    /// What a reader finds on the disk.
    enum Source {
        /// A complete file, and the facts that were noted when it was proved.
        case complete(File, HereMark)
        case part(BlobFile)
    }

    init(
        _ materializer: Materializer, _ row: AttachmentRow, _ ref: CloudBlobRef,
        _ room: ReadingRoom,
        enter: @escaping @Sendable () async throws(SyncError) -> FileLock.Token?
    ) throws(SyncError) {
        guard let geometry = BlobGeometry(length: UInt64(row.size)) else {
            throw SyncError(
                .unavailable(.addressInvalid), "read \(row.key.id)", "a size that cannot be")
        }
        self.materializer = materializer
        self.row = row
        self.ref = ref
        self.geometry = geometry
        self.room = room
        self.enter = enter
    }

    deinit {
        use = nil
        guard hasReserved else { return }
        // What was reserved for chunks that did not come is room for others.
        Task { [room = materializer.room, record = ref.recordName] in
            try? await room.settle(record)
        }
    }

    nonisolated var record: String { ref.recordName }

    // MARK: What lies here

    /// Bytes of a complete file whose noted facts fit; nil if there is none.
    ///
    /// Needs neither the key store nor the network.
    func whole(_ range: Range<Int64>) async throws -> [UInt8]? {
        guard case .complete(let file, let mark)? = try await found() else { return nil }
        let bytes = try await Blocking.run { () -> [UInt8]? in
            let bytes = try file.read(count: range.count, at: range.lowerBound)
            // After the bytes: what was written to the file before they were read shows in it.
            let facts = HereMark(boot: mark.boot, facts: try file.facts())
            return facts == mark && bytes.count == range.count ? bytes : nil
        }
        if bytes == nil { source = nil }
        return bytes
    }

    /// A chunk that lies here, proved just now; nil if it does not.
    func local(_ chunk: Int) async throws -> [UInt8]? {
        switch try await found() {
        case nil: return nil
        case .complete:
            let range = geometry.plainRange(chunk)
            let bytes = try await whole(Int64(range.lowerBound)..<Int64(range.upperBound))
            if let bytes { return bytes }
            // If the facts fit no more, there may still be something that can be proved.
            guard case .part(let file)? = try await found() else { return nil }
            return try await Blocking.run { try file.proved(chunk) }
        case .part(let file):
            let (bytes, isPublished) = try await Blocking.run {
                (try file.proved(chunk), try file.isPublished())
            }
            // From now on it can be read without proving it.
            if isPublished, file.isWritable { source = nil }
            return bytes
        }
    }

    private func found() async throws -> Source? {
        if let source { return source }
        if use == nil {
            // A disk that takes no lock takes nothing else either, but what it has can be read.
            use = try? await Blocking.run { [places = materializer.places, record] in
                try BlobUses(places).share(record)
            }
        }
        let now = try await materializer.catalog.attachment(row.key)
        if let now, now.ref?.recordName == record,
            let path = try await materializer.here(now, ref), let mark = now.blob?.mark
        {
            // It may be evicted between the look and the opening.
            let file = try BlobFile.existing(path, .read)
            if let file, HereMark(boot: mark.boot, facts: try file.facts()) == mark {
                _ = try await materializer.isNoted(now, ref, handsOut: false)
                source = .complete(file, mark)
                return source
            }
        }
        let (place, geometry, blob) = (place, geometry, try await sealedBlob())
        let file = try await Blocking.run { try BlobFile.openToRead(place, blob, geometry) }
        source = file.map(Source.part)
        return source
    }

    nonisolated var place: BlobPlace { BlobPlace(record: record, under: materializer.places.blobs) }

    func sealedBlob() async throws(SyncError) -> SealedBlob {
        if let blob { return blob }
        do throws(SyncError) {
            let (opened, _) = try await materializer.sealedBlob(row, ref)
            blob = opened
            return opened
        } catch {
            throw await materializer.rangeFailed(error, row, ref)
        }
    }
}
