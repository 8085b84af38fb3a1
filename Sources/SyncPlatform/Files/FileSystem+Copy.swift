import Glibc

extension FileSystem {
    /// Copies an open file to a new name; never over another file, and never half.
    ///
    /// When it returns, the copy is on the disk. A process that is killed leaves nothing under the
    /// name, and where the file system knows files without a name, nothing at all.
    /// - Throws: `exists` if something has the name.
    package static func copy(
        _ source: File, to path: String, mode: UInt32 = 0o600
    ) throws(FileError) {
        try check(path)
        let folder = try Directory.open(folder(of: path))
        if let target = try nameless(in: folder) {
            // The descriptor must be open when its number is used.
            defer { withExtendedLifetime(target) {} }
            try fill(target, from: source, mode: mode)
            // Only a descriptor's entry in /proc gives a file without a name one.
            try posix("save", path) {
                linkat(
                    AT_FDCWD, "/proc/self/fd/\(target.descriptor)", AT_FDCWD, path,
                    AT_SYMLINK_FOLLOW)
            }
        } else {
            try copyByRename(source, to: path, in: folder, mode: mode)
        }
        try folder.sync()
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

    /// The way for FAT and old network file systems: a temporary name, then the final one.
    static func copyByRename(
        _ source: File, to path: String, in folder: File, mode: UInt32
    ) throws(FileError) {
        let target = try File(temporaryPath(in: folder.path), for: .create)
        do {
            try fill(target, from: source, mode: mode)
            // Takes the name so that nobody else can, then replaces what is only our own.
            _ = try File(path, for: .create)
        } catch {
            unlink(target.path)
            throw error
        }
        do {
            try rename(target.path, to: path)
        } catch {
            unlink(target.path)
            unlink(path)
            throw error
        }
    }

    private static func fill(
        _ target: File, from source: File, mode: UInt32
    ) throws(FileError) {
        var offset: Int64 = 0
        while true {
            let piece = try source.read(count: 1 << 18, at: offset)
            if piece.isEmpty { break }
            try target.append(piece.span)
            offset += Int64(piece.count)
        }
        try target.setMode(mode)
        try target.sync()
    }
}
