import Glibc

/// What is done to names rather than to bytes.
package enum FileSystem {
    /// What is behind `path`, without following a link at its end; `nil` if there is nothing.
    package static func facts(_ path: String) throws(FileError) -> FileFacts? {
        try check(path)
        var status = stat()
        do {
            try posix("stat", path) { lstat(path, &status) }
        } catch {
            if error.code == .notFound { return nil }
            throw error
        }
        return FileFacts(status)
    }

    /// Whether nothing is at `path`; what cannot be looked at now is not gone.
    package static func isGone(_ path: String) -> Bool {
        do {
            return try facts(path) == nil
        } catch {
            return false
        }
    }

    /// Gives a file another name on the same file system, in place of what has it now.
    package static func rename(_ path: String, to target: String) throws(FileError) {
        try check(path)
        try check(target)
        try posix("rename", path) { Glibc.rename(path, target) }
    }

    /// Sets the permission bits of a file of ours, never through a link.
    package static func setMode(_ path: String, _ mode: UInt32) throws(FileError) {
        try File(path, for: .read).setMode(mode)
    }

    /// Removes a file or a link, never a folder.
    ///
    /// - Returns: Whether it was there.
    @discardableResult
    package static func remove(_ path: String) throws(FileError) -> Bool {
        try check(path)
        do {
            try posix("remove", path) { unlink(path) }
            return true
        } catch {
            if error.code == .notFound { return false }
            throw error
        }
    }

    /// The path with every link, `.` and `..` resolved.
    package static func realPath(_ path: String) throws(FileError) -> String {
        try check(path)
        guard let resolved = realpath(path, nil) else {
            throw FileError(errno: errno, operation: "resolve", path: path)
        }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// The folder that a path's last component is in.
    package static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.utf8.startIndex ? "/" : String(path[..<slash])
    }

    /// Refuses what C would cut short or take for the current folder.
    static func check(_ path: String) throws(FileError) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw FileError(.notFound, operation: "use", path: path)
        }
    }

    /// A name that nobody can guess, recognizable as left over by who finds it.
    package static func temporaryPath(in folder: String) -> String {
        let unguessable = UInt128.random(in: .min ... .max)
        return "\(folder)/\(temporaryPrefix)\(String(unguessable, radix: 36))"
    }

    static let temporaryPrefix = ".tmp-"
}
