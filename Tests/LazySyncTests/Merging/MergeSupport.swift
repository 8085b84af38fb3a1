import Testing

@testable import LazySync
@testable import TestSupport

/// A row of the table: what each side knows, and what becomes of it.
struct MergeRow: Sendable, CustomTestStringConvertible {
    /// The first cell of the row of docs/DESIGN.md.
    let testDescription: String
    let base: ItemSide
    let local: ItemSide
    let remote: ItemSide
    let shown: ItemSide
    let isUnsent: Bool
    let copy: ItemDraft?

    init(
        _ words: String, base: ItemSide, local: ItemSide, remote: ItemSide, shown: ItemSide,
        sent: Bool, copy: ItemDraft? = nil
    ) {
        testDescription = words
        (self.base, self.local, self.remote) = (base, local, remote)
        (self.shown, isUnsent, self.copy) = (shown, sent, copy)
    }
}

/// An item with a title, and what else it has.
func item(
    _ title: String, _ text: String? = nil, at modified: String? = nil,
    _ files: [ItemDraft.Attachment] = []
) -> ItemSide {
    .item(draft(title, text, at: modified, files))
}

func item(_ title: String, _ files: [ItemDraft.Attachment]) -> ItemSide {
    item(title, nil, files)
}

func draft(_ title: String, _ files: [ItemDraft.Attachment]) -> ItemDraft {
    draft(title, nil, files)
}

func draft(
    _ title: String, _ text: String? = nil, at modified: String? = nil,
    _ files: [ItemDraft.Attachment] = []
) -> ItemDraft {
    ItemDraft(title: title, text: text, modified: modified, attachments: files)
}

/// An attachment; nil as record is an address that is not known.
func file(
    _ id: Int, _ record: String?, name: String = "n", size: UInt64 = 1, thumb: String? = nil,
    wrap: UInt8 = 0
) -> ItemDraft.Attachment {
    var file = ItemDraft.Attachment(
        id: attachmentID(id), name: name, type: "t", size: size,
        ref: record.map { .address(address($0, wrap)) } ?? .absent)
    if let thumb {
        file.thumb = ItemDraft.Thumb(type: "t", size: 1, ref: .address(address(thumb, wrap)))
    }
    return file
}

/// An attachment whose address was taken away.
func fileWithoutBytes(_ id: Int) -> ItemDraft.Attachment {
    var file = file(id, nil)
    file.ref = .null
    return file
}

/// An address; `wrap` tells two wrapped keys of one record apart.
func address(_ record: String, _ wrap: UInt8 = 0) -> CloudBlobRef {
    let nonce = [UInt8](repeating: 7, count: CloudBlobRef.nonceRange.count)
    let key = [UInt8](repeating: wrap, count: CloudBlobRef.wrappedKeyRange.count)
    return known(
        CloudBlobRef(
            recordName: known(RecordName(record)), nonce: nonce.span, wrappedKey: key.span))
}

func attachmentID(_ number: Int) -> AttachmentID {
    let digits = String(number)
    return known(AttachmentID(String(repeating: "0", count: 32 - digits.count) + digits))
}
