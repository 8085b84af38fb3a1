internal import SyncPlatform

/// Seals files into the spool under fresh keys, so that what is pushed is what was added, whatever
/// becomes of the files.
///
/// It blocks: not for the cooperative pool.
final class FileSealer {
    private var opener: RefOpener
    private let random: any RandomSource
    private let spool: Spool
    private let thumbnail: @Sendable (File) -> [UInt8]?
    private let isCancelled: @Sendable () -> Bool
    private var pack: SpoolPack?
    /// What lies in files that are on the disk, or will be after `finish`.
    private(set) var spooled: [SpooledBlob] = []

    /// A file of the spool is closed when it is this long; one blob is never cut in two.
    private static let mostInPack: Int64 = 64 << 20
    /// How often a file that changes while it is read is begun anew.
    private static let mostReads = 3

    /// `thumbnail` makes the small picture of a file, if it is a photo; `isCancelled` is asked
    /// before each mebibyte.
    init(
        _ opener: RefOpener, _ random: any RandomSource, _ spool: Spool,
        isCancelled: @escaping @Sendable () -> Bool = { false },
        thumbnail: @escaping @Sendable (File) -> [UInt8]? = { _ in nil }
    ) {
        self.opener = opener
        self.random = random
        self.spool = spool
        self.thumbnail = thumbnail
        self.isCancelled = isCancelled
    }

    /// How much was sealed.
    var byteCount: Int64 { spooled.reduce(0) { $0 + $1.size } }

    /// Seals a file as an attachment of an item.
    ///
    /// - Throws: `SyncError` (`invalidInput`) if it is no file that can be read, or changes all the
    ///   time; `FileError` for this device's own troubles.
    func seal(_ path: String, for entry: EntryID) throws -> ItemDraft.Attachment {
        let name = try Self.nameChecked(path)
        var attachment = ItemDraft.Attachment(
            id: AttachmentID(random: random), name: name, type: MediaType.of(name), size: 0,
            ref: .absent)
        let file = try Self.open(path)
        for _ in 0..<Self.mostReads {
            let before = try file.facts()
            guard let geometry = BlobGeometry(length: UInt64(before.size)) else {
                throw Self.refusal(path, "it is too large")
            }
            do {
                let ref = try seal(geometry, for: entry, attachment.id, .original) {
                    offset, count in
                    try file.read(count: count, at: offset)
                }
                let picture = attachment.type.hasPrefix("image/") ? thumbnail(file) : nil
                // The thumbnail too is of what was sealed.
                if Self.isSame(before, try file.facts()) {
                    attachment.size = geometry.length
                    attachment.ref = .address(ref)
                    guard let picture else { return attachment }
                    do {
                        attachment.thumb = try sealThumbnail(picture, attachment.id, entry)
                        return attachment
                    } catch {
                        // Nobody will name the original either.
                        takeBack()
                        throw error
                    }
                }
                takeBack()
            } catch let error as FormatError where error.code == .length {
                // It became shorter or longer meanwhile.
            }
        }
        throw Self.refusal(path, "it changes while it is read")
    }

    /// Seals bytes that are in memory.
    func seal(
        _ bytes: [UInt8], for entry: EntryID, _ attachment: AttachmentID, _ role: BlobRole
    ) throws -> CloudBlobRef {
        guard let geometry = BlobGeometry(length: UInt64(bytes.count)) else {
            preconditionFailure("more memory than a blob can have")
        }
        return try seal(geometry, for: entry, attachment, role) { offset, count in
            Array(bytes.dropFirst(Int(offset)).prefix(count))
        }
    }

    /// Puts on the disk what was sealed; nothing of it is kept without this.
    func finish() throws {
        // One with nothing in it goes.
        if let pack, pack.length > 0 { try pack.finish() }
        pack = nil
    }

    // MARK: One blob

