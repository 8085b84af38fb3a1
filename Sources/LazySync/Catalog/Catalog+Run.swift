internal import SyncPlatform

/// Where the catalog stands against the manifest.
struct Cursor: Sendable, Equatable {
    let verified: Head?
    /// Where an unfinished run goes on; nil if there is none.
    let unfinished: ManifestPlace?
    let mismatch: String?

    /// The `after` of a new run.
    var after: UInt64 { verified?.seq ?? 0 }
}

/// A place in the manifest: what changed after a seq, from a page on.
struct ManifestPlace: Sendable, Equatable {
    var after: UInt64
    /// The page's token; nil for the first.
    var page: String?
}

/// What a run's last step found.
struct RunResult: Sendable {
    /// What does not add up; nil if the head is verified.
    let mismatch: String?
    /// Entries that cannot be read and that no head covers: worth asking for once more.
    let suspects: [EntryID]
    /// Tombstones that are held, since a person would not expect so many.
    let heldDeletions: Int
}

/// A restore's run: its pages, its cursor and its head, each in the transaction of what it is
/// about.
extension Catalog {
    func cursor() async throws(SyncError) -> Cursor {
        try await read("read the cursor") { try $0.cursor() }
    }

    /// Begins a run from the verified head: what an unverified run left waiting goes.
    func beginRun() async throws(SyncError) {
        try await write("begin a run") { connection in
            var store = try EntryStore(connection)
            try store.unstageUnverified()
            try store.save()
            try connection.savePlace(nil)
        }
    }

    /// Applies pages and moves the cursor, all in one transaction.
    ///
    /// `tools` are needed for what was changed here as well, or came from a file.
    func apply(
        _ batches: [EntryBatch], next: ManifestPlace, with tools: MergeTools? = nil
    ) async throws(SyncError) {
        try await write("store a page") { connection in
            var store = try EntryStore(connection, with: tools)
            try store.apply(batches)
            try store.save()
            try connection.savePlace(next)
        }
    }

    /// Applies entries that were asked for by id, in place of those that wait.
    func apply(
        again batch: EntryBatch, for ids: [EntryID], with tools: MergeTools? = nil
    ) async throws(SyncError) {
        try await write("store entries") { connection in
            var store = try EntryStore(connection, with: tools)
            for id in ids { try store.unstage(id) }
            try store.apply([batch])
            try store.save()
        }
    }

    /// Checks the head of a run that has come to its end, and if it adds up, makes it the verified
    /// one and carries out the tombstones under it.
    func finishRun(
        _ head: Head?, account: AccountID, keys: AccountKeys, with tools: MergeTools? = nil
    ) async throws(SyncError) -> RunResult {
        try await write("check the head") { connection in
            var store = try EntryStore(connection, with: tools)
            let cursor = try connection.cursor()
            let imported = try connection.importedHead()
            if let problem = Self.problem(head, cursor.verified, imported, store, account, keys) {
                let suspects = try connection.stagedIDs(
                    verified: false, readable: false, limit: 1_000)
                return RunResult(mismatch: problem, suspects: suspects, heldDeletions: 0)
            }
            try connection.prepare(.verifyStaged).run()
            let waiting = try connection.countStaged(verified: true, readable: true)
            let items = try connection.tally(.items)
            let isHeld = BulkGuard.holds(deletions: waiting, of: items)
            if waiting > 0, !isHeld { _ = try store.deleteBuried() }
            let isTrusting = try connection.isTrusting()
            if imported != nil || isTrusting {
                try store.deleteUnconfirmed(keepsUnconfirmed: isTrusting)
                try connection.prepare(.clearImported).run()
                try connection.setTrusting(false)
            }
            try connection.settlePush(under: head)
            try store.save()
            let save = try connection.prepare(.saveVerifiedHead)
            if let head { save.bind(blob: head.bytes.span, at: 1) }
            try save.run()
            return RunResult(
                mismatch: nil, suspects: [], heldDeletions: isHeld ? waiting : 0)
        }
    }

