/// Says what a request sends.
package enum HTTPBody: Sendable {
    /// Bytes in memory.
    case bytes([UInt8])
    /// So many bytes of a file from an offset on, read piece by piece as they go out.
    ///
    /// What cannot be read, or is not there, ends the transfer with `HTTPError.source`.
    case file(File, offset: Int64, count: Int)

    /// How many bytes it has.
    package var count: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .file(_, _, let count): count
        }
    }

    /// Copies bytes from a position on; fewer than fit only at the end of the body, or where a file
    /// ends too early.
    func copy(
        into buffer: UnsafeMutableRawBufferPointer, at position: Int
    ) throws(FileError) -> Int {
        let wanted = min(buffer.count, count - position)
        guard wanted > 0 else { return 0 }
        switch self {
        case .bytes(let bytes):
            bytes[position..<position + wanted].withUnsafeBytes { buffer.copyMemory(from: $0) }
            return wanted
        case .file(let file, let offset, _):
            return try file.read(
                into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]),
                at: offset + Int64(position))
        }
    }
}
