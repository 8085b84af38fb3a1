/// One range of bytes that a request asks for (RFC 9110, section 14).
enum ByteRange: Equatable, Sendable {
    /// No range, or one that a server has to ignore: the whole.
    case whole
    /// From one byte to another, both included.
    case part(first: UInt64, last: UInt64)
    case unsatisfiable

    /// Reads a Range header against a body of `size` bytes.
    ///
    /// Several ranges are ignored, as the RFC allows.
    init(_ header: String?, size: UInt64) {
        self = .whole
        guard let header, header.lowercased().hasPrefix("bytes=") else { return }
        let bounds = header.dropFirst(6).split(
            separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard bounds.count == 2 else { return }
        let (from, to) = (ByteRange.number(bounds[0]), ByteRange.number(bounds[1]))
        switch (bounds[0].isEmpty, from, bounds[1].isEmpty, to) {
        case (true, _, _, let suffix?):
            if suffix == 0 || size == 0 {
                self = .unsatisfiable
            } else {
                self = .part(first: size - min(suffix, size), last: size - 1)
            }
        case (false, let first?, true, _):
            self = first < size ? .part(first: first, last: size - 1) : .unsatisfiable
        case (false, let first?, false, let last?) where first <= last:
            self = first < size ? .part(first: first, last: min(last, size - 1)) : .unsatisfiable
        default: break
        }
    }

    private static func number(_ digits: Substring) -> UInt64? {
        digits.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 } ? UInt64(digits) : nil
    }
}
