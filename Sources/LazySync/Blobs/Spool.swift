internal import SyncPlatform

/// Where the sealed bytes lie that the store does not have for certain: files of many blobs each,
/// written once, synced, and removed as wholes.
///
/// A file without a row in the catalog is one whose writer was killed, or whose blobs have all
/// arrived. Who writes one holds the spool's lock, shared, until its rows are committed.
struct Spool: Sendable {
    let folder: String
    private let lock: FileLock
    /// Held by who pushes.
    private let push: FileLock

    init(_ places: AccountPlaces) {
        folder = places.data + "/spool"
        lock = FileLock(path: places.locks + "/spool")
        push = FileLock(path: places.locks + "/push")
    }

    /// Answers what must be held from before a file is made until its rows are committed.
    func enter() throws(FileError) -> FileLock.Token { try lock.lock(.shared) }

    /// Makes a new file.
    func newPack(_ random: any RandomSource) throws(FileError) -> SpoolPack {
        try Directory.make(folder, durably: true)
        let name = Base64URL.encode(random.bytes(16).span)
        return SpoolPack(name, try File(path(name), for: .create))
    }

    func path(_ pack: String) -> String { folder + "/" + pack }

    /// Opens a file, to read one of its blobs; nil if it is gone.
    func open(_ pack: String) throws(FileError) -> File? {
        do {
            return try File(path(pack), for: .read)
        } catch {
            if error.code == .notFound { return nil }
            throw error
        }
    }

    /// The files that are there, each of them written to its end; none while somebody writes one,
    /// or pushes and so is about to remove some.
    ///
    /// Rows are looked at afterwards: who has written one of them has named it by then.
    func finished() throws(FileError) -> [String] {
        guard try FileSystem.facts(folder) != nil else { return [] }
        let names = try Directory.list(folder)
        if try lock.isLocked() { return [] }
        return try push.isLocked() ? [] : names
    }

    /// Removes the files that `isNamed` does not know, unless somebody is writing one.
    func sweep(_ isNamed: (String) throws -> Bool) throws {
        guard try FileSystem.facts(folder) != nil, let alone = try lock.tryLock(.exclusive) else {
            return
        }
        defer { withExtendedLifetime(alone) {} }
        for name in try Directory.list(folder) where try !isNamed(name) {
            try Directory.removeTree(path(name))
        }
    }
}

/// The files of the spool that are being read, each opened once for the blobs that lie in it.
final class OpenPacks: Sendable {
    private let spool: Spool
    private let files = Locked<[String: File]>([:])
    /// Blobs are sent in the order in which they lie: more are open at once only for a moment.
    private static let most = 16

    init(_ spool: Spool) { self.spool = spool }

    func file(_ pack: String) throws(FileError) -> File {
        if let file = files.withLock({ $0[pack] }) { return file }
        let file = try File(spool.path(pack), for: .read)
        files.withLock { files in
            if files.count >= Self.most { files.removeAll() }
            files[pack] = file
        }
        return file
    }
}

/// One file of the spool while it is written.
final class SpoolPack {
    let name: String
    let file: File
    /// Where the next blob begins.
    private(set) var length: Int64 = 0
    private var isKept = false
    private var sealed: [UInt8] = []

    /// How much is read and sealed at once.
    private static let piece = 16 * BlobGeometry.chunkSize
    /// How much is written before the disk begins with it, while the next is being sealed.
    private static let step: Int64 = 8 << 20
    /// How far the disk has begun.
    private var begun: Int64 = 0

    init(_ name: String, _ file: File) {
        self.name = name
        self.file = file
    }

    deinit {
        if !isKept { _ = try? FileSystem.remove(file.path) }
    }

    /// Seals a blob and appends it; `read` gives its bytes from a place on, none at the end.
    ///
    /// Answers where it begins. What was written of one that fails is cut off again.
    /// - Throws: `FormatError` (`length`) if the source is not as long as it should be; what `read`
    ///   throws.
    func append(
        _ blob: SealedBlob, _ geometry: BlobGeometry, _ read: (Int64, Int) throws -> [UInt8]
    ) throws -> Int64 {
        let start = length
        do {
            var sealer = BlobSealer(blob, geometry: geometry)
            var offset: UInt64 = 0
            while true {
                // At the end one byte is asked for: a source with more is another one by now.
                let rest = min(geometry.length - min(offset, geometry.length), UInt64(Self.piece))
                let bytes = try read(Int64(offset), max(Int(rest), 1))
                if bytes.isEmpty { break }
                offset += UInt64(bytes.count)
                sealed.removeAll(keepingCapacity: true)
                try sealer.append(bytes.span, to: &sealed)
                try write()
            }
            sealed.removeAll(keepingCapacity: true)
            try sealer.finish(to: &sealed)
            try write()
            return start
        } catch {
            cut(to: start)
            throw error
        }
    }

    /// Cuts off what begins at a place: nobody will name it.
    func cut(to place: Int64) {
        length = place
        begun = min(begun, place)
        // What cannot be cut is written over, or lies there named by nobody.
        try? file.truncate(to: place)
    }

    private func write() throws(FileError) {
        let bytes = sealed
        try file.write(bytes.span, at: length)
        length += Int64(sealed.count)
        if length >= begun + Self.step {
            file.beginWriting(from: begun, count: length - begun)
            begun = length
        }
    }

    /// Returns when bytes and name are on the disk; the file stays from here on.
    func finish() throws(FileError) {
        try file.sync()
        try Directory.sync(FileSystem.folder(of: file.path))
        isKept = true
    }
}
