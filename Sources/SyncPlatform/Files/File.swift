import Glibc

/// An open file, for reads and writes at any offset from any thread.
///
/// The descriptor is constant and every call names its offset, so there is nothing to guard. Nobody
/// inherits the descriptor; it is closed when the last reference goes.
package final class File: Sendable {
    /// What a file is opened for.
    package enum Access: Sendable {
        case read, readWrite
        /// A new file for reading and writing; it must not be there yet.
        case create
        /// For reading and writing; made if it is not there.
        case readWriteOrCreate
    }

    let descriptor: Int32
    /// The path it was opened under.
    package let path: String

    init(adopting descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    /// Opens or creates a regular file of ours; `mode` is for a new one.
    ///
    /// - Throws: `notOurs` for a symbolic link, for what is no regular file, and for somebody else's.
    package convenience init(_ path: String, for access: Access, mode: UInt32 = 0o600)
        throws(FileError)
    {
        // O_NONBLOCK: opening a FIFO would wait for its other end. Regular files do not mind.
        let flags = Self.flags(access) | O_NOFOLLOW | O_NONBLOCK
        try self.init(path, flags: flags, mode: mode)
        // What was just made is ours.
        if access == .create { return }
        let facts = try self.facts()
        guard facts.kind == .regular, facts.isOwnedByUs else {
            throw FileError(.notOurs, operation: "open", path: path)
        }
    }

    /// Opens for reading what the user named: links are followed, and the owner does not matter.
    ///
    /// It may be a pipe or a device, which only `readAll` can read, and for whose writer this
    /// waits.
    package convenience init(chosenByUser path: String) throws(FileError) {
        try self.init(path, flags: O_RDONLY, mode: 0)
        guard try facts().kind != .directory else {
            throw FileError(.notOurs, operation: "open", path: path)
        }
    }

    /// Opens for reading a regular file that the user named: links are followed, and the owner does
    /// not matter.
    ///
    /// - Throws: `notOurs` for what is no regular file, without waiting for the other end of a pipe.
    package convenience init(regularFileChosenByUser path: String) throws(FileError) {
        try self.init(path, flags: O_RDONLY | O_NONBLOCK, mode: 0)
        guard try facts().kind == .regular else {
            throw FileError(.notOurs, operation: "open", path: path)
        }
    }

    private convenience init(_ path: String, flags: Int32, mode: UInt32) throws(FileError) {
        try FileSystem.check(path)
        let descriptor = try posix("open", path) {
            open(path, flags | O_CLOEXEC | O_NOCTTY, mode)
        }
        self.init(adopting: descriptor, path: path)
    }

    deinit {
        close(descriptor)
    }

    private static func flags(_ access: Access) -> Int32 {
        switch access {
        case .read: O_RDONLY
        case .readWrite: O_RDWR
        case .create: O_RDWR | O_CREAT | O_EXCL
        case .readWriteOrCreate: O_RDWR | O_CREAT
        }
    }

    /// What the file system says about the open file, whatever its name is by now.
    package func facts() throws(FileError) -> FileFacts {
        var status = stat()
        try posix("stat", path) { fstat(descriptor, &status) }
        return FileFacts(status)
    }

    /// Makes the file `size` bytes long; what is added is a hole that reads as zeros.
    package func truncate(to size: Int64) throws(FileError) {
        try posix("truncate", path) { ftruncate(descriptor, off_t(size)) }
    }

    /// Returns when bytes and length are on the disk; a new name also needs `Directory.sync`.
    package func sync() throws(FileError) {
        try posix("sync", path) { fsync(descriptor) }
    }

    /// Has the system begin to write a part to the disk, so that a later `sync` waits for less.
    ///
    /// Nothing is promised: a system that cannot leaves it all to `sync`.
    package func beginWriting(from offset: Int64, count: Int64) {
        // The headers hide both from Swift.
        let write: UInt32 = 2
        _ = Self.syncRange?(descriptor, off_t(offset), off_t(count), write)
    }

    private typealias SyncRange = @convention(c) (Int32, off_t, off_t, UInt32) -> Int32
    private static let syncRange = dlsym(nil, "sync_file_range").map {
        unsafeBitCast($0, to: SyncRange.self)
    }

    /// Sets the permission bits.
    package func setMode(_ mode: UInt32) throws(FileError) {
        try posix("chmod", path) { fchmod(descriptor, mode) }
    }
}
