/// An attachment's name in the whole account: the same attachment id in two items is two
/// attachments.
public struct AttachmentKey: Sendable, Hashable, CustomStringConvertible {
    /// The item that the attachment is in.
    public let item: EntryID
    /// The attachment's id, unique in its item.
    public let id: AttachmentID

    /// Names an attachment of an item.
    public init(item: EntryID, id: AttachmentID) {
        self.item = item
        self.id = id
    }

    /// `ITEM/ID`, in hex.
    public var description: String { "\(item)/\(id)" }
}

/// One row of a list.
public struct Attachment: Sendable, Hashable {
    /// The attachment's name in the whole account.
    public let key: AttachmentKey
    /// The display name: shown escaped, never a path.
    public let name: String
    /// The media type, as the item's author wrote it.
    public let type: String
    /// The plaintext's length in bytes.
    public let size: Int64
    /// The title of the item that it is in.
    public let itemTitle: String
    /// Where the bytes are.
    public let state: BlobState
    /// The thumbnail's state; nil if the attachment has none.
    public let thumbnail: BlobState?
    /// Whether its bytes are kept on this device.
    public let isPinned: Bool
    /// What its bytes still have to do on their way to the server; nil if nothing.
    public let upload: UploadState?
}

/// Which rows of the list to show.
public struct AttachmentQuery: Sendable, Hashable {
    /// A state's word: `remote`, `pending`, `here` or `unavailable`.
    public var state: String?
    /// A media type (`image/jpeg`) or its first half (`image`).
    public var type: String?
    /// How many rows at the most.
    public var limit: Int
    /// Rows after this attachment, in the list's order.
    public var after: AttachmentKey?

    /// Asks for the newest attachments.
    public init(
        state: String? = nil, type: String? = nil, limit: Int = 100, after: AttachmentKey? = nil
    ) {
        self.state = state
        self.type = type
        self.limit = limit
        self.after = after
    }
}
