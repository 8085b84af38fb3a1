/// What an item is to have from now on; what is nil stays as it is.
public struct ItemEdit: Sendable, Hashable {
    /// The new title.
    public var title: String?
    /// The new text; an empty one takes it away.
    public var text: String?

    /// Describes a change of an item.
    public init(title: String? = nil, text: String? = nil) {
        self.title = title
        self.text = text
    }
}

/// What was added.
public struct AddReport: Sendable, Hashable {
    /// The items, in the order in which they were named.
    public var items: [EntryID] = []
    /// The attachments, in the order of their files.
    public var attachments: [AttachmentKey] = []
}

/// How far adding is; for a progress bar.
public struct AddProgress: Sendable, Hashable {
    /// Files done.
    public var done: Int
    /// Files in all.
    public var total: Int
}

/// Something that was removed and may come back.
public struct TrashedItem: Sendable, Hashable {
    /// The item, or the item that the attachment was in.
    public let item: EntryID
    /// The attachment; nil for all of the item.
    public let attachment: AttachmentID?
    /// The item's title, or the attachment's name: shown escaped.
    public let title: String
    /// How many attachments are with it.
    public let attachmentCount: Int
    /// When it was removed.
    public let removed: Timestamp
}

/// What an attachment's bytes still have to do on their way to the server.
public enum UploadState: Sendable, Hashable {
    /// They wait for a push.
    case waiting
    /// A living process is sending them.
    case sending
    /// The server did not take them.
    case refused(UnavailableReason)

    /// The state's word, as in `list --json`.
    public var name: String {
        switch self {
        case .waiting: "waiting"
        case .sending: "sending"
        case .refused: "refused"
        }
    }

    /// The reason, if the state has one.
    public var reason: UnavailableReason? {
        if case .refused(let reason) = self { reason } else { nil }
    }
}

/// What a push did.
public struct PushReport: Sendable, Hashable {
    /// An attachment whose bytes the server did not take.
    public struct Refused: Sendable, Hashable {
        /// The attachment.
        public let key: AttachmentKey
        /// Why.
        public let reason: UnavailableReason
    }

    /// Changed items that the server has now.
    public var items = 0
    /// Blobs that were sent.
    public var blobs = 0
    /// Their bytes.
    public var bytes: Int64 = 0
    /// Attachments whose bytes the server did not take; their items wait.
    public var refused: [Refused] = []
    /// Items that still wait to be sent.
    public var waiting = 0
    /// The sequence number of the account's head.
    public var head: UInt64 = 0
    /// How long the push took.
    public var seconds = 0.0

    /// Whether everything was sent: decides between exit 0 and 5.
    public var isComplete: Bool { waiting == 0 }
}

/// How far a push is; for a progress bar.
public struct PushProgress: Sendable, Hashable {
    /// Items sent.
    public var items: Int
    /// Items that were to be sent.
    public var totalItems: Int
    /// Bytes of blobs sent so far.
    public var bytes: Int64
}

/// What one round both ways did.
public struct RunReport: Sendable, Hashable {
    /// What came.
    public var restore: RestoreReport
    /// What went.
    public var push: PushReport

    /// Whether everything came and went: decides between exit 0 and 5.
    public var isComplete: Bool { restore.isComplete && push.isComplete }
}

/// What happened while somebody watches.
public enum WatchEvent: Sendable {
    /// A round is done.
    case done(RunReport)
    /// A round failed, and another one follows.
    case failed(SyncError)
}
