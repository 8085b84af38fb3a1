/// A part of a file as a person names it: `A-B`, `A-` or `-N`, in bytes, from 0.
enum ByteRange: Sendable, Equatable {
    /// From a byte on, through another one or to the end.
    case from(Int64, through: Int64?)
    /// The last so many bytes.
    case last(Int64)

    /// Reads the words; nil for anything else.
    init?(_ text: String) {
        let ends = text.split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2 else { return nil }
        switch (ends[0].isEmpty, ends[1].isEmpty) {
        case (true, true): return nil
        case (true, false):
            guard let count = Self.number(ends[1]), count > 0 else { return nil }
            self = .last(count)
        case (false, true):
            guard let first = Self.number(ends[0]) else { return nil }
            self = .from(first, through: nil)
        case (false, false):
            guard let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last
            else { return nil }
            self = .from(first, through: last)
        }
    }

    /// Digits only: a number alone would take a sign.
    private static func number(_ text: Substring) -> Int64? {
        text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } ? Int64(text) : nil
    }

    /// The bytes of a file of that size; what goes beyond its end is left out.
    ///
    /// nil if all of it is beyond the end. To ask for everything of an empty file is no error.
    func bytes(of size: Int64) -> Range<Int64>? {
        switch self {
        case .last(let count): max(size - count, 0)..<size
        case .from(0, through: nil): 0..<size
        case .from(let first, let last):
            first < size ? first..<(last.map { min($0, size - 1) + 1 } ?? size) : nil
        }
    }
}
