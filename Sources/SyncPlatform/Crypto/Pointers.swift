// libsodium's headers promise never to be given a null pointer, not even for no bytes at all, and
// an empty buffer may have no address. Nothing is read or written through the stand-in.

extension Span where Element == UInt8 {
    /// Lends the bytes as a pointer that is never null.
    @inline(__always)
    func withPointer<R>(_ body: (UnsafePointer<UInt8>, Int) -> R) -> R {
        withUnsafeBufferPointer { bytes in
            let start = bytes.baseAddress ?? UnsafePointer(nowhere)
            return body(start, bytes.count)
        }
    }
}

extension MutableSpan where Element == UInt8 {
    /// Lends the bytes as a pointer that is never null.
    @inline(__always)
    mutating func withPointer<R>(_ body: (UnsafeMutablePointer<UInt8>, Int) -> R) -> R {
        withUnsafeMutableBufferPointer { bytes in
            body(bytes.baseAddress ?? nowhere, bytes.count)
        }
    }
}

private nonisolated(unsafe) let nowhere = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)
