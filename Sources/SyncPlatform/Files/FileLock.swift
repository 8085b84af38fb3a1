import Glibc

/// A file that locks are taken on, whole or by ranges of bytes.
///
/// The locks are OFD locks: each belongs to its token and dies with it or with the process, however
/// that ends. Two tokens exclude each other also within one process. The file's content means
/// nothing.
package struct FileLock: Sendable {
    /// Who else may have the range meanwhile.
    package enum Kind: Sendable {
        case shared, exclusive
    }

    /// A lock that is held until the last reference goes.
    ///
    /// Swift may let go of a local variable after its last use: a token is kept in a property, or
    /// the work is done in `holding`.
    package final class Token: Sendable {
        private let file: File
        init(_ file: File) { self.file = file }

        deinit {
            // Closing alone would leave the lock to a child that is just being started and still
            // has a copy of the descriptor.
            var request = FileLock.request(F_UNLCK, FileLock.whole)
            _ = fcntl(file.descriptor, OFD.set, &request)
        }
    }

    /// Ranges of the file that are taken and let go one by one, over one open file.
    ///
    /// All are let go with the last reference. They exclude everybody but each other: who takes them
    /// sees to it that no two are the same.
    package final class Ranges: Sendable {
        private let file: File
        init(_ file: File) { self.file = file }

        deinit { letGo(FileLock.whole) }

        /// Takes a range if nobody else is in the way; whether it did.
        package func take(_ range: Range<Int64>) throws(FileError) -> Bool {
            var request = FileLock.request(F_WRLCK, range)
            do throws(FileError) {
                try posix("lock", file.path) { fcntl(file.descriptor, OFD.set, &request) }
                return true
            } catch {
                if error.code == .locked { return false }
                throw error
            }
        }

        /// Lets a range go, whether it was taken or not.
        package func letGo(_ range: Range<Int64>) {
            var request = FileLock.request(F_UNLCK, range)
            _ = fcntl(file.descriptor, OFD.set, &request)
        }
    }

    /// All bytes that a file can have.
    package static let whole: Range<Int64> = 0..<Int64.max

    /// The lock's file.
    package let path: String

    /// Names the lock's file, in a folder of ours; it is made when it is first needed.
    package init(path: String) {
        self.path = path
    }

    /// Opens the file for many ranges; none of them is taken yet.
    package func ranges() throws(FileError) -> Ranges {
        Ranges(try open(for: .exclusive))
    }

    /// Takes the lock if nobody is in the way; `nil` if somebody is.
    package func tryLock(
        _ kind: Kind, _ range: Range<Int64> = whole
    ) throws(FileError) -> Token? {
        do {
            return try acquire(kind, range, waits: false)
        } catch {
            if error.code == .locked { return nil }
            throw error
        }
    }

    /// Waits for the lock, blocking the thread; for short waits off the cooperative pool.
    package func lock(
        _ kind: Kind, _ range: Range<Int64> = whole
    ) throws(FileError) -> Token {
        try acquire(kind, range, waits: true)
    }

    /// Waits for the lock so long at the most, blocking the thread; `nil` if somebody stays in the
    /// way.
    package func lock(
        _ kind: Kind, within milliseconds: UInt32
    ) throws(FileError) -> Token? {
        let pause: UInt32 = 10
        var left = milliseconds
        while true {
            if let held = try tryLock(kind) { return held }
            if left == 0 { return nil }
            usleep(min(pause, left) * 1_000)
            left -= min(pause, left)
        }
    }

    /// Waits for the lock and runs `body` under it; as `lock` does, it blocks the thread.
    package func holding<Result>(
        _ kind: Kind, _ range: Range<Int64> = whole, _ body: () throws -> Result
    ) throws -> Result {
        let token = try lock(kind, range)
        defer { withExtendedLifetime(token) {} }
        return try body()
    }

    /// Whether anybody, this process included, holds a lock on any byte of `range`.
    package func isLocked(_ range: Range<Int64> = whole) throws(FileError) -> Bool {
        guard let file = try openToAsk() else { return false }
        return try Self.holder(within: range, of: file) != nil
    }

    /// The ranges within `range` that anybody holds, this process included, in order.
    ///
    /// Costs two calls a lock and does not depend on the length of the range.
    package func lockedRanges(
        within range: Range<Int64> = whole
    ) throws(FileError) -> [Range<Int64>] {
        guard let file = try openToAsk() else { return [] }
        var found: [Range<Int64>] = []
        var open = [range]
        while let next = open.popLast() {
            guard let held = try Self.holder(within: next, of: file) else { continue }
            let inside = held.clamped(to: next)
            found.append(inside)
            open.append(next.lowerBound..<inside.lowerBound)
            open.append(inside.upperBound..<next.upperBound)
        }
        return found.sorted { $0.lowerBound < $1.lowerBound }
    }

    private func acquire(
        _ kind: Kind, _ range: Range<Int64>, waits: Bool
    ) throws(FileError) -> Token {
        precondition(range.lowerBound >= 0 && !range.isEmpty, "a lock needs bytes")
        while true {
            let file = try open(for: kind)
            var request = Self.request(kind == .shared ? F_RDLCK : F_WRLCK, range)
            let command = waits ? OFD.setAndWait : OFD.set
            try posix("lock", path) { fcntl(file.descriptor, command, &request) }
            // Whoever waited may hold a file that was removed meanwhile, and be alone in it.
            let held = try file.facts()
            let named = try FileSystem.facts(path)
            if held.inode == named?.inode, held.device == named?.device { return Token(file) }
        }
    }

    private func open(for kind: Kind) throws(FileError) -> File {
        do {
            return try Self.open(path, O_RDWR | O_CREAT)
        } catch {
            // On a disk or in a folder where we only read, sharing still works if the file is
            // there.
            let mayOnlyRead = error.code == .readOnly || error.code == .permission
            guard kind == .shared, mayOnlyRead else { throw error }
            return try Self.open(path, O_RDONLY)
        }
    }

    private func openToAsk() throws(FileError) -> File? {
        do {
            return try Self.open(path, O_RDONLY)
        } catch {
            if error.code == .notFound { return nil }
            throw error
        }
    }

    private static func open(_ path: String, _ flags: Int32) throws(FileError) -> File {
        try FileSystem.check(path)
        let descriptor = try posix("lock", path) {
            Glibc.open(path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
        }
        let file = File(adopting: descriptor, path: path)
        let facts = try file.facts()
        guard facts.kind == .regular, facts.isOwnedByUs else {
            throw FileError(.notOurs, operation: "lock", path: path)
        }
        return file
    }

    /// Some lock that anybody holds on a byte of `range`.
    private static func holder(
        within range: Range<Int64>, of file: File
    ) throws(FileError) -> Range<Int64>? {
        if range.isEmpty { return nil }
        var answer = request(F_WRLCK, range)
        try posix("lock", file.path) { fcntl(file.descriptor, OFD.get, &answer) }
        guard Int32(answer.l_type) != F_UNLCK else { return nil }
        let start = Int64(answer.l_start)
        let end = start.addingReportingOverflow(Int64(answer.l_len))
        return start..<(answer.l_len == 0 || end.overflow ? .max : end.partialValue)
    }

    private static func request(_ type: Int32, _ range: Range<Int64>) -> flock {
        var request = flock()
        request.l_type = Int16(type)
        request.l_whence = Int16(SEEK_SET)
        request.l_start = off_t(range.lowerBound)
        // A length of 0 means to the end, however long the file gets.
        request.l_len = range.upperBound == .max ? 0 : off_t(range.count)
        return request
    }

    /// The commands of `fcntl` that the headers hide; the same on every architecture of Linux.
    private enum OFD {
        static let get: Int32 = 36
        static let set: Int32 = 37
        static let setAndWait: Int32 = 38
    }
}
