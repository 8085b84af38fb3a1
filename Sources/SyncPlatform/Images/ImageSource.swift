import CVips
import Glibc

/// A regular file that libvips reads from.
///
/// libvips would map a file that it opens itself, and a program that cuts a mapped file kills who
/// reads it. This one is read, and ends where it ended when it was opened, or before.
final class ImageSource {
    let size: Int64
    private let file: File
    /// libvips reads on threads of its own, one at a time; who looks for races cannot see its locks.
    private let position = Locked<Int64>(0)
    private let end: SuspendingClock.Instant

    /// Takes an open file, to be read for so long; `nil` for what is no regular one.
    ///
    /// The time is what stops a file that is made to take hours: a loader asks for bytes as it goes.
    init?(_ file: File, patience: Duration) {
        end = .now + patience
        guard let facts = try? file.facts(), facts.kind == .regular else { return nil }
        self.file = file
        size = facts.size
    }

    /// The first bytes of the file: as many as there are, at most `count`.
    func head(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
            written = max(0, pread(file.descriptor, buffer.baseAddress, count, 0))
        }
    }

    /// Gives `body` the file as libvips wants it.
    func withVips<Result>(_ vips: Vips, _ body: (OpaquePointer) -> Result?) -> Result? {
        guard let source = vips.newSource() else { return nil }
        let data = Unmanaged.passUnretained(self).toOpaque()
        vips_source_on_read(
            vips.connect, source, { ImageSource.at($3)?.read(into: $1, count: $2) ?? -1 }, data)
        vips_source_on_seek(
            vips.connect, source, { ImageSource.at($3)?.seek(to: $1, whence: $2) ?? -1 }, data)
        // Images that still refer to the source are gone by then, and nobody calls back.
        defer { vips.unref(UnsafeMutableRawPointer(source)) }
        return withExtendedLifetime(self) { body(source) }
    }

    private static func at(_ data: UnsafeMutableRawPointer?) -> ImageSource? {
        data.map { Unmanaged<ImageSource>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Copies bytes from where it stands; 0 at the end, -1 if they cannot be read.
    func read(into bytes: UnsafeMutableRawPointer?, count: Int64) -> Int64 {
        guard let bytes, count >= 0, SuspendingClock.now < end else { return -1 }
        let start = position.withLock { $0 }
        // libvips 8.14 asks for more than it has room for near the end that it was told of, so that
        // what a file has grown by meanwhile would be written past a block.
        let count = max(0, min(count, size - start))
        while true {
            let read = pread(file.descriptor, bytes, Int(count), off_t(start))
            if read < 0 && errno == EINTR { continue }
            if read > 0 { position.withLock { $0 = start + Int64(read) } }
            return Int64(read)
        }
    }

    private func seek(to offset: Int64, whence: CInt) -> Int64 {
        let start: Int64
        switch whence {
        case SEEK_SET: start = 0
        case SEEK_CUR: start = position.withLock { $0 }
        case SEEK_END: start = size
        default: return -1
        }
        let (sum, overflows) = start.addingReportingOverflow(offset)
        guard !overflows, sum >= 0 else { return -1 }
        position.withLock { $0 = sum }
        return sum
    }
}
