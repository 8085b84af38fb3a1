import Glibc

/// Folders: making, checking, listing, removing.
package enum Directory {
    /// Makes the folder and its parents, readable by us alone, and checks what is there now.
    ///
    /// `durably` also returns only when new names are on the disk.
    /// - Throws: `notOurs` if the last component is a link, no folder, somebody else's or writable by
    ///   others.
    package static func make(_ path: String, durably: Bool = false) throws(FileError) {
        try FileSystem.check(path)
        try create(path, durably: durably)
        try check(path)
    }

    /// Makes a folder that is not there; a link among its parents is the user's business.
    private static func create(
        _ path: String, durably: Bool, withParents: Bool = true
    ) throws(FileError) {
        let parent = FileSystem.folder(of: path)
        do {
            try posix("make folder", path) { mkdir(path, 0o700) }
            if durably { try sync(parent) }
        } catch {
            if error.code == .exists { return }
            guard withParents, error.code == .notFound, parent != "." else { throw error }
            try create(parent, durably: durably)
            // Once only: a parent may be there and still lead nowhere.
            try create(path, durably: durably, withParents: false)
        }
    }

    /// Makes sure that `path` is a real folder of ours that nobody else may write to.
    package static func check(_ path: String) throws(FileError) {
        _ = try openOurs(path)
    }

    /// The names in a folder, in no order, without `.` and `..`.
    ///
    /// A name that is not UTF-8 comes repaired and cannot be opened under it; we make no such
    /// names.
    package static func list(_ path: String) throws(FileError) -> [String] {
        var names: [String] = []
        try DirectoryStream(open(path), path: path).forEach { name throws(FileError) in
            names.append(String(cString: name))
        }
        return names
    }

    /// Removes an empty folder.
    package static func remove(_ path: String) throws(FileError) {
        try FileSystem.check(path)
        try posix("remove folder", path) { rmdir(path) }
    }

    /// Removes the files in a folder that an interrupted write left behind.
    ///
    /// The caller holds the lock under which such files are written.
    package static func removeTemporaries(in path: String) throws(FileError) {
        for name in try list(path) where name.hasPrefix(FileSystem.temporaryPrefix) {
            try FileSystem.remove("\(path)/\(name)")
        }
    }

    /// The bytes that we may still write on the file system of `path`.
    package static func freeSpace(at path: String) throws(FileError) -> UInt64 {
        try space(at: path, \.f_bavail)
    }

    /// The bytes that the file system of `path` has in all.
    package static func diskSpace(at path: String) throws(FileError) -> Int64 {
        Int64(clamping: try space(at: path, \.f_blocks))
    }

    private static func space(
        at path: String, _ blocks: (statvfs) -> fsblkcnt_t
    ) throws(FileError) -> UInt64 {
        try FileSystem.check(path)
        var status = statvfs()
        try posix("free space", path) { statvfs(path, &status) }
        let space = UInt64(blocks(status)).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return space.overflow ? .max : space.partialValue
    }

    /// Returns when the folder's names are on the disk.
    package static func sync(_ path: String) throws(FileError) {
        try open(path).sync()
    }

    /// Opens a folder, whoever owns it; a link to one is followed.
    static func open(_ path: String) throws(FileError) -> File {
        try FileSystem.check(path)
        let descriptor = try posix("open folder", path) {
            Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        }
        return File(adopting: descriptor, path: path)
    }

    private static func openOurs(_ path: String) throws(FileError) -> File {
        let descriptor: Int32
        do {
            descriptor = try posix("open folder", path) {
                Glibc.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            }
        } catch {
            // What is there but is no folder, and a link to one.
            if error.errno == ENOTDIR {
                throw FileError(.notOurs, operation: "open folder", path: path)
            }
            throw error
        }
        let folder = File(adopting: descriptor, path: path)
        let facts = try folder.facts()
        guard facts.isOwnedByUs, !facts.isWritableByOthers else {
            throw FileError(.notOurs, operation: "open folder", path: path)
        }
        return folder
    }
}
