/// One row of the list of items.
public struct ItemSummary: Sendable, Hashable {
    /// The item's id.
    public let id: EntryID
    /// The title: shown escaped.
    public let title: String
    /// When the item was made, as its author wrote it; for people, not for ordering.
    public let created: String?
    /// When the item was last changed, as its author wrote it.
    public let modified: String?
    /// How many attachments the item has.
    public let attachmentCount: Int
}

/// One item with its text and attachments.
public struct Item: Sendable, Hashable {
    /// The item's id.
    public let id: EntryID
    /// The title: shown escaped.
    public let title: String
    /// The text, if the item has one: shown escaped.
    public let text: String?
    /// When the item was made, as its author wrote it; for people, not for ordering.
    public let created: String?
    /// When the item was last changed, as its author wrote it.
    public let modified: String?
    /// The attachments, in the item's own order.
    public let attachments: [Attachment]
}
