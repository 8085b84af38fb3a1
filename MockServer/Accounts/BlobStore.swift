import Foundation

/// The blobs of an account: files of a folder, and what was added, replaced or deleted since.
///
/// The folder itself is never written.
struct BlobStore: Sendable {
    /// A stored blob, open for reading.
    struct Blob: Sendable {
        var bytes: any ByteSource
        /// A strong entity tag, with its quotes.
        var etag: String
        /// Seconds since 1970.
        var created: Double
    }

    /// What an upload became.
    enum Stored: Sendable {
        case bytes(any ByteSource)
        /// A file of that path.
        case file(String)
    }

    private enum Change: Sendable {
        case stored(Blob)
        case file(String)
        case gone
    }

    private let folder: String?
    private var changes: [String: Change] = [:]
    private var nextTag = 1
    /// The bytes of what was added.
    private(set) var addedBytes: UInt64 = 0
    /// Whether every blob looks deleted.
    var looksEmpty = false

    init(folder: String? = nil) {
        self.folder = folder
    }

    /// Whether a name can be a record's: 1 to 64 of `A-Z a-z 0-9 _ -`.
    static func isName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F, 0x2D: true
                default: false
                }
            }
    }

    /// The blob of that name.
    ///
    /// - Throws: `no-such-blob` or `blob-gone`.
    func blob(_ name: String) throws(Refusal) -> Blob {
        if looksEmpty { throw Refusal(410, "blob-gone", "The blob was deleted") }
        switch changes[name] {
        case .stored(let blob): return blob
        case .file(let path):
            guard let file = FileBytes(path: path) else {
                throw Refusal(404, "no-such-blob", "The blob's file is missing")
            }
            return Blob(bytes: file, etag: "\"\(file.fingerprint)\"", created: file.modified)
        case .gone: throw Refusal(410, "blob-gone", "The blob was deleted")
        case nil:
            guard let folder, BlobStore.isName(name),
                let file = FileBytes(path: folder + "/" + name)
            else { throw Refusal(404, "no-such-blob", "There is no blob of that name") }
            return Blob(bytes: file, etag: "\"\(file.fingerprint)\"", created: file.modified)
        }
    }

    /// Stores a blob under a name, over what was there; without `etag` under a fresh one.
    mutating func put(_ name: String, _ bytes: any ByteSource, etag: String? = nil, now: Double) {
        let tag = etag ?? "\"stored-\(nextTag)\""
        nextTag += 1
        addedBytes -= added(name)
        changes[name] = .stored(Blob(bytes: bytes, etag: tag, created: now))
        addedBytes += bytes.count
    }

    /// Stores what an upload became.
    mutating func put(_ name: String, _ stored: Stored, now: Double = 0) {
        switch stored {
        case .bytes(let bytes): put(name, bytes, now: now)
        case .file(let path):
            addedBytes -= added(name)
            changes[name] = .file(path)
            addedBytes += added(name)
        }
    }

    private func added(_ name: String) -> UInt64 {
        switch changes[name] {
        case .stored(let blob): blob.bytes.count
        case .file(let path): FileBytes(path: path)?.count ?? 0
        case .gone, nil: 0
        }
    }

    /// Whether a blob of that name is there or was.
    func isTaken(_ name: String) -> Bool {
        if changes[name] != nil { return true }
        return folder.flatMap { FileBytes(path: $0 + "/" + name) } != nil
    }

    /// Deletes a blob; its name stays taken.
    ///
    /// Asked before the file goes, if there is one.
    mutating func delete(_ name: String) {
        addedBytes -= added(name)
        changes[name] = .gone
    }

    /// The names of all blobs that are there, in byte order.
    func names() -> [String] {
        if looksEmpty { return [] }
        let files =
            folder.flatMap { try? FileManager.default.contentsOfDirectory(atPath: $0) } ?? []
        var names = Set(files.filter(BlobStore.isName))
        for (name, change) in changes {
            if case .gone = change { names.remove(name) } else { names.insert(name) }
        }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}
