import Glibc

extension Directory {
    /// Removes a folder and everything in it; a link is removed, never followed.
    ///
    /// What vanishes meanwhile, or was not there, is as good as removed. What somebody adds
    /// meanwhile is removed too, within reason.
    package static func removeTree(_ path: String) throws(FileError) {
        try FileSystem.check(path)
        try remove(path, in: AT_FDCWD, path: path)
    }

    private static func remove(
        _ name: UnsafePointer<CChar>, in folder: Int32, path: String
    ) throws(FileError) {
        for _ in 0..<8 {
            // Linux says EISDIR for a folder, so that what is no folder costs one call.
            if try isGone("remove", path, { unlinkat(folder, name, 0) }) { return }
            try empty(name, in: folder, path: path)
            if try isGone("remove", path, { unlinkat(folder, name, AT_REMOVEDIR) }) { return }
        }
        throw FileError(.exists, operation: "remove", path: path)
    }

    /// Removes what is in a folder.
    private static func empty(
        _ name: UnsafePointer<CChar>, in folder: Int32, path: String
    ) throws(FileError) {
        let descriptor: Int32
        do {
            descriptor = try posix("open folder", path) {
                openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            }
        } catch {
            // Gone, or a file or a link by now: the next round removes it.
            if error.errno == ENOENT || error.errno == ENOTDIR || error.errno == ELOOP { return }
            throw error
        }
        let opened = File(adopting: descriptor, path: path)
        defer { withExtendedLifetime(opened) {} }
        try DirectoryStream(opened, path: path).forEach { entry throws(FileError) in
            try remove(entry, in: descriptor, path: path)
        }
    }

    /// Whether the name is gone; `false` says that a folder is there or has something in it.
    private static func isGone(
        _ operation: StaticString, _ path: String, _ call: () -> Int32
    ) throws(FileError) -> Bool {
        do {
            try posix(operation, path, call)
            return true
        } catch {
            switch error.errno {
            case ENOENT: return true
            case EISDIR, ENOTEMPTY, EEXIST, ENOTDIR: return false
            default: throw error
            }
        }
    }
}

/// The entries of an open folder as the system hands them out.
struct DirectoryStream {
    private let folder: File
    private let path: String

    init(_ folder: File, path: String) {
        self.folder = folder
        self.path = path
    }

    /// Calls `body` with each name but `.` and `..`; removing the named entry meanwhile is fine.
    func forEach(
        _ body: (UnsafePointer<CChar>) throws(FileError) -> Void
    ) throws(FileError) {
        // The stream closes its descriptor, so it gets one of its own.
        let descriptor = try posix("list", path) { fcntl(folder.descriptor, F_DUPFD_CLOEXEC, 0) }
        guard let stream = fdopendir(descriptor) else {
            let number = errno
            close(descriptor)
            throw FileError(errno: number, operation: "list", path: path)
        }
        defer { closedir(stream) }
        while true {
            // The end and a failure both are nil; only errno tells them apart.
            errno = 0
            guard let entry = readdir(stream) else {
                let number = errno
                if number == 0 { return }
                throw FileError(errno: number, operation: "list", path: path)
            }
            let offset = MemoryLayout<dirent>.offset(of: \.d_name) ?? 0
            let name = UnsafeRawPointer(entry).advanced(by: offset)
                .assumingMemoryBound(to: CChar.self)
            if strcmp(name, ".") != 0, strcmp(name, "..") != 0 { try body(name) }
        }
    }
}
