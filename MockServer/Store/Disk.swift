import Glibc

/// The ways in which a folder of `--data` changes: a step each, and each a place to be killed at.
///
/// A file appears whole under its name or not at all: it is written beside, synced and renamed.
final class Disk: Sendable {
    /// Whether what is written has to outlive a power cut; a kill it outlives in any case.
    let syncs: Bool
    private let end: End
    private let stepsTaken = Guarded(0)

    /// What happens before the step after the last one.
    enum End: Sendable, Equatable {
        case never
        /// The process ends, as by `kill -9`.
        case kill(after: Int)
        /// Nothing changes any more: what the disk holds is what a kill would have left.
        case freeze(after: Int)
    }

    init(syncs: Bool = true, end: End = .never) {
        self.syncs = syncs
        self.end = end
    }

    /// How many changes there were.
    var steps: Int { stepsTaken.with { $0 } }

    /// Called before each change.
    private func step() throws(StoreFailure) {
        let taken = stepsTaken.with { taken in
            defer { taken += 1 }
            return taken
        }
        switch end {
        case .kill(let last) where taken >= last: kill(getpid(), SIGKILL)
        case .freeze(let last) where taken >= last: throw StoreFailure(number: EIO)
        default: break
        }
    }

    /// Writes a file in the place of what was there.
    func write(_ bytes: [UInt8], to path: String) throws(StoreFailure) {
        let beside = path + Disk.unfinished
        try step()
        let file = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw StoreFailure(number: errno) }
        do throws(StoreFailure) {
            defer { close(file) }
            // In two halves, so that a kill can come between them.
            let half = bytes.count / 2
            try append(bytes[..<half], to: file, at: 0)
            try append(bytes[half...], to: file, at: UInt64(half))
            try sync(file)
        } catch {
            try? remove(beside)
            throw error
        }
        try rename(beside, to: path)
    }

    /// What the names of files end in that are not whole yet.
    static let unfinished = ".new"

    private func append(
        _ bytes: ArraySlice<UInt8>, to file: Int32, at offset: UInt64
    ) throws(StoreFailure) {
        let result = bytes.withUnsafeBytes { piece in
            Result { () throws(StoreFailure) in try append(piece, to: file, at: offset) }
        }
        try result.get()
    }

    /// Writes bytes at an offset.
    func append(
        _ piece: UnsafeRawBufferPointer, to file: Int32, at offset: UInt64
    ) throws(StoreFailure) {
        try step()
        var done = 0
        while done < piece.count {
            let written = pwrite(
                file, piece.baseAddress?.advanced(by: done), piece.count - done,
                off_t(offset) + off_t(done))
            if written >= 0 {
                done += written
            } else if errno != EINTR {
                throw StoreFailure(number: errno)
            }
        }
    }

    /// Has a file's bytes outlive a power cut.
    func sync(_ file: Int32) throws(StoreFailure) {
        guard syncs else { return }
        guard fdatasync(file) == 0 else { throw StoreFailure(number: errno) }
    }

    /// Gives a file or a folder another name.
    func rename(_ old: String, to new: String) throws(StoreFailure) {
        try step()
        guard Glibc.rename(old, new) == 0 else { throw StoreFailure(number: errno) }
        try syncFolder(of: new)
        if Disk.folder(of: old) != Disk.folder(of: new) { try syncFolder(of: old) }
    }

    /// Takes a file away, if it is there.
    func remove(_ path: String) throws(StoreFailure) {
        try step()
        guard unlink(path) == 0 || errno == ENOENT else { throw StoreFailure(number: errno) }
        try syncFolder(of: path)
    }

    /// Makes a folder, unless it is there.
    func makeFolder(_ path: String) throws(StoreFailure) {
        try step()
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw StoreFailure(number: errno) }
        try syncFolder(of: path)
    }

    /// The names in a folder.
    func names(in path: String) throws(StoreFailure) -> [String] {
        guard let folder = opendir(path) else { throw StoreFailure(number: errno) }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    private func syncFolder(of path: String) throws(StoreFailure) {
        guard syncs else { return }
        let folder = open(Disk.folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw StoreFailure(number: errno) }
        defer { close(folder) }
        guard fsync(folder) == 0 else { throw StoreFailure(number: errno) }
    }

    private static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }
}