    func seal(
        _ geometry: BlobGeometry, for entry: EntryID, _ attachment: AttachmentID, _ role: BlobRole,
        _ read: (Int64, Int) throws -> [UInt8]
    ) throws -> CloudBlobRef {
        let pack = try openPack()
        let key = random.secret(32)
        let (nonce, record) = (random.bytes(24), RecordName(random: random))
        let name = Array(record.description.utf8)
        let blob = key.withBytes { key in
            SealedBlob(contentKey: key, nonce: nonce.span, recordName: name.span)
        }
        let place = try pack.append(blob, geometry) { offset, count in
            if isCancelled() { throw CancellationError() }
            return try read(offset, count)
        }
        spooled.append(
            SpooledBlob(
                record: record.description, pack: pack.name, place: place,
                size: Int64(geometry.sealedLength), role: role))
        let wrapNonce = random.bytes(AEAD.nonceBytes)
        return key.withBytes { key in
            opener.wrap(
                contentKey: key, nonce: nonce.span, recordName: record, wrapNonce: wrapNonce.span,
                entry: entry, attachment: attachment, role: role)
        }
    }

    private func openPack() throws -> SpoolPack {
        if let pack, pack.length < Self.mostInPack { return pack }
        try finish()
        let new = try spool.newPack(random)
        pack = new
        return new
    }

    /// Forgets the blob that was sealed last, and cuts it off its file.
    private func takeBack() {
        let last = spooled.removeLast()
        if let pack, pack.name == last.pack { pack.cut(to: last.place) }
    }

    private func sealThumbnail(
        _ bytes: [UInt8], _ attachment: AttachmentID, _ entry: EntryID
    ) throws -> ItemDraft.Thumb {
        let ref = try seal(bytes, for: entry, attachment, .thumbnail)
        return ItemDraft.Thumb(type: "image/jpeg", size: UInt64(bytes.count), ref: .address(ref))
    }

    // MARK: The source

    /// Finds out, without reading it, what cannot be added at all.
    ///
    /// - Throws: as `seal`.
    static func check(_ path: String) throws {
        _ = try nameChecked(path)
        try reading(path) { () throws(FileError) in
            // Looked at and not opened: a pipe would wait for its other end.
            switch try FileSystem.facts(try FileSystem.realPath(path))?.kind {
            case .regular?: nil
            case .directory?: "it is a folder"
            default: "it is no file"
            }
        }
    }

    private static func open(_ path: String) throws -> File {
        try check(path)
        var opened: File?
        try reading(path) { () throws(FileError) in
            // Also if it was a file a moment ago and is a pipe by now, this does not wait.
            opened = try File(regularFileChosenByUser: path)
            return nil
        }
        guard let opened else { throw refusal(path, "it is no file") }
        return opened
    }

    /// Runs `body`, which answers what is wrong with a path.
    private static func reading(
        _ path: String, _ body: () throws(FileError) -> String?
    ) throws {
        let complaint: String?
        do throws(FileError) {
            complaint = try body()
        } catch {
            switch error.code {
            case .notFound: complaint = "there is no such file"
            case .permission: complaint = "it may not be read"
            default: throw error
            }
        }
        if let complaint { throw refusal(path, complaint) }
    }

    private static func nameChecked(_ path: String) throws -> String {
        let name = name(of: path)
        guard EntryPayload.nameCounts.contains(name.utf8.count) else {
            throw refusal(path, "its name is too long")
        }
        return name
    }

    private static func isSame(_ before: FileFacts, _ after: FileFacts) -> Bool {
        before.size == after.size && before.mtimeNs == after.mtimeNs
            && before.ctimeNs == after.ctimeNs
    }

    /// The last part of a path.
    static func name(of path: String) -> String {
        let parts = path.split(separator: "/")
        return parts.last.map(String.init) ?? path
    }

    private static func refusal(_ path: String, _ why: String) -> SyncError {
        SyncError(.invalidInput, "add \(path)", "'\(path)' cannot be added: \(why)")
    }
}
