// What every binary format here is made of: integers (big-endian), and runs of bytes. Inlinable,
// for they are called a few times for each of a million records.

extension [UInt8] {
    /// Copies bytes.
    @inlinable package init(copying bytes: Span<UInt8>) {
        self = bytes.withUnsafeBufferPointer { Array($0) }
    }

    /// Appends a copy of bytes.
    @inlinable package mutating func append(copying bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { append(contentsOf: $0) }
    }

    /// Appends an integer, most significant byte first.
    @inlinable package mutating func append<N: FixedWidthInteger>(bigEndian number: N) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }

    /// Overwrites the bytes from `offset` on with an integer, most significant byte first.
    @inlinable package mutating func write<N: FixedWidthInteger>(
        bigEndian number: N, at offset: Int
    ) {
        precondition(offset >= 0 && count - offset >= N.bitWidth / 8)
        withUnsafeMutableBytes {
            $0.storeBytes(of: number.bigEndian, toByteOffset: offset, as: N.self)
        }
    }

    /// Overwrites the bytes from `offset` on.
    @inlinable package mutating func write(copying bytes: Span<UInt8>, at offset: Int) {
        precondition(offset >= 0 && count - offset >= bytes.count)
        withUnsafeMutableBytes { target in
            bytes.withUnsafeBytes { source in
                UnsafeMutableRawBufferPointer(rebasing: target[offset...]).copyMemory(from: source)
            }
        }
    }
}

extension Span where Element == UInt8 {
    /// Reads the integer that stands at `offset`, which must be within the bytes.
    @inlinable package func bigEndian<N: FixedWidthInteger & BitwiseCopyable>(
        at offset: Int, as type: N.Type
    ) -> N {
        precondition(offset >= 0 && count - offset >= N.bitWidth / 8)
        return withUnsafeBytes {
            N(bigEndian: $0.loadUnaligned(fromByteOffset: offset, as: N.self))
        }
    }

    /// Tells whether both are the same bytes; not for secrets, for it stops at the first
    /// difference.
    @inlinable package func equals(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        return withUnsafeBytes { left in
            other.withUnsafeBytes { right in left.elementsEqual(right) }
        }
    }
}
