internal import SyncPlatform

/// One item as its payload says it; texts are ranges of the batch that it was decoded into.
struct EntryPayload: Sendable, Equatable {
    /// What an address is as the payload has it.
    enum Ref: Sendable, Equatable {
        /// Not known (yet); a client that has one keeps it while the size stays.
        case absent
        /// The address was taken away.
        case null
        /// It does not parse, or its record name was used before in the item: counts as absent.
        case invalid
        /// It parses; whether its key unwraps is another question. Where its packed form is.
        case packed(Range<Int>)

        /// Whether it is an address that parses.
        var isPacked: Bool {
            if case .packed = self { true } else { false }
        }
    }

    /// The small picture of an attachment, a blob of its own.
    struct Thumb: Sendable, Equatable {
        var type: Range<Int>
        var size: UInt64
        var ref: Ref
    }

    /// One attachment that keeps to all limits.
    struct Attachment: Sendable, Equatable {
        var id: AttachmentID
        var name: Range<Int>
        var type: Range<Int>
        var size: UInt64
        var ref: Ref
        var thumb: Thumb?
        /// Its place among all that the payload lists, also those that are left out.
        var position: Int
    }

    var title: Range<Int>
    var text: Range<Int>?
    var created: Range<Int>?
    var modified: Range<Int>?
    /// Which attachments of the batch are this item's.
    var attachments: Range<Int>
    /// How many attachments break a limit, repeat an id, or come after the 1,000th.
    var leftOut: Int
    /// Whether the payload holds anything that these values do not, and so must be kept.
    ///
    /// That is unknown fields, what was left out, addresses that are invalid.
    var isLossy: Bool

    /// The longest payload.
    static let maximumCount = SealedEntry.maximumPayload
    /// The most attachments of an item.
    static let maximumAttachments = 1_000
    /// How long an attachment's name may be, in bytes of UTF-8.
    static let nameCounts = 1...1_024
}

/// The memory behind many decoded payloads: one buffer and one list instead of a million strings.
struct PayloadBatch: Sendable {
    /// All texts, and all addresses in their packed form.
    var bytes: [UInt8] = []
    /// All attachments, item by item.
    var attachments: [EntryPayload.Attachment] = []

    /// What the item at hand had so far; here, because decoding keeps its memory too.
    var seen = SeenInItem()

    /// Makes an empty batch.
    init() {}

    /// Empties the batch and keeps its memory.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        attachments.removeAll(keepingCapacity: true)
    }

    /// Answers a text of the batch.
    func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
}

/// The ids and record names that an item had so far.
///
/// Most items have few, and then a walk is the quickest; none may make this slow.
struct SeenInItem: Sendable {
    private static let few = 32
    private var ids: [AttachmentID] = []
    private var moreIDs: Set<AttachmentID> = []
    private var names: [Range<Int>] = []
    private var moreNames: Set<String> = []

    /// Begins with another item.
    mutating func removeAll() {
        ids.removeAll(keepingCapacity: true)
        names.removeAll(keepingCapacity: true)
        if !moreIDs.isEmpty { moreIDs = [] }
        if !moreNames.isEmpty { moreNames = [] }
    }

    /// Answers false if the id was there before.
    mutating func insert(_ id: AttachmentID) -> Bool {
        guard !ids.contains(id) else { return false }
        if ids.count == Self.few { return moreIDs.insert(id).inserted }
        ids.append(id)
        return true
    }

    /// Answers false if the record name that stands at `name` was there before.
    mutating func insert(_ name: Range<Int>, of bytes: [UInt8]) -> Bool {
        let all = bytes.span
        let new = all.extracting(name)
        for index in names.indices where all.extracting(names[index]).equals(new) { return false }
        if names.count == Self.few {
            return moreNames.insert(String(decoding: bytes[name], as: UTF8.self)).inserted
        }
        names.append(name)
        return true
    }
}
