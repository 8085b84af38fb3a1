internal import SyncPlatform

/// What an export file is: one JSON object a line, the first member of each saying what it is.
///
/// | line | first member | |
/// |---|---|---|
/// | the first | `format` | version, account, name, server, head |
/// | one an entry | `entry` | items and tombstones, in the order of their ids |
/// | one an entry that waits | `staged` | unreadable ones and held tombstones, in the order of ids |
/// | the last | `end` | counts, and the BLAKE2b-256 of every byte before it |
///
/// Only content is in it: two devices with the same content write the same bytes.
enum ExportLine: Sendable, Equatable {
    case header(ExportHeader)
    case entry(ExportedEntry)
    case staged(ExportedStaged)
    case end(ExportEnd)

    static let format = "lazysync-export"
    /// Another version is refused: it holds what must not be left out.
    static let version: Int64 = 1
    /// A file of a higher one may hold members and lines that are not known here, and can be left
    /// out.
    static let minor: Int64 = 0
    /// The longest line: a payload as it came and all of its values, twice over.
    static let maximumCount = 8 << 20
}

/// The first line of an export.
struct ExportHeader: Sendable, Equatable {
    var account: AccountID
    var name: String
    var server: String
    /// The head that was verified last.
    var head: Head?
    var minor = ExportLine.minor

    static let nameCounts = 1...1_024
}

/// An entry as an export has it: what its author wrote and how it stands, and nothing of a device.
struct ExportedEntry: Sendable, Equatable {
    /// What an item has and a tombstone does not.
    struct Item: Sendable, Equatable {
        var title: String
        var text: String?
        var created: String?
        var modified: String?
        /// The payload as it came, if it says more than the values do.
        var payload: [UInt8]?
        var attachments: [Attachment] = []
    }

    /// One attachment; its address is there when the state says so.
    struct Attachment: Sendable, Equatable {
        var id: AttachmentID
        var position: Int
        var name: String
        var type: String
        var size: Int64
        var address: AddressState
        var ref: CloudBlobRef?
        var thumb: Thumb?
    }

    /// An attachment's thumbnail; whether it is here is not content.
    struct Thumb: Sendable, Equatable {
        var type: String
        var size: Int64
        /// Complete, absent, invalid or taken away.
        var address: AddressState
        var ref: CloudBlobRef?
    }

    var facts: EntryFacts
    var leaf: SetDigest
    /// nil for a tombstone.
    var item: Item?
}

/// An entry that waits: sealed bytes that cannot be read, or a tombstone that is held.
struct ExportedStaged: Sendable, Equatable {
    var facts: EntryFacts
    var leaf: SetDigest
    /// nil for a tombstone.
    var sealed: [UInt8]?
}

/// The last line of an export.
struct ExportEnd: Sendable, Equatable {
    var entries = 0
    var attachments = 0
    var staged = 0
    /// The BLAKE2b-256 of every byte before this line.
    var digest: [UInt8] = []
}

extension AddressState {
    /// The state's word in an export.
    var word: String {
        switch self {
        case .complete: "complete"
        case .absent: "absent"
        case .invalid: "invalid"
        case .takenAway: "takenAway"
        case .kept: "kept"
        }
    }

    /// Whether there is an address.
    var hasRef: Bool { self == .complete || self == .kept }

    init?(word: Span<UInt8>) {
        for raw in 0...4 as ClosedRange<Int64> {
            guard let state = AddressState(rawValue: raw) else { continue }
            let text = state.word
            if word.equals(text.utf8Span.span) {
                self = state
                return
            }
        }
        return nil
    }
}
