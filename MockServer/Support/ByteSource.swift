// Its headers bring in glibc's `timespec` too, and Swift asks for the module that did.
import CMicroHTTPD
import Glibc

/// Bytes that can be read at any offset: a stored blob, a page, or either with a fault on top.
protocol ByteSource: Sendable {
    /// How many bytes there are.
    var count: UInt64 { get }

    /// Copies bytes from `offset` on and returns how many; 0 at the end, or when reading failed.
    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> Int
}

extension ByteSource {
    /// All bytes, for answers that are small.
    func bytes() -> [UInt8] {
        let wanted = Int(count)
        // An array of no bytes would still be written to, and all empty arrays share one storage.
        guard wanted > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: wanted) { buffer, initialized in
            while initialized < wanted {
                let rest = UnsafeMutableRawBufferPointer(
                    rebasing: UnsafeMutableRawBufferPointer(buffer)[initialized...])
                let got = read(at: UInt64(initialized), into: rest)
                if got == 0 { break }
                initialized += got
            }
        }
    }
}

/// Bytes in memory.
struct MemoryBytes: ByteSource {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }
    init(_ text: String) { bytes = [UInt8](text.utf8) }

    var count: UInt64 { UInt64(bytes.count) }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard offset < count else { return 0 }
        let slice = bytes[Int(offset)...].prefix(buffer.count)
        buffer.copyBytes(from: slice)
        return slice.count
    }
}

/// An open file, read by offset.
///
/// What the file held when it was opened stays readable when its name goes.
final class FileBytes: ByteSource {
    let descriptor: Int32
    let count: UInt64
    /// Size, time and inode: what tells this file from one that replaced it.
    let fingerprint: String
    /// When it was last written, in seconds since 1970.
    let modified: Double

    /// Opens a plain file; nil when there is none.
    init?(path: String) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        count = UInt64(status.st_size)
        let time = status.st_mtim
        modified = Double(time.tv_sec)
        fingerprint = [
            UInt64(status.st_size), UInt64(time.tv_sec), UInt64(time.tv_nsec),
            UInt64(status.st_ino),
        ]
        .map { String($0, radix: 16) }.joined(separator: "-")
    }

    deinit { close(descriptor) }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            let got = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
            if got >= 0 { return got }
            if errno != EINTR { return 0 }
        }
    }
}

/// A part of other bytes.
struct SlicedBytes: ByteSource {
    let base: any ByteSource
    let offset: UInt64
    let count: UInt64

    /// The part of `base` that begins at `offset`; both bounds are clipped to what there is.
    init(_ base: any ByteSource, offset: UInt64, count: UInt64) {
        self.base = base
        self.offset = min(offset, base.count)
        self.count = min(count, base.count - self.offset)
    }

    func read(at position: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard position < count else { return 0 }
        let room = min(UInt64(buffer.count), count - position)
        return base.read(
            at: offset + position,
            into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(room))))
    }
}

/// Other bytes with one of them wrong.
struct FlippedBytes: ByteSource {
    let base: any ByteSource
    let offset: UInt64

    var count: UInt64 { base.count }

    func read(at position: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let got = base.read(at: position, into: buffer)
        if offset >= position, offset - position < UInt64(got) {
            buffer[Int(offset - position)] ^= 0xFF
        }
        return got
    }
}

/// Several sources one after the other.
struct JoinedBytes: ByteSource {
    let parts: [any ByteSource]

    var count: UInt64 { parts.reduce(0) { $0 + $1.count } }

    func read(at position: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var start: UInt64 = 0
        for part in parts {
            if position < start + part.count {
                return part.read(at: position - start, into: buffer)
            }
            start += part.count
        }
        return 0
    }
}
