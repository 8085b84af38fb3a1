internal import SyncPlatform

/// Deletes at the store what nothing names any more: the records of what this device removed 30 days
/// ago, and what a push that was killed left behind.
///
/// Only under a verified head, and never what any entry names, be it one that this device knows only
/// in part.
struct TidyPass {
    let catalog: Catalog
    let remote: any WritableRemote
    let policy: Backoff
    let clock: any WaitingClock
    let random: any RandomSource
    /// Brings the catalog up to date; how many entries came.
    let pull: @Sendable () async throws(SyncError) -> Int

    /// How long what was removed can come back, in seconds: 30 days.
    static let trashSeconds: Int64 = 30 * 86_400
    /// How long a record must have been seen without a name: 37 days, since for 30 it may lie in
    /// another device's trash.
    static let unnamedSeconds: Int64 = 37 * 86_400
    /// How often the store is searched.
    static let sweepSeconds: Int64 = 86_400
    private static let batch = 500
    /// Of 5,000 names: more than any account has.
    private static let mostPages = 20_000

    /// Does what is due; answers how many records were deleted at the store.
    func run() async throws(SyncError) -> Int {
        do {
            let emptied = try await emptyTrash()
            return try await emptied + sweepStore()
        } catch {
            throw SyncError("tidy the store", error)
        }
    }

    // MARK: The trash

    private func emptyTrash() async throws -> Int {
        let before = clock.now - Self.trashSeconds
        var deleted = 0
        while true {
            let expired = try await catalog.expiredTrash(before: before, limit: Self.batch)
            guard !expired.isEmpty else { return deleted }
            // Another device may name one of them since the last pull, which can be long ago.
            if expired.contains(where: \.isOwn) { _ = try await pull() }
            guard try await catalog.isAtVerifiedHead() else { return deleted }
            let rows = Set(expired.map(\.row))
            let records = Set(expired.filter(\.isOwn).flatMap(\.records))
            var free = records
            if !records.isEmpty {
                let named = try await catalog.namedRecords(
                    into: Set<String>(), includingTrash: { !rows.contains($0) }
                ) { found, name in
                    let name = String(decoding: [UInt8](copying: name), as: UTF8.self)
                    if records.contains(name) { found.insert(name) }
                }
                guard let named else { return deleted }
                free.subtract(named)
            }
            for record in free.sorted() { try await delete(record) }
            deleted += free.count
            try await catalog.emptyTrash(Array(rows))
        }
    }

    // MARK: What nothing names

    private func sweepStore() async throws -> Int {
        let last = try await catalog.sweptAt()
        guard last > 0 else {
            // A new device has seen nothing yet; it begins a day later.
            try await catalog.noteSwept(at: clock.now)
            return 0
        }
        guard last + Self.sweepSeconds <= clock.now, try await catalog.isAtVerifiedHead() else {
            return 0
        }
        // What fails now is tried again in an hour, and not with every push.
        try await catalog.noteSwept(at: clock.now - Self.sweepSeconds + 3_600)
        let seed = random.number()
        let named = try await catalog.namedRecords(
            into: NameFilter(seed: seed), includingTrash: { _ in true }
        ) { filter, name in filter.insert(name) }
        guard let named else { return 0 }
        var old: [String] = []
        var after: String?
        var pages = 0
        repeat {
            pages += 1
            guard pages < Self.mostPages else {
                throw RemoteFailure(.serverError, "the store's list does not come to an end")
            }
            let page = try await list(after: after)
            let names = page.blobs.map(\.name.description)
            let (known, unknown) = Self.split(names, named)
            old += try await catalog.noteUnnamed(
                unknown, named: known, now: clock.now,
                oldBefore: clock.now - Self.unnamedSeconds)
            after = page.next
        } while after != nil
        // What came meanwhile may name one of them: then the next search decides.
        if !old.isEmpty, try await pull() > 0 { return 0 }
        for record in old { try await delete(record) }
        try await catalog.forgetUnnamed(before: clock.now - Self.unnamedSeconds)
        try await catalog.noteSwept(at: clock.now)
        return old.count
    }

    private static func split(
        _ names: [String], _ filter: NameFilter
    ) -> (known: [String], unknown: [String]) {
        var (known, unknown) = ([String](), [String]())
        for name in names {
            if filter.mayContain(name.utf8Span.span) {
                known.append(name)
            } else {
                unknown.append(name)
            }
        }
        return (known, unknown)
    }

    // MARK: Calls

    private func list(after: String?) async throws -> BlobList {
        try await policy.retrying(clock) { () async throws(RemoteFailure) in
            try await remote.blobs(after: after, limit: 5_000)
        }
    }

    private func delete(_ record: String) async throws {
        try await policy.retrying(clock) { () async throws(RemoteFailure) in
            try await remote.delete(record)
        }
    }
}
