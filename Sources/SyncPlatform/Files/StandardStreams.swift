import Glibc

/// The streams that a process is born with.
package enum StandardStreams {
    /// Where words go.
    package enum Output: Int32, Sendable {
        case output = 1
        case error = 2
    }

    /// Writes all of `bytes`, unbuffered.
    ///
    /// - Throws: `closed` if nobody reads any more; SIGPIPE must be ignored for that.
    package static func write(_ bytes: Span<UInt8>, to stream: Output) throws(FileError) {
        try bytes.withUnsafeBytes { buffer throws(FileError) in
            guard let start = buffer.baseAddress else { return }
            var done = 0
            while done < buffer.count {
                do throws(FileError) {
                    done += try posix("write", "\(stream)") {
                        Glibc.write(stream.rawValue, start + done, buffer.count - done)
                    }
                } catch {
                    // Somebody we share the stream with made it non-blocking: wait for room.
                    guard error.errno == EAGAIN else { throw error }
                    var waiting = pollfd(fd: stream.rawValue, events: Int16(POLLOUT), revents: 0)
                    poll(&waiting, 1, -1)
                }
            }
        }
    }

    /// Writes a text, unbuffered; see the other `write`.
    package static func write(_ text: String, to stream: Output) throws(FileError) {
        try write([UInt8](text.utf8).span, to: stream)
    }

    /// Everything on standard input, up to `limit` bytes.
    ///
    /// - Throws: `tooLarge` as soon as there is more.
    package static func readInput(limit: Int) throws(FileError) -> [UInt8] {
        let own = try posix("read", "input") { fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) }
        return try File(adopting: own, path: "input").readAll(limit: limit)
    }
}
