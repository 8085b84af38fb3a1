internal import SyncPlatform

/// Tells whether anything was changed here since somebody looked.
struct ChangeMark: Sendable, Hashable {
    let count: Int64
    let revisions: Int64
    let newest: Int64

    /// Nothing waits.
    static let none = ChangeMark(count: 0, revisions: 0, newest: 0)
}

/// What somebody who stays looks for.
extension Catalog {
    /// How the changes that wait stand now.
    func changeMark() async throws(SyncError) -> ChangeMark {
        try await read("look for changes") { connection in
            let query = try connection.prepare(.changeMark)
            guard try query.step() else { return ChangeMark(count: 0, revisions: 0, newest: 0) }
            return ChangeMark(
                count: query.int(0), revisions: query.int(1), newest: query.int(2))
        }
    }

    /// A number that changes with every commit, whoever makes it.
    func dataVersion() async throws(SyncError) -> Int64 {
        // Who reads has a connection of its own, unless the catalog lives in memory.
        let sql = isInMemory ? "SELECT total_changes()" : "PRAGMA data_version"
        return try await read("look for changes") { try $0.firstInt(sql) }
    }

    /// When the next upload that was refused is to be tried again, in Unix seconds; nil if none is.
    func nextUpload() async throws(SyncError) -> Int64? {
        try await read("look for what was refused") { connection in
            let query = try connection.prepare(.nextUpload)
            guard try query.step(), !query.isNull(0) else { return nil }
            return query.int(0)
        }
    }
}
