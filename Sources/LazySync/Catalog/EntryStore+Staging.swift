internal import SyncPlatform

/// Entries that wait until a head covers them, or until a newer version can be read.
extension EntryStore {
    /// Whether a newer version of an entry waits, or this one does and a verified head covers it.
    func isStale(_ change: EntryBatch.Change) throws -> Bool {
        guard hasStaged else { return false }
        let staged = try connection.prepare(.stagedByID)
        staged.bind(blob: change.facts.id.bytes.span, at: 1)
        guard try staged.step() else { return false }
        let waiting = UInt64(bitPattern: staged.int(0))
        return change.facts.version < waiting
            || (change.facts.version == waiting && staged.int(3) == 1)
    }

    /// Lets an entry wait; the digest counts it in place of the one that it stands in for.
    mutating func stage(
        _ change: EntryBatch.Change, replacing leaf: SetDigest?, sealed: Span<UInt8>?
    ) throws {
        let stage = try connection.prepare(.stage)
        stage.bind(blob: change.facts.id.bytes.span, at: 1)
        stage.bind(Int64(bitPattern: change.facts.version), at: 2)
        stage.bind(Int64(change.facts.epoch), at: 3)
        stage.bind(Int64(change.facts.kind.rawValue), at: 4)
        stage.bind(blob: change.leaf.bytes.span, at: 5)
        if let leaf { stage.bind(blob: leaf.bytes.span, at: 6) }
        stage.bind(sealed == nil ? 1 : 0, at: 7)
        if let sealed { stage.bind(blob: sealed, at: 8) }
        try stage.run()
        if let leaf { digest -= leaf } else { entries += 1 }
        digest += change.leaf
        hasStaged = true
    }

    /// Takes an entry out of those that wait; the digest counts what it stood in for again.
    mutating func unstage(_ id: EntryID) throws {
        guard hasStaged else { return }
        let staged = try connection.prepare(.stagedByID)
        staged.bind(blob: id.bytes.span, at: 1)
        guard try staged.step(), let leaf = SetDigest(bytes: staged.blob(1).span) else { return }
        digest -= leaf
        if let replaced = SetDigest(bytes: staged.blob(2).span) {
            digest += replaced
        } else {
            entries -= 1
        }
        try run(.unstage, id)
    }

    /// Takes out everything that waits and that no head covers.
    mutating func unstageUnverified() throws {
        for readable in [0, 1] as [Int64] {
            while let id = try connection.stagedIDs(
                verified: false, readable: readable == 1, limit: 1
            ).first {
                try unstage(id)
            }
        }
    }

    /// Runs a statement whose one parameter is an entry's id.
    func run(_ query: Query, _ id: EntryID) throws {
        let statement = try connection.prepare(query)
        statement.bind(blob: id.bytes.span, at: 1)
        try statement.run()
    }

    /// Whether anything waits.
    static func hasStaged(_ connection: Connection) throws -> Bool {
        for (verified, readable) in [(false, false), (false, true), (true, false), (true, true)] {
            let ids = try connection.stagedIDs(verified: verified, readable: readable, limit: 1)
            if !ids.isEmpty { return true }
        }
        return false
    }
}

extension Connection {
    /// Entries that wait: by whether a head covers them, and whether they are tombstones.
    func stagedIDs(verified: Bool, readable: Bool, limit: Int) throws -> [EntryID] {
        let query = try prepare(.stagedIDs)
        query.bind(verified ? 1 : 0, at: 1)
        query.bind(readable ? 1 : 0, at: 2)
        query.bind(Int64(limit), at: 3)
        var ids: [EntryID] = []
        while try query.step() {
            if let id = EntryID(bytes: query.blob(0).span) { ids.append(id) }
        }
        return ids
    }

    func countStaged(verified: Bool, readable: Bool) throws -> Int {
        let query = try prepare(.countStaged)
        query.bind(verified ? 1 : 0, at: 1)
        query.bind(readable ? 1 : 0, at: 2)
        return try query.step() ? Int(query.int(0)) : 0
    }
}
