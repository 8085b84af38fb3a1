import Glibc

/// Small files that must survive a crash: they are as they were, or as they should be.
package enum DurableFile {
    /// Puts a file with `bytes` at `path`, in place of what was there.
    ///
    /// When it returns, bytes and name are on the disk. When it throws, the old file is untouched,
    /// unless only the last step failed, and no temporary file is left.
    /// - Throws: `notOurs` if something else than a regular file of ours is at `path`.
    package static func write(
        _ bytes: Span<UInt8>, to path: String, mode: UInt32 = 0o600
    ) throws(FileError) {
        // A closure could capture the array, but not the span; so the two steps stand here.
        let draft = try Draft(for: path)
        try draft.file.append(bytes)
        try draft.publish(mode: mode)
    }

    /// The same for a file that `body` writes piece by piece.
    package static func write<Failure>(
        to path: String, mode: UInt32 = 0o600, _ body: (File) throws(Failure) -> Void
    ) throws {
        let draft = try Draft(for: path)
        try body(draft.file)
        try draft.publish(mode: mode)
    }

    /// The whole of a regular file of ours.
    ///
    /// - Throws: `tooLarge` if it has more than `limit` bytes; `notOurs` as `File` does.
    package static func read(_ path: String, limit: Int) throws(FileError) -> [UInt8] {
        try File(path, for: .read).readAll(limit: limit)
    }

    /// Removes a file; when it returns, its name is gone from the disk.
    ///
    /// - Returns: Whether it was there.
    @discardableResult
    package static func remove(_ path: String) throws(FileError) -> Bool {
        guard try FileSystem.remove(path) else { return false }
        try Directory.sync(FileSystem.folder(of: path))
        return true
    }
}

/// A file under a temporary name, which it loses or changes for the final one.
private final class Draft {
    let file: File
    private let path: String
    private var isPublished = false

    init(for path: String) throws(FileError) {
        if let old = try FileSystem.facts(path), old.kind != .regular || !old.isOwnedByUs {
            throw FileError(.notOurs, operation: "write", path: path)
        }
        self.path = path
        let folder = FileSystem.folder(of: path)
        file = try File(FileSystem.temporaryPath(in: folder), for: .create)
    }

    func publish(mode: UInt32) throws(FileError) {
        // Opened first: when it cannot be, the old file is still in its place.
        let folder = try Directory.open(FileSystem.folder(of: path))
        try file.setMode(mode)
        try file.sync()
        try FileSystem.rename(file.path, to: path)
        isPublished = true
        try folder.sync()
    }

    deinit {
        if !isPublished { unlink(file.path) }
    }
}
