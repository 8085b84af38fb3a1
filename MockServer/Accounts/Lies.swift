/// What a server says that is not so.
///
/// A view changes what is read, and pushes go to the truth; a branch is a truth of its own that takes
/// pushes, and is never kept in `--data`.
enum Lie: Sendable {
    // Views.

    /// An old head over the entries of now.
    case oldHead(UInt64)
    /// Entries are missing, under the head that counts them.
    case withheld(Set<EntryID>)
    /// An entry of another account is among this one's.
    case foreign(AccountSeed.Entry)
    /// Every entry is said to be removed.
    case allRemoved
    /// No entries, under the head that counts them.
    case noEntries
    /// No entries and no head, as if the account had never been used.
    case neverUsed
    /// Every blob is said to be deleted, and none is listed.
    case noBlobs

    // Branches.

    /// All as it was at a seq; pushes go on from there.
    case rolledBack(UInt64)
    /// From now on, what others push is not seen here, nor what is pushed here by others.
    case fork
}

/// Whom a server lies to.
enum Audience: Sendable, Equatable {
    case everyone
    /// All sessions of a device, by the name of its login.
    case device(String)
    /// One session; logins are counted from 1.
    case session(Int)

    /// Whether somebody is among them.
    func includes(_ member: SessionBook.Member?) -> Bool {
        switch self {
        case .everyone: true
        case .device(let name): member?.device == name
        case .session(let number): member?.session == number
        }
    }
}

/// The lies that an account's server tells; the newest branch counts, and all views do.
struct Lies: Sendable {
    /// A truth of its own.
    struct Branch: Sendable {
        var audience: Audience
        var manifest: Manifest
    }

    var branches: [Branch] = []
    var views: [(lie: Lie, audience: Audience)] = []
}

extension ServedAccount {
    /// Begins to lie.
    ///
    /// - Throws: when no head of that seq is known.
    func tell(_ lie: Lie, to audience: Audience = .everyone) throws(SetupError) {
        try change { state throws(SetupError) in
            switch lie {
            case .fork:
                state.lies.branches.append(.init(audience: audience, manifest: state.truth))
            case .rolledBack(let seq):
                guard let old = state.truth.asOf(seq) else {
                    throw SetupError("no head of seq \(seq) is known")
                }
                state.lies.branches.append(.init(audience: audience, manifest: old))
            case .oldHead(let seq) where seq > 0 && state.truth.head(of: seq) == nil:
                throw SetupError("no head of seq \(seq) is known")
            default: state.lies.views.append((lie, audience))
            }
        }
    }

    /// Lies no more; what was pushed to a branch is lost.
    func tellTheTruth() {
        change { $0.lies = Lies() }
    }
}

extension ServedAccount.State {
    /// The entries and the head as somebody is shown them.
    func manifest(for member: SessionBook.Member?) -> Manifest {
        var shown = lies.branches.last { $0.audience.includes(member) }?.manifest ?? truth
        for (lie, audience) in lies.views where audience.includes(member) { shown.apply(lie) }
        return shown
    }

    /// The blobs as somebody is shown them.
    func blobs(for member: SessionBook.Member?) -> BlobStore {
        var shown = blobs
        for (lie, audience) in lies.views where audience.includes(member) {
            if case .noBlobs = lie { shown.looksEmpty = true }
        }
        return shown
    }
}

extension Manifest {
    /// Makes a lie of the truth.
    fileprivate mutating func apply(_ lie: Lie) {
        switch lie {
        case .oldHead(let seq): head = head(of: seq)
        case .withheld(let ids): entries.leaveOut(ids)
        case .foreign(let entry):
            var entry = entry
            entry.seq = headSeq
            try? entries.put(LineBuffer(Array(entry.line.utf8)))
        case .allRemoved:
            var lines: [UInt8] = []
            for slot in entries.newest { lines += Manifest.removed(entries.line(slot)) + [0x0A] }
            if let log = try? EntryLog(LineBuffer(lines)) { entries = log }
        case .noEntries: entries = .empty
        case .neverUsed: self = Manifest(entries: .empty, head: nil)
        case .noBlobs, .rolledBack, .fork: break
        }
    }

    /// The line of an entry with the kind of a tombstone.
    private static func removed(_ line: [UInt8]) -> [UInt8] {
        guard case .object(var members)? = try? JSONTree(parsing: line) else { return line }
        for index in members.indices where members[index].key == "kind" {
            members[index].value = 1
        }
        return Array(JSONTree.object(members).text.utf8)
    }
}
