internal import SyncPlatform

/// An attachment that the catalog had before its item changed.
struct KnownAttachment: Sendable {
    let row: Int64
    let size: Int64
    let address: AddressState
    let ref: CloudBlobRef?
    let thumbnail: ThumbnailState
    let thumbnailSize: Int64
    let thumbnailRef: CloudBlobRef?
    let words: Words

    /// What an attachment says beyond its bytes.
    struct Words: Sendable {
        let position: Int64
        let createdAt: Int64
        let name: [UInt8]
        let type: [UInt8]
        let thumbType: [UInt8]?
    }

    /// The same with other addresses.
    func with(ref: CloudBlobRef?, thumbnailRef: CloudBlobRef?) -> KnownAttachment {
        KnownAttachment(
            row: row, size: size, address: address, ref: ref, thumbnail: thumbnail,
            thumbnailSize: thumbnailSize, thumbnailRef: thumbnailRef, words: words)
    }

    /// Whether to write a new one over it would change nothing: most edits leave attachments alone.
    func isSame(
        as merged: MergedAttachment, _ new: EntryPayload.Attachment, createdAt: Int64,
        _ text: Span<UInt8>
    ) -> Bool {
        func isSame(_ known: CloudBlobRef?, _ range: Range<Int>?, keeps: Bool) -> Bool {
            guard let range else { return keeps || known == nil }
            guard let known else { return false }
            let bytes = known.packed
            return bytes.span.equals(text.extracting(range))
        }
        func isSame(_ known: [UInt8]?, _ range: Range<Int>?) -> Bool {
            guard let known, let range else { return known == nil && range == nil }
            return known.span.equals(text.extracting(range))
        }
        return size == Int64(new.size) && address == merged.address
            && thumbnail == merged.thumbnail && words.position == Int64(new.position)
            && words.createdAt == createdAt
            && thumbnailSize == new.thumb.map { Int64($0.size) } ?? 0
            && isSame(words.name, new.name) && isSame(words.type, new.type)
            && isSame(words.thumbType, new.thumb?.type)
            && isSame(ref, merged.ref, keeps: merged.keepsRef)
            && isSame(thumbnailRef, merged.thumbnailRef, keeps: merged.keepsThumbnailRef)
    }

    /// What a thumbnail of its own takes on the disk, if it is here.
    var thumbnailDiskBytes: Int64 {
        thumbnailRef == nil ? 0 : DiskCost.file(thumbnailSize)
    }
}

/// What an attachment is after its item changed: pure, and where an address is never lost.
///
/// A ref that is absent or invalid leaves the old address in place while the size stays; only
/// `null` takes it away. The same holds for the thumbnail's.
struct MergedAttachment: Sendable {
    let address: AddressState
    /// Where the new packed ref is in the batch; nil keeps the old one, if `address` has one.
    let ref: Range<Int>?
    let keepsRef: Bool
    let thumbnail: ThumbnailState
    let thumbnailRef: Range<Int>?
    let keepsThumbnailRef: Bool
    /// Whether the bytes that are here, or on their way, are still the right ones.
    let keepsBytes: Bool
    let keepsThumbnailBytes: Bool

    /// Thumbnails up to this size are fetched at once, and photos up to it that have none.
    static let eagerLimit: UInt64 = 256 << 10

    init(_ new: EntryPayload.Attachment, over old: KnownAttachment?, in text: Span<UInt8>) {
        let mayKeep = old?.ref != nil && old?.size == Int64(new.size)
        switch new.ref {
        case .packed(let range): (address, ref, keepsRef) = (.complete, range, false)
        case .absent: (address, ref, keepsRef) = (mayKeep ? .complete : .absent, nil, mayKeep)
        case .invalid: (address, ref, keepsRef) = (mayKeep ? .kept : .invalid, nil, mayKeep)
        case .null: (address, ref, keepsRef) = (.takenAway, nil, false)
        }
        keepsBytes =
            old?.size == Int64(new.size) && Self.isSameRecord(ref, keepsRef, old?.ref, text)
        guard let thumb = new.thumb else {
            (thumbnailRef, keepsThumbnailRef) = (nil, false)
            let isSmallPhoto =
                new.size <= Self.eagerLimit && address.reason == nil
                && Self.isImage(text.extracting(new.type))
            let mayStay = keepsBytes && old?.thumbnailRef == nil
            thumbnail = isSmallPhoto ? Self.state(mayStay ? old : nil, else: .due) : .none
            keepsThumbnailBytes = false
            return
        }
        let sizeStays = old?.thumbnailSize == Int64(thumb.size)
        let mayKeepThumb = old?.thumbnailRef != nil && sizeStays
        let eager: ThumbnailState = thumb.size <= Self.eagerLimit ? .due : .notEager
        switch thumb.ref {
        case .packed(let range):
            (thumbnailRef, keepsThumbnailRef) = (range, false)
            keepsThumbnailBytes =
                sizeStays && Self.isSameRecord(range, false, old?.thumbnailRef, text)
            thumbnail = Self.state(keepsThumbnailBytes ? old : nil, else: eager)
        case .absent, .invalid:
            (thumbnailRef, keepsThumbnailRef) = (nil, mayKeepThumb)
            keepsThumbnailBytes = mayKeepThumb
            let missing: ThumbnailState = thumb.ref == .absent ? .addressAbsent : .addressInvalid
            thumbnail = mayKeepThumb ? Self.state(old, else: eager) : missing
        case .null:
            (thumbnailRef, keepsThumbnailRef, keepsThumbnailBytes) = (nil, false, false)
            thumbnail = .none
        }
    }

    /// What is known about a thumbnail whose bytes stay the same; what is not about bytes begins
    /// anew.
    private static func state(
        _ old: KnownAttachment?, else new: ThumbnailState
    ) -> ThumbnailState {
        switch old?.thumbnail {
        case .here?: .here
        case .failed?: .failed
        default: new
        }
    }

    /// Whether a new address is of the record that the old one was of.
    private static func isSameRecord(
        _ new: Range<Int>?, _ keeps: Bool, _ old: CloudBlobRef?, _ text: Span<UInt8>
    ) -> Bool {
        guard let old else { return false }
        guard let new else { return keeps }
        let name = text.extracting(new).extracting(CloudBlobRef.nameStart...)
        return name.equals(old.packed.span.extracting(CloudBlobRef.nameStart...))
    }

    private static func isImage(_ type: Span<UInt8>) -> Bool {
        type.count > 6 && type.extracting(..<6).equals(Array("image/".utf8).span)
    }
}
