import Glibc

/// What the file system refused or failed to do.
package struct FileError: Error, Sendable {
    /// The kinds of failure that callers tell apart.
    package enum Code: Sendable, Equatable {
        case notFound, exists, noSpace, permission, readOnly
        /// A symbolic link, FIFO or device, somebody else's file, or a folder others may write to.
        case notOurs
        case locked, tooLarge
        /// A name on another file system, where renaming does not reach.
        case otherVolume
        /// The other end of a pipe is gone.
        case closed
        case io
    }

    /// What callers branch on.
    package let code: Code
    /// The system's error number; 0 if the refusal is ours.
    package let errno: Int32
    /// What was being done: "open", "rename".
    package let operation: String
    /// The path, with control characters escaped.
    package let path: String

    init(errno: Int32, operation: String, path: String) {
        code = Code(errno: errno)
        self.errno = errno
        self.operation = operation
        self.path = Self.escaped(path)
    }

    init(_ code: Code, operation: String, path: String) {
        self.code = code
        errno = 0
        self.operation = operation
        self.path = Self.escaped(path)
    }

    /// A path that may be printed: what could move a terminal's cursor is shown as `\u{1b}`.
    private static func escaped(_ path: String) -> String {
        var result = ""
        for scalar in path.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator:
                result += "\\u{\(String(scalar.value, radix: 16))}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

extension FileError.Code {
    init(errno: Int32) {
        switch errno {
        case ENOENT, ENOTDIR: self = .notFound
        case EEXIST, ENOTEMPTY: self = .exists
        case ENOSPC, EDQUOT: self = .noSpace
        case EACCES, EPERM: self = .permission
        case EROFS: self = .readOnly
        // What O_NOFOLLOW says to a link, and open to a socket, a device without driver or a
        // folder.
        case ELOOP, ENXIO, EISDIR: self = .notOurs
        case EAGAIN: self = .locked
        case EFBIG, EOVERFLOW: self = .tooLarge
        case EPIPE: self = .closed
        case EXDEV: self = .otherVolume
        default: self = .io
        }
    }
}

extension FileError.Code {
    /// What it is, if the system has no words for it.
    fileprivate var words: String {
        switch self {
        case .notFound: "not there"
        case .exists: "there already"
        case .noSpace: "no space left"
        case .permission: "not permitted"
        case .readOnly: "read-only"
        case .notOurs: "a link or a device, or not ours alone"
        case .locked: "in use"
        case .tooLarge: "too large"
        case .closed: "closed at the other end"
        case .otherVolume: "on another file system"
        case .io: "failed"
        }
    }
}

extension FileError: CustomStringConvertible {
    /// One line for the log.
    package var description: String {
        let reason = errno == 0 ? code.words : String(cString: strerror(errno)).lowercased()
        return "\(operation) \(path): \(reason)"
    }
}

/// Runs a POSIX call again until no signal cuts it short; -1 becomes an error.
@discardableResult
@inline(__always)
func posix<Result: FixedWidthInteger & SignedInteger>(
    _ operation: StaticString, _ path: String, _ call: () -> Result
) throws(FileError) -> Result {
    while true {
        let result = call()
        if result != -1 { return result }
        let number = errno
        if number != EINTR { throw failed(operation, path, number) }
    }
}

@inline(never)
private func failed(_ operation: StaticString, _ path: String, _ number: Int32) -> FileError {
    FileError(errno: number, operation: "\(operation)", path: path)
}
