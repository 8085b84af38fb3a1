internal import SyncPlatform

/// An attachment as the catalog has it.
struct AttachmentRow: Sendable {
    let row: Int64
    let key: AttachmentKey
    let name: String
    let type: String
    let size: Int64
    let address: AddressState
    let ref: CloudBlobRef?
    let thumbnail: ThumbnailState
    let thumbnailRef: CloudBlobRef?
    let itemTitle: String
    let place: ListPlace
    /// Why its thumbnail did not come.
    let thumbnailFailure: UnavailableReason?
    let isPinned: Bool
    /// What happened to its bytes so far.
    var blob: BlobRecord?
    /// Its sealed bytes, if they were added here and no accepted head names them yet.
    var spooled: SpooledBlob?
    var isThumbnailSpooled = false

    /// The state of its thumbnail as it is to be shown.
    ///
    /// A small photo that is its own thumbnail is here just as long as its bytes are, whichever of
    /// the attachments of its record brought them or was there when they went.
    var shownThumbnail: ThumbnailState {
        if isThumbnailSpooled { return .here }
        guard thumbnailRef == nil else { return thumbnail }
        switch thumbnail {
        case .here, .due, .failed, .notEager:
            if blob?.mark != nil || spooled != nil { return .here }
            return thumbnail == .here ? .notEager : thumbnail
        case .none, .addressAbsent, .addressInvalid: return thumbnail
        }
    }

    /// Reads the columns that all lists have in common.
    init(_ statement: Statement) throws {
        guard let item = EntryID(bytes: statement.blob(1).span),
            let id = AttachmentID(bytes: statement.blob(2).span)
        else { throw CatalogDamage(what: "an identifier of another length") }
        row = statement.int(0)
        key = AttachmentKey(item: item, id: id)
        name = try statement.text(3)
        type = try statement.text(4)
        size = statement.int(5)
        address = AddressState(rawValue: statement.int(6)) ?? .absent
        ref = CloudBlobRef(packed: statement.blob(7).span)
        thumbnail = ThumbnailState(rawValue: statement.int(8)) ?? .none
        thumbnailRef = CloudBlobRef(packed: statement.blob(9).span)
        itemTitle = try statement.text(10)
        place = ListPlace(orderKey: statement.blob(11), position: statement.int(12))
        thumbnailFailure =
            statement.isNull(13) ? nil : UnavailableReason(rawValue: try statement.text(13))
        isPinned = statement.int(14) == 1
    }
}

/// A place in the list of attachments: the item's, and the position in the item.
struct ListPlace: Sendable, Hashable {
    let orderKey: [UInt8]
    let position: Int64

    /// Before all places.
    static let start = ListPlace(
        orderKey: [UInt8](repeating: 0xFF, count: ListOrder.byteCount + 1), position: -1)
}

/// A value in the catalog that nothing of ours writes.
struct CatalogDamage: Error, Sendable {
    let what: String
}

/// The facts of the file that was proved: if one differs, it is proved again.
struct HereMark: Sendable, Hashable {
    let boot: String
    let inode: Int64
    let size: Int64
    let mtime: Int64
    let ctime: Int64

    init(boot: String, facts: FileFacts) {
        self.boot = boot
        inode = Int64(bitPattern: facts.inode)
        size = facts.size
        mtime = facts.mtimeNs
        ctime = facts.ctimeNs
    }

    init(boot: String, inode: Int64, size: Int64, mtime: Int64, ctime: Int64) {
        self.boot = boot
        self.inode = inode
        self.size = size
        self.mtime = mtime
        self.ctime = ctime
    }
}

/// What happened to one record's bytes; a row exists only if they were asked for.
struct BlobRecord: Sendable, Hashable {
    var attachment: Int64
    var mark: HereMark?
    var reason: UnavailableReason?
    var evidence = Evidence()
    /// What its files may take on the disk.
    var held: Int64 = 0
    /// When its path was handed out last, in Unix seconds.
    var handedAt: Int64?
    /// Whether nothing was opened since it was.
    var isNewest = false
}
