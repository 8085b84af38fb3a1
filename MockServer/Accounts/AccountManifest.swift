/// One truth about an account's entries: what they are, and under which head.
struct Manifest: Sendable {
    var entries: EntryLog
    /// In base64url; nil for an empty account.
    var head: String? {
        didSet { remember() }
    }
    /// The heads that there were, by their seq.
    private var heads: [UInt64: String] = [:]

    init(entries: EntryLog, head: String?) {
        self.entries = entries
        self.head = head
        remember()
    }

    /// The head's seq; 0 for an empty account.
    var headSeq: UInt64 {
        guard let head, let bytes = Base64URL.decode(head), bytes.count >= 32 else {
            return head == nil ? 0 : entries.slots.last?.seq ?? 0
        }
        return bytes[24..<32].bigEndian
    }

    private mutating func remember() {
        if let head { heads[headSeq] = head }
    }

    /// The head that once had this seq.
    func head(of seq: UInt64) -> String? { heads[seq] }

    /// How it was when `seq` was the newest; nil when no head of that seq is known.
    func asOf(_ seq: UInt64) -> Manifest? {
        if seq == 0 { return Manifest(entries: .empty, head: nil) }
        return heads[seq].map { Manifest(entries: entries.asOf(seq), head: $0) }
    }

    /// Judges a push; false when it is there already.
    ///
    /// - Throws: `head-moved` or `bad-push`.
    mutating func judge(_ push: Push) throws(Refusal) -> Bool {
        if push.head.text == head { return false }
        let stored = head.flatMap { HeadFacts($0) }
        let previous = stored?.hash ?? [UInt8](repeating: 0, count: 32)
        // A head that this server was given and cannot read has no successor.
        guard head == nil || stored != nil, push.head.seq == headSeq + 1,
            push.head.previous.elementsEqual(previous)
        else {
            var refusal = Refusal(409, "head-moved", "The account has another head")
            refusal.members = [("head", JSONTree(head))]
            throw refusal
        }
        if let stored, push.head.epoch < stored.epoch {
            throw Push.bad("The head's epoch is below the stored one")
        }
        var added: UInt64 = 0
        for entry in push.entries {
            let version = entries.version(of: entry.id)
            guard version < .max, entry.version == version + 1 else {
                throw Push.bad("The version of \(entry.id.hex) does not rise by 1")
            }
            if version == 0 { added += 1 }
        }
        guard push.head.count == UInt64(entries.count) + added else {
            throw Push.bad("The head's count does not fit")
        }
        return true
    }

    /// Takes what a push brings.
    mutating func apply(_ lines: LineBuffer, head: String) throws(SetupError) {
        try entries.put(lines)
        self.head = head
    }
}
