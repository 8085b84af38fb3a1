import Glibc

/// What the file system says about one file.
///
/// Two that are equal in `inode`, `device`, `size`, `mtimeNs` and `ctimeNs` are the same bytes,
/// unless the clock was set back or somebody wrote to the disk itself.
package struct FileFacts: Sendable, Equatable {
    /// What is behind a name.
    package enum Kind: Sendable, Equatable {
        case regular, directory, symbolicLink, other
    }

    /// File, folder, link or something else.
    package let kind: Kind
    /// The file's number on its device; another file may get it later.
    package let inode: UInt64
    /// The file system it is on.
    package let device: UInt64
    /// The length in bytes.
    package let size: Int64
    /// The bytes that the file takes on the disk: fewer than `size` if it has holes.
    package let allocated: Int64
    /// The last change of the bytes, in nanoseconds since 1970.
    package let mtimeNs: Int64
    /// The last change of bytes, name or mode, in nanoseconds since 1970; it cannot be set.
    package let ctimeNs: Int64
    /// The twelve permission bits.
    package let mode: UInt32
    /// The user whose file it is.
    package let owner: UInt32

    init(_ status: stat) {
        switch status.st_mode & S_IFMT {
        case S_IFREG: kind = .regular
        case S_IFDIR: kind = .directory
        case S_IFLNK: kind = .symbolicLink
        default: kind = .other
        }
        inode = UInt64(status.st_ino)
        device = UInt64(status.st_dev)
        size = Int64(status.st_size)
        allocated = Int64(status.st_blocks) * 512
        mtimeNs = Self.nanoseconds(status.st_mtim)
        ctimeNs = Self.nanoseconds(status.st_ctim)
        mode = status.st_mode & 0o7777
        owner = status.st_uid
    }

    /// Whether the file belongs to the user whom this process runs as.
    package var isOwnedByUs: Bool { owner == geteuid() }

    /// Whether group or others may write.
    package var isWritableByOthers: Bool { mode & 0o022 != 0 }

    /// Whether group or others may do anything at all.
    package var isOpenToOthers: Bool { mode & 0o077 != 0 }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        // A time far beyond 2262 does not fit; it must not end the process.
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
