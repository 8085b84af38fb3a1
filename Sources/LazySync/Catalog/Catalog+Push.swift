internal import SyncPlatform

/// A push that is about to be sent, or whose answer was lost: the very same bytes each time.
struct PreparedPush: Sendable {
    let head: Head
    let entries: [Entry]
    /// The row of the last of them.
    var last: Int64 = 0

    /// One entry of it.
    struct Entry: Sendable {
        let facts: EntryFacts
        let sealed: [UInt8]
    }

    /// What goes out.
    var body: ManifestPush {
        ManifestPush(head: head, entries: entries.map { ($0.facts, $0.sealed) })
    }
}

/// What is sent and what became of it, each in one transaction.
extension Catalog {
    /// Changes that wait, in the order of their rows, after a row.
    func waiting(
        after row: Int64, limit: Int
    ) async throws(SyncError) -> [(row: Int64, id: EntryID, isRemoval: Bool)] {
        try await read("list what is to be sent") { connection in
            let query = try connection.prepare(.waitingAfter)
            query.bind(row, at: 1)
            query.bind(Int64(limit), at: 2)
            var found: [(Int64, EntryID, Bool)] = []
            while try query.step() {
                guard let id = EntryID(bytes: query.blob(1).span) else { continue }
                found.append((query.int(0), id, query.int(2) == 1))
            }
            return found
        }
    }

    /// How many entries wait to be sent.
    func countWaiting() async throws(SyncError) -> Int {
        try await read("count what is to be sent") { try $0.countWaiting() }
    }

    /// The push whose answer has not come; nil if there is none.
    func preparedPush() async throws(SyncError) -> PreparedPush? {
        try await read("look for an unfinished push") { connection in
            guard let head = try connection.pushingHead() else { return nil }
            var entries: [PreparedPush.Entry] = []
            var last: Int64 = 0
            try connection.forEachSent { sent in
                entries.append(PreparedPush.Entry(facts: sent.facts, sealed: sent.sealed))
                last = sent.row
            }
            return PreparedPush(head: head, entries: entries, last: last)
        }
    }

    /// The blobs that the unfinished push names and that the store does not have for certain.
    func sentBlobs() async throws(SyncError) -> [SpooledBlob] {
        try await read("look for an unfinished push") { connection in
            let decoder = EntryDecoder()
            var found: [SpooledBlob] = []
            try connection.forEachSent { sent in
                guard let payload = sent.payload else { return }
                for ref in try ItemDraft(payload, using: decoder).addresses {
                    if let blob = try connection.spooled(ref.recordName) { found.append(blob) }
                }
            }
            return found
        }
    }

    /// Gives up a push that has not arrived; what it says is to be sent anew.
    func forgetPush() async throws(SyncError) {
        try await write("give up a push") { connection in
            try connection.giveUpPush()
        }
    }

    /// Seals some of the changes that wait and the head that counts them, and keeps both.
    ///
    /// Entries that wait for something else are left out, and those that are too many for one push;
    /// nil if nothing is left to be sent. Not ready is a catalog that is not at its verified head.
    func preparePush(
        of rows: [Int64], borrowing borrowed: Set<String> = [], account: AccountID,
        keys: AccountKeys, random: any RandomSource, now: Timestamp
    ) async throws(SyncError) -> (push: PreparedPush?, isReady: Bool) {
        try await write("prepare a push", isDurable: true) { connection in
            let cursor = try connection.cursor()
            let store = try EntryStore(connection)
            guard cursor.unfinished == nil, cursor.mismatch == nil,
                store.isAt(cursor.verified, account, keys)
            else { return (nil, false) }
            var digest = store.digest
            var count = store.entries
            let sealer = PushSealer(
                account: account, keys: keys, random: random, now: now, borrowed: borrowed,
                decoder: store.decoder)
            var entries: [PreparedPush.Entry] = []
            var (bytes, last) = (0, Int64(0))
            for row in rows where bytes < PushSealer.mostBytes {
                last = row
                guard let sealed = try sealer.seal(row, connection) else { continue }
                bytes += sealed.entry.sealed.count
                if let counted = sealed.counted { digest -= counted } else { count += 1 }
                digest += sealed.leaf
                entries.append(sealed.entry)
            }
            guard !entries.isEmpty else { return (nil, true) }
            let head = Head(
                following: cursor.verified, account: account, count: UInt64(count), digest: digest,
                keys: keys)
            try connection.setPushingHead(head)
            return (PreparedPush(head: head, entries: entries, last: last), true)
        }
    }

