internal import SyncPlatform

/// A walk over what lies in one of the cache's two folders, one of its 256 parts in memory at a time.
struct CacheWalk: Sendable {
    /// What is in the folder: a folder a record, or a file a record.
    enum Kind: Sendable { case blobs, thumbnails }

    /// Something that lies there and that no record knows.
    struct Stray: Sendable {
        let path: String
        /// The hash that it is named after; nil for a name that is not ours.
        let hash: UInt64?
    }

    let folder: String
    let kind: Kind

    /// The names of the parts, and whatever else lies beside them.
    func parts() throws(FileError) -> [String] {
        guard try FileSystem.facts(folder) != nil else { return [] }
        return try Directory.list(folder).filter { $0 != AccountPlaces.marker }.sorted()
    }

    /// What is in a part, or the part itself, that no record knows and that is older than a time.
    ///
    /// What is newer may be on its way.
    func strays(
        in part: String, known: KnownRecords, before time: Int64
    ) throws(FileError) -> [Stray] {
        let path = folder + "/" + part
        let isPart = RecordHash.of(folder: part, name: String(repeating: "0", count: 30)) != nil
        guard isPart, try FileSystem.facts(path)?.kind == .directory else {
            return try isOlder(path, than: time) ? [Stray(path: path, hash: nil)] : []
        }
        var found: [Stray] = []
        for name in try Directory.list(path) {
            let hash = RecordHash.of(folder: part, name: kind == .blobs ? name : Self.stem(name))
            if let hash, known.contains(hash) { continue }
            let stray = Stray(path: path + "/" + name, hash: hash)
            if try isOlder(stray.path, than: time) { found.append(stray) }
        }
        return found
    }

    /// Whether something was changed for the last time before a time, in Unix seconds.
    func isOlder(_ path: String, than time: Int64) throws(FileError) -> Bool {
        guard let facts = try FileSystem.facts(path) else { return false }
        return facts.mtimeNs / 1_000_000_000 < time
    }

    private static func stem(_ name: String) -> String {
        String(name.prefix { $0 != "." })
    }
}
