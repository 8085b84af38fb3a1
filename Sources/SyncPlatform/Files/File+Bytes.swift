import Glibc

extension File {
    /// Fills `bytes` from `offset` on.
    ///
    /// - Returns: The number of bytes read; fewer than asked for only at the end of the file.
    package func read(
        into bytes: inout MutableSpan<UInt8>, at offset: Int64
    ) throws(FileError) -> Int {
        try bytes.withUnsafeMutableBytes { buffer throws(FileError) in
            try read(into: buffer, at: offset)
        }
    }

    /// At most `count` bytes from `offset` on; fewer only at the end of the file.
    package func read(count: Int, at offset: Int64) throws(FileError) -> [UInt8] {
        // An array of no bytes would still be written to, and all empty arrays share one storage.
        guard count > 0 else { return [] }
        return try [UInt8](unsafeUninitializedCapacity: count) { buffer, used throws(FileError) in
            used = try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
        }
    }

    /// Fills a buffer from `offset` on; fewer bytes than fit only at the end of the file.
    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(FileError) -> Int {
        guard let start = buffer.baseAddress else { return 0 }
        var done = 0
        while done < buffer.count {
            let count = try posix("read", path) {
                pread(descriptor, start + done, buffer.count - done, off_t(offset) + done)
            }
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// Writes all of `bytes` at `offset`.
    package func write(_ bytes: Span<UInt8>, at offset: Int64) throws(FileError) {
        try writeAll(bytes) { start, count, done in
            pwrite(descriptor, start, count, off_t(offset) + done)
        }
    }

    /// Writes all of `bytes` where the last `append` ended; for one thread at a time.
    package func append(_ bytes: Span<UInt8>) throws(FileError) {
        try writeAll(bytes) { start, count, _ in
            Glibc.write(descriptor, start, count)
        }
    }

    private func writeAll(
        _ bytes: Span<UInt8>, _ call: (UnsafeRawPointer, Int, Int) -> Int
    ) throws(FileError) {
        try bytes.withUnsafeBytes { buffer throws(FileError) in
            guard let start = buffer.baseAddress else { return }
            var done = 0
            while done < buffer.count {
                done += try posix("write", path) { call(start + done, buffer.count - done, done) }
            }
        }
    }

    /// What comes next from the current position on, also of a pipe: at most `count` bytes, none
    /// at the end.
    package func readNext(upTo count: Int) throws(FileError) -> [UInt8] {
        precondition(count > 0)
        return try [UInt8](unsafeUninitializedCapacity: count) { buffer, used throws(FileError) in
            used = try posix("read", path) {
                Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            }
        }
    }

    /// Everything from the current position to the end, also of a pipe.
    ///
    /// - Throws: `tooLarge` as soon as there are more than `limit` bytes.
    package func readAll(limit: Int) throws(FileError) -> [UInt8] {
        var result: [UInt8] = []
        let expected = try facts().size
        guard expected <= limit else { throw FileError(.tooLarge, operation: "read", path: path) }
        // One more than expected, so that the end is seen without another large piece.
        var step = min(max(Int(expected) + 1, 4_096), 1 << 20)
        while true {
            let piece = try [UInt8](unsafeUninitializedCapacity: step) {
                buffer, used throws(FileError) in
                used = try posix("read", path) {
                    Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                }
            }
            if piece.isEmpty { return result }
            guard result.count + piece.count <= limit else {
                throw FileError(.tooLarge, operation: "read", path: path)
            }
            if result.isEmpty { result = piece } else { result += piece }
            step = 1 << 16
        }
    }
}