    /// The server has taken the push: its head is the verified one, and what it says is no change
    /// any more, unless it was changed again meanwhile.
    func confirmPush(
        _ head: Head, account: AccountID, keys: AccountKeys
    ) async throws(SyncError) {
        try await write("confirm a push") { connection in
            guard try connection.pushingHead() == head else { return }
            var store = try EntryStore(connection)
            try connection.forEachSent { sent in
                if let counted = sent.counted {
                    store.digest -= counted
                } else {
                    store.entries += 1
                }
                store.digest += sent.leaf
                try store.setCounted(sent.row, sent.facts, sent.leaf)
                try connection.release(sent, using: store.decoder)
                if sent.isCurrent {
                    try connection.run(.removeWaiting, row: sent.row)
                } else {
                    try connection.rebaseWaiting(sent.row, base: sent.payload, isNewRevision: false)
                }
            }
            guard store.isAt(head, account, keys) else {
                throw CatalogDamage(what: "a push that does not add up")
            }
            try store.save()
            let save = try connection.prepare(.saveVerifiedHead)
            save.bind(blob: head.bytes.span, at: 1)
            try save.run()
            try connection.setPushingHead(nil)
        }
    }

}

extension EntryStore {
    /// Whether what is counted here adds up to a head, or to nothing without one.
    func isAt(_ head: Head?, _ account: AccountID, _ keys: AccountKeys) -> Bool {
        guard let head else { return entries == 0 }
        do throws(FormatError) {
            try head.check(account: account, count: UInt64(entries), digest: digest, keys: keys)
            return true
        } catch {
            return false
        }
    }
}

/// An entry as a push has it.
struct SentEntry {
    let row: Int64
    let facts: EntryFacts
    let leaf: SetDigest
    /// nil for a removal.
    let payload: [UInt8]?
    let sealed: [UInt8]
    /// Whether it has not been changed again.
    let isCurrent: Bool
    /// What the digest counts for the entry so far.
    let counted: SetDigest?
}

extension Connection {
    /// Hands out what a push says of each entry, in the order of rows.
    func forEachSent(_ body: (SentEntry) throws -> Void) throws {
        var last: Int64 = 0
        while let sent = try sentEntry(after: last) {
            last = sent.row
            try body(sent)
        }
    }

    private func sentEntry(after row: Int64) throws -> SentEntry? {
        let query = try prepare(.sentEntries)
        query.bind(row, at: 1)
        guard try query.step() else { return nil }
        guard let id = EntryID(bytes: query.blob(1).span),
            let kind = EntryFacts.Kind(rawValue: UInt8(truncatingIfNeeded: query.int(3))),
            let leaf = SetDigest(bytes: query.blob(4).span)
        else { throw CatalogDamage(what: "a push") }
        let sealed = query.blob(9)
        // Every entry of a push is of the head's epoch.
        guard let epoch = try pushingHead()?.epoch else { throw CatalogDamage(what: "a push") }
        return SentEntry(
            row: query.int(0),
            facts: EntryFacts(
                id: id, version: UInt64(bitPattern: query.int(2)), kind: kind, epoch: epoch),
            leaf: leaf, payload: query.isNull(5) ? nil : query.blob(5), sealed: sealed,
            isCurrent: query.int(6) == 1,
            counted: query.int(7) > 0 ? SetDigest(bytes: query.blob(8).span) : nil)
    }

    /// Lets the spool go of what an accepted entry names.
    func release(_ sent: SentEntry, using decoder: EntryDecoder) throws {
        guard let payload = sent.payload else { return }
        for ref in try ItemDraft(payload, using: decoder).addresses {
            try release(ref.recordName)
        }
    }

    /// Whether any version of an entry waits for a head or for a program that can read it.
    func isStaged(_ id: EntryID) throws -> Bool {
        let staged = try prepare(.stagedByID)
        staged.bind(blob: id.bytes.span, at: 1)
        return try staged.step()
    }

    /// A run has come to a verified head: a push whose answer was lost has arrived by then, or can
    /// still be sent as it is, or never again.
    func settlePush(under head: Head?) throws {
        guard let pushing = try pushingHead() else { return }
        let canBeSent =
            pushing.seq == (head?.seq ?? 0) + 1
            && pushing.previous == (head?.hash ?? [UInt8](repeating: 0, count: 32))
        if canBeSent { return }
        try giveUpPush()
    }

    /// Forgets what a push said that has not arrived and will not be sent again.
    func giveUpPush() throws {
        try prepare(.forgetSent).run()
        try setPushingHead(nil)
        // What was added for it and removed meanwhile never was.
        let gone = try prepare(.neverSent)
        var last: Int64 = 0
        while true {
            gone.reset()
            gone.bind(last, at: 1)
            guard try gone.step() else { return }
            last = gone.int(0)
            gone.reset()
            try run(.removeWaiting, row: last)
            try run(.deleteEntry, row: last)
        }
    }
}
