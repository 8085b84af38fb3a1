/// What an export wrote.
public struct ExportReport: Sendable, Hashable {
    /// Entries: items, and what is left of removed ones.
    public var entries = 0
    /// Items among them.
    public var items = 0
    /// Attachments of these items.
    public var attachments = 0
    /// Entries that wait: unreadable ones, and removals that are held.
    public var waiting = 0
    /// Items that are changed here; the file has them as the server does, and not those that it
    /// does not have.
    public var unsent = 0
    /// The file's length.
    public var bytes: Int64 = 0
}

/// What an import brought.
public struct ImportReport: Sendable, Hashable {
    /// The account's name.
    public var account: String
    /// Items that are here now.
    public var items = 0
    /// Attachments of these items.
    public var attachments = 0
    /// The sequence number of the head that the file names; nothing is verified yet.
    public var head: UInt64 = 0
    /// Lines and members of a newer program that were left out.
    public var leftOut = 0
    /// Where the catalog is that was replaced.
    public var kept: String?
}
