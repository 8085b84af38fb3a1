import Glibc

extension FileSystem {
    /// Copies an open file to a new name; never over another file, and never half.
    ///
    /// When it returns, the copy is on the disk.
    /// - Throws: `exists` if something has the name.
    package static func copy(
        _ source: File, to path: String, mode: UInt32 = 0o600
    ) throws(FileError) {
        let target = try NewFile(path)
        try fill(target.file, from: source)
        try target.publish(mode: mode)
    }

    static func fill(_ target: File, from source: File) throws(FileError) {
        var offset: Int64 = 0
        while true {
            let piece = try source.read(count: 1 << 18, at: offset)
            if piece.isEmpty { return }
            try target.append(piece.span)
            offset += Int64(piece.count)
        }
    }
}

/// A file that is written before it has its name, which nobody else may have.
///
/// A process that is killed leaves nothing under the name, and where the file system knows files
/// without a name, nothing at all; nor does one that lets go of it before `publish`.
package final class NewFile {
    /// What is to be filled.
    package let file: File
    private let path: String
    private let folder: File
    /// The name that it has meanwhile, where it must have one.
    private let temporary: String?
    private var isPublished = false

    /// Begins a file; `path` is not looked at yet.
    package convenience init(_ path: String) throws(FileError) {
        try self.init(path, mayBeNameless: true)
    }

    /// On FAT and old network file systems a file must have a name.
    init(_ path: String, mayBeNameless: Bool) throws(FileError) {
        try FileSystem.check(path)
        self.path = path
        folder = try Directory.open(FileSystem.folder(of: path))
        if mayBeNameless, let file = try Self.nameless(in: folder) {
            self.file = file
            temporary = nil
        } else {
            let name = FileSystem.temporaryPath(in: folder.path)
            file = try File(name, for: .create)
            temporary = name
        }
    }

    /// Gives the file its name; when it returns, bytes and name are on the disk.
    ///
    /// - Throws: `exists` if something has the name.
    package func publish(mode: UInt32 = 0o600) throws(FileError) {
        try file.setMode(mode)
        try file.sync()
        if let temporary {
            // Takes the name so that nobody else can, then replaces what is only our own.
            _ = try File(path, for: .create)
            do {
                try FileSystem.rename(temporary, to: path)
            } catch {
                unlink(path)
                throw error
            }
        } else {
            // Only a descriptor's entry in /proc gives a file without a name one.
            try posix("save", path) {
                linkat(
                    AT_FDCWD, "/proc/self/fd/\(file.descriptor)", AT_FDCWD, path,
                    AT_SYMLINK_FOLLOW)
            }
        }
        isPublished = true
        try folder.sync()
    }

    deinit {
        if let temporary, !isPublished { unlink(temporary) }
    }

    /// A new file in `folder` that goes when it is closed; `nil` where that is not to be had.
    private static func nameless(in folder: File) throws(FileError) -> File? {
        // O_TMPFILE, which the headers hide; EISDIR is what a kernel without it says.
        let flags = 0o20_000_000 | O_DIRECTORY | O_RDWR | O_CLOEXEC
        do {
            let descriptor = try posix("save", folder.path) {
                openat(folder.descriptor, ".", flags, 0o600)
            }
            return File(adopting: descriptor, path: folder.path)
        } catch {
            if [EOPNOTSUPP, EISDIR, ENOENT, EINVAL].contains(error.errno) { return nil }
            throw error
        }
    }
}
