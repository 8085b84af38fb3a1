internal import SyncPlatform

/// What is deleted at the store, and when it was looked for.
extension Catalog {
    /// Something in the trash whose time is over.
    struct ExpiredTrash: Sendable {
        let row: Int64
        let isOwn: Bool
        let records: [String]
    }

    /// What was removed before a time, the oldest first; not what the server does not know of yet.
    func expiredTrash(before time: Int64, limit: Int) async throws(SyncError) -> [ExpiredTrash] {
        try await read("look into the trash") { connection in
            let query = try connection.prepare(.trashBefore)
            query.bind(time, at: 1)
            query.bind(Int64(limit), at: 2)
            var found: [ExpiredTrash] = []
            while try query.step() {
                let row = query.int(0)
                found.append(
                    ExpiredTrash(
                        row: row, isOwn: query.int(1) == 1,
                        records: try connection.trashRecords(row)))
            }
            return found
        }
    }

    /// Forgets what lay in the trash; its files go with the next sweep of the cache.
    func emptyTrash(_ rows: [Int64]) async throws(SyncError) {
        try await write("empty the trash", isDurable: true) { connection in
            for row in rows { try connection.forgetTrash(row) }
        }
    }

    /// Forgets what others removed before a time: nothing of it is to be deleted at the store.
    func emptyOthersTrash(before time: Int64) async throws(SyncError) {
        let hasAny = try await read("look into the trash") { connection in
            let query = try connection.prepare(.othersTrash)
            query.bind(time, at: 1)
            return try query.step()
        }
        guard hasAny else { return }
        try await write("empty the trash") { connection in
            let query = try connection.prepare(.othersTrash)
            while true {
                query.reset()
                query.bind(time, at: 1)
                guard try query.step() else { return }
                let row = query.int(0)
                query.reset()
                try connection.forgetTrash(row)
            }
        }
    }

    /// Whether what is here is what a verified head says, changes that wait aside.
    func isAtVerifiedHead() async throws(SyncError) -> Bool {
        try await read("look at the head") { connection in
            let cursor = try connection.cursor()
            return try cursor.verified != nil && cursor.mismatch == nil && cursor.unfinished == nil
                && !connection.isTrusting() && connection.importedHead() == nil
        }
    }

    /// When the store was searched last, in Unix seconds.
    func sweptAt() async throws(SyncError) -> Int64 {
        try await read("look for the last search") { connection in
            let query = try connection.prepare(.pushing)
            return try query.step() ? query.int(2) : 0
        }
    }

    func noteSwept(at time: Int64) async throws(SyncError) {
        try await write("note a search") { connection in
            let note = try connection.prepare(.setSweptAt)
            note.bind(time, at: 1)
            try note.run()
        }
    }

    /// Notes records that nothing names, and forgets those that something does; answers those that
    /// were seen first before a time.
    func noteUnnamed(
        _ unnamed: [String], named: [String], now: Int64, oldBefore: Int64
    ) async throws(SyncError) -> [String] {
        try await write("note what nothing names") { connection in
            let forget = try connection.prepare(.forgetUnnamed)
            for record in named {
                forget.bind(blob: record.utf8Span.span, at: 1)
                try forget.run()
            }
            let note = try connection.prepare(.noteUnnamed)
            let seen = try connection.prepare(.unnamedSince)
            var old: [String] = []
            for record in unnamed {
                note.bind(blob: record.utf8Span.span, at: 1)
                note.bind(now, at: 2)
                try note.run()
                seen.reset()
                seen.bind(blob: record.utf8Span.span, at: 1)
                if try seen.step(), seen.int(0) <= oldBefore { old.append(record) }
            }
            return old
        }
    }

    /// Forgets what was seen first before a time: it was deleted by now, here or elsewhere.
    func forgetUnnamed(before time: Int64) async throws(SyncError) {
        try await write("forget what is gone") { connection in
            let forget = try connection.prepare(.forgetOldUnnamed)
            forget.bind(time, at: 1)
            try forget.run()
        }
    }
}
