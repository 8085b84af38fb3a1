/// What a restore did, and what is here now.
public struct RestoreReport: Sendable, Hashable {
    /// Items that are here.
    public var items = 0
    /// Attachments of these items.
    public var attachments = 0
    /// Attachments whose bytes can be fetched.
    public var addressesComplete = 0
    /// Attachments whose ref is absent or invalid; a ref of null is neither complete nor missing.
    public var addressesMissing = 0
    /// Thumbnails that are here, verified.
    public var thumbnailsHere = 0
    /// Thumbnails that did not come, if they were asked for.
    public var thumbnailsFailed = 0
    /// Entries that were kept aside because they cannot be read.
    public var unreadable: [EntryID] = []
    /// Bytes of bodies that came over the wire in this run.
    public var bytes: Int64 = 0
    /// How long the run took.
    public var seconds = 0.0
    /// The sequence number of the account's head.
    public var head: UInt64 = 0
    /// Whether the head adds up with what is here.
    public var verified = false

    /// Whether everything came: decides between exit 0 and 5.
    public var isComplete: Bool {
        addressesMissing == 0 && thumbnailsFailed == 0 && unreadable.isEmpty && verified
    }
}

/// How far a restore is; for a progress bar.
public struct RestoreProgress: Sendable, Hashable {
    /// What is being fetched.
    public enum Phase: Sendable, Hashable {
        /// The catalog: everything about items and attachments but their bytes.
        case addresses
        /// The thumbnails, newest first.
        case thumbnails
    }
    /// What is being fetched at the moment.
    public var phase: Phase
    /// Entries or thumbnails done.
    public var done: Int
    /// Entries or thumbnails in all, if that is known.
    public var total: Int?
    /// Bytes of bodies so far.
    public var bytes: Int64
}

/// A file that was brought here.
public struct MaterializedFile: Sendable, Hashable {
    /// Whose bytes they are.
    public let key: AttachmentKey
    /// Where the file lies; read only, and only as long as the cache keeps it.
    public let path: String
    /// The file's length in bytes.
    public let size: Int64
    /// Plaintext bytes that came over the wire for this call; 0 if the file was here.
    public internal(set) var bytesFetched: Int64
    /// HTTP requests that were sent for its bytes.
    public internal(set) var requests: Int
}

/// Everything that is known about one attachment's bytes.
public struct Explanation: Sendable, Hashable {
    /// The attachment as the list shows it.
    public let attachment: Attachment
    /// The record's name at the store; nil when there is no address.
    public let recordName: String?
    /// What the last try showed.
    public let evidence: Evidence
    /// The file's path, if it is here.
    public let path: String?
}

/// One of the two places that an account's catalog can be at.
public enum Place: String, Sendable, Hashable, CaseIterable {
    /// The user's own data home, or the home that was given.
    case `private`
    /// The container that several programs of the user share.
    case shared
}

/// An account's state at a glance.
public struct EngineStatus: Sendable, Hashable {
    /// The account's name.
    public var account: String
    /// The server's address.
    public var server: String
    /// The sequence number of the last head.
    public var head: UInt64
    /// Whether that head adds up with what is here.
    public var verified: Bool
    /// `active`, `ended` or `keyMissing`.
    public var session: String
    /// The account id whose catalog is open.
    public var scope: AccountID
    /// Which of the two places has the catalog.
    public var place: Place
    /// The folder that has it.
    public var folder: String
    /// The version of the catalog's schema.
    public var schema: Int
    /// Attachments by state's word.
    public var states: [String: Int]
    /// What the cache takes, and what it may take.
    public var cache: CacheUse
    /// Items whose changes wait to be sent.
    public var outbox: Int
    /// Words for what needs a person's attention, such as `headMismatch`.
    public var flags: [String]
}

/// One change that a list would want to draw.
public enum StateChange: Sendable, Hashable {
    /// Rows were added, changed or removed: ask for the visible page again.
    case catalog
    /// One attachment's bytes changed state; `bytes` are the verified ones so far.
    case attachment(AttachmentKey, BlobState, bytes: Int64)
    /// One attachment's thumbnail changed state.
    case thumbnail(AttachmentKey, BlobState)
}

/// How far a catalog is on its way to a newer version; for a line on a screen.
public struct MigrationProgress: Sendable, Hashable {
    /// What is being done.
    public enum Phase: Sendable, Hashable {
        /// A copy of the catalog is made, which comes back if something fails; counted in pages.
        case copying
        /// It is brought to this version by the step of this name; counted in statements.
        case changing(Int32, String)
        /// All of it is checked before this version counts.
        case checking(Int32)
    }
    /// What is being done at the moment.
    public var phase: Phase
    /// Pages or statements done.
    public var done: Int
    /// Pages in all; nil for the other phases.
    public var total: Int?

    /// Says how far something is.
    public init(phase: Phase, done: Int, total: Int? = nil) {
        self.phase = phase
        self.done = done
        self.total = total
    }
}
