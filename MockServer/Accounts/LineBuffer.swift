import Glibc

/// Encoded entries, one a line, as they stand in a file or in memory; nothing copies them.
// The bytes are written before the buffer is shared and only read afterwards.
final class LineBuffer: @unchecked Sendable {
    let base: UnsafeRawPointer
    let count: Int
    private let isMapped: Bool

    /// Maps a file.
    ///
    /// A file that somebody shortens meanwhile ends the process: account folders are not edited
    /// under a running server.
    init(path: String) throws(SetupError) {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw SetupError("cannot read \(path)") }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw SetupError("cannot read \(path)") }
        count = Int(status.st_size)
        if count == 0 {
            base = UnsafeRawPointer(UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1))
            isMapped = false
            return
        }
        guard let mapping = mmap(nil, count, PROT_READ, MAP_PRIVATE, file, 0), mapping != MAP_FAILED
        else { throw SetupError("cannot map \(path)") }
        base = UnsafeRawPointer(mapping)
        isMapped = true
    }

    /// Copies bytes.
    init(_ bytes: [UInt8]) {
        let copy = UnsafeMutableRawPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
        bytes.withUnsafeBytes { source in
            if let start = source.baseAddress {
                copy.copyMemory(from: start, byteCount: source.count)
            }
        }
        base = UnsafeRawPointer(copy)
        count = bytes.count
        isMapped = false
    }

    deinit {
        if isMapped {
            munmap(UnsafeMutableRawPointer(mutating: base), count)
        } else {
            UnsafeMutableRawPointer(mutating: base).deallocate()
        }
    }

    /// Says that a part will not be needed soon, so that a large file does not become large memory.
    ///
    /// The kernel keeps the bytes in its page cache; only this process lets go of them.
    func letGo(of range: Range<Int>) {
        guard isMapped else { return }
        let page = 4096
        let start = range.lowerBound / page * page
        madvise(
            UnsafeMutableRawPointer(mutating: base + start), min(range.upperBound, count) - start,
            MADV_DONTNEED)
    }
}
