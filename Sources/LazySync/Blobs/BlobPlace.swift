internal import SyncPlatform

/// Where one record's bytes lie in the cache: a folder named by the hash of the record's name.
///
/// So no name that a server or a person chose ever becomes a path.
///
/// | file | what |
/// |---|---|
/// | `part` | the plaintext, sparse, of its full length |
/// | `tags` | 16 bytes a chunk as they came; zeros where none has |
/// | `content[.ext]` | the plaintext once it is complete, read-only |
struct BlobPlace: Sendable, Hashable {
    let folder: String

    init(record: String, under blobs: String) {
        let hash = Self.hash(record)
        folder = "\(blobs)/\(hash.prefix(2))/\(hash.dropFirst(2))"
    }

    var part: String { folder + "/part" }
    var tags: String { folder + "/tags" }

    func content(_ suffix: String) -> String {
        folder + (suffix.isEmpty ? "/content" : "/content." + suffix)
    }

    /// The complete file, under whichever extension, if one is there.
    func contentPath() throws(FileError) -> String? {
        guard try FileSystem.facts(folder)?.kind == .directory else { return nil }
        let name = try Directory.list(folder).first {
            $0 == "content" || $0.hasPrefix("content.")
        }
        return name.map { folder + "/" + $0 }
    }

    /// What the files take on the disk now.
    func onDisk() throws(FileError) -> Int64 {
        guard let own = try FileSystem.facts(folder) else { return 0 }
        var total = own.allocated
        guard own.kind == .directory else { return total }
        for name in try Directory.list(folder) {
            total += try FileSystem.facts(folder + "/" + name)?.allocated ?? 0
        }
        return total
    }

    /// What stands in the place of a file or the folder of ours and is none: a link, a device, a
    /// folder.
    func strangers() throws(FileError) -> [String] {
        guard let own = try FileSystem.facts(folder) else { return [] }
        guard own.kind == .directory else { return [folder] }
        var found: [String] = []
        for name in try Directory.list(folder) {
            let path = folder + "/" + name
            if let facts = try FileSystem.facts(path), facts.kind != .regular { found.append(path) }
        }
        return found
    }

    /// Removes what stands in the place of our files; a link goes, and not what it leads to.
    func removeStrangers() throws(FileError) {
        for path in try strangers() { try Directory.removeTree(path) }
    }

    /// Removes the files, and the folder that only this record was in.
    func remove() throws(FileError) {
        if try FileSystem.facts(folder) != nil { try Directory.removeTree(folder) }
        // Another record may be in it.
        _ = try? Directory.remove(FileSystem.folder(of: folder))
    }

    /// The hash that stands for a record's name, in hex.
    static func hash(_ record: String) -> String {
        Hex.encode(Hash.blake2b256(record.utf8Span.span).span.extracting(..<16))
    }

    /// The extension that a cached file may carry: plain letters and digits, eight at the most.
    static func suffix(of name: String) -> String {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")) else { return "" }
        let suffix = name[name.utf8.index(after: dot)...].lowercased()
        let isPlain = suffix.utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) }
        return isPlain && (1...8).contains(suffix.utf8.count) ? suffix : ""
    }
}
