import CVips
import Glibc

/// A regular file that libvips reads from.
///
/// libvips would map a file that it opens itself, and a program that cuts a mapped file kills who
/// reads it. This one is read, and ends where it ended when it was opened, or before.
final class ImageSource {
    let size: Int64
    private let file: File
    private var position: Int64 = 0
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
            vips.connect, source,
            { _, bytes, count, data in
                ImageSource.call(data) { $0.read(into: bytes, count: count) }
            }, data)
        vips_source_on_seek(
            vips.connect, source,
            { _, offset, whence, data in
                ImageSource.call(data) { $0.seek(to: offset, whence: whence) }
            }, data)
        Self.order.withLock { $0 &+= 1 }
        defer {
            // Images that still refer to the source are gone by then, and nobody calls back.
            vips.unref(UnsafeMutableRawPointer(source))
            Self.order.withLock { $0 &+= 1 }
        }
        return withExtendedLifetime(self) { body(source) }
    }

    /// Orders the calls of libvips, which come from threads of its own, one at a time.
    ///
    /// Who looks for races cannot see its locks, and sees this one; it needs a value that it can see.
    private static let order = Locked(0)

    private static func call(
        _ data: UnsafeMutableRawPointer?, _ body: (ImageSource) -> Int64
    ) -> Int64 {
        order.withLock { $0 &+= 1 }
        defer { order.withLock { $0 &+= 1 } }
        guard let data else { return -1 }
        return body(Unmanaged<ImageSource>.fromOpaque(data).takeUnretainedValue())
    }

    /// Copies bytes from where it stands; 0 at the end, -1 if they cannot be read.
    func read(into bytes: UnsafeMutableRawPointer?, count: Int64) -> Int64 {
        guard let bytes, count >= 0, SuspendingClock.now < end else { return -1 }
        let start = position
        // libvips 8.14 asks for more than it has room for near the end that it was told of, so that
        // what a file has grown by meanwhile would be written past a block.
        let count = max(0, min(count, size - start))
        while true {
            let read = pread(file.descriptor, bytes, Int(count), off_t(start))
            if read < 0 && errno == EINTR { continue }
            if read > 0 { position = start + Int64(read) }
            return Int64(read)
        }
    }

    private func seek(to offset: Int64, whence: CInt) -> Int64 {
        let start: Int64
        switch whence {
        case SEEK_SET: start = 0
        case SEEK_CUR: start = position
        case SEEK_END: start = size
        default: return -1
        }
        let (sum, overflows) = start.addingReportingOverflow(offset)
        guard !overflows, sum >= 0 else { return -1 }
        position = sum
        return sum
    }
}