    /// Notes that the server's answers do not add up; the verified head stays as it was.
    func noteMismatch(_ text: String) async throws(SyncError) {
        try await write("note a mismatch") { connection in
            let save = try connection.prepare(.saveMismatch)
            save.bind(text: text, at: 1)
            try save.run()
            try connection.savePlace(nil)
        }
    }

    /// The entries that a verified head covers and that cannot be read.
    func unreadable(limit: Int = 1_000) async throws(SyncError) -> [EntryID] {
        try await read("list unreadable entries") {
            try $0.stagedIDs(verified: true, readable: false, limit: limit)
        }
    }

    /// Tombstones that a verified head covers and that wait for a person.
    func heldDeletions() async throws(SyncError) -> Int {
        try await read("count held deletions") {
            try $0.countStaged(verified: true, readable: true)
        }
    }

    /// The counts as they stand.
    func tallies() async throws(SyncError) -> [Tally.Name: Int] {
        try await read("read the counts") { connection in
            var found: [Tally.Name: Int] = [:]
            for name in Tally.Name.allCases { found[name] = try connection.tally(name) }
            return found
        }
    }

    private static func problem(
        _ head: Head?, _ verified: Head?, _ imported: ImportedHead?, _ store: EntryStore,
        _ account: AccountID, _ keys: AccountKeys
    ) -> String? {
        guard let head else {
            // An empty account is no reason to drop what a file brought.
            if imported?.isOfNothing == false { return "the server has no head for this account" }
            if verified != nil { return "the server has no head where there was one" }
            return store.entries == 0 ? nil : "entries without a head"
        }
        if let problem = HeadHistory.problem(head, after: verified) { return problem }
        do throws(FormatError) {
            try head.check(
                account: account, count: UInt64(store.entries), digest: store.digest, keys: keys)
            return nil
        } catch {
            return "the entries do not add up to the head"
        }
    }
}

/// How a head may follow the one that was verified last; pure.
enum HeadHistory {
    /// What is wrong with a head, before any of its entries is looked at; nil if nothing is.
    static func problem(_ head: Head, after verified: Head?) -> String? {
        guard let verified else { return nil }
        if head.seq < verified.seq {
            return "a rollback: head \(head.seq), where \(verified.seq) was verified"
        }
        if head.seq == verified.seq, head != verified {
            return "a fork: another head \(head.seq) than the one that was verified"
        }
        if head.seq == verified.seq + 1, head.previous != verified.hash {
            return "a fork: head \(head.seq) does not follow the one that was verified"
        }
        return head.epoch < verified.epoch ? "a head of an earlier epoch" : nil
    }
}

/// Whether a run's deletions wait for a person: more than 1,000, or more than half and at least 10.
enum BulkGuard {
    static func holds(deletions: Int, of items: Int) -> Bool {
        deletions > 1_000 || (deletions >= 10 && deletions * 2 > items)
    }
}

extension Connection {
    func cursor() throws -> Cursor {
        let account = try prepare(.account)
        guard try account.step() else { throw CatalogDamage(what: "no account") }
        let verified = account.isNull(1) ? nil : try Head(parsing: account.blob(1).span)
        var unfinished: ManifestPlace?
        if !account.isNull(4) {
            unfinished = ManifestPlace(
                after: UInt64(bitPattern: account.int(5)), page: try account.text(4))
        }
        return Cursor(
            verified: verified, unfinished: unfinished,
            mismatch: account.isNull(6) ? nil : try account.text(6))
    }

    /// A first page needs no place: a new run begins there.
    fileprivate func savePlace(_ place: ManifestPlace?) throws {
        let save = try prepare(.savePage)
        if let place, let page = place.page {
            save.bind(text: page, at: 1)
            save.bind(Int64(bitPattern: place.after), at: 2)
        }
        try save.run()
    }
}
