internal import SyncPlatform

/// Says that an identifier is an account's.
public enum AccountKind: Sendable {}
/// Says that an identifier is an item's.
public enum EntryKind: Sendable {}
/// Says that an identifier is an attachment's.
public enum AttachmentKind: Sendable {}

/// Names an account.
public typealias AccountID = Identifier<AccountKind>
/// Names an item; the format calls it an entry.
public typealias EntryID = Identifier<EntryKind>
/// Names an attachment within its item.
public typealias AttachmentID = Identifier<AttachmentKind>

/// Sixteen random bytes that name one thing of a kind; 32 lower-case hex digits as text.
///
/// The order is that of the bytes.
public struct Identifier<Kind>: Hashable, Comparable, Sendable, LosslessStringConvertible {
    /// The number of bytes.
    public static var byteCount: Int { 16 }

    private let high: UInt64
    private let low: UInt64

    /// Reads exactly 32 lower-case hex digits; nil for anything else.
    public init?(_ text: String) { self.init(hex: text.utf8Span.span) }

    /// Reads exactly 32 lower-case hex digits; nil for anything else.
    public init?(hex text: Span<UInt8>) {
        guard text.count == 32, let high = Hex.decode64(text, at: 0),
            let low = Hex.decode64(text, at: 16)
        else { return nil }
        self.high = high
        self.low = low
    }

    /// Takes sixteen bytes as they are; nil for another number of them.
    public init?(bytes: Span<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        high = bytes.bigEndian(at: 0, as: UInt64.self)
        low = bytes.bigEndian(at: 8, as: UInt64.self)
    }

    /// Draws a new one.
    init(random: any RandomSource) {
        high = random.number()
        low = random.number()
    }

    /// The sixteen bytes.
    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return bytes
    }

    /// The text: 32 lower-case hex digits.
    public var description: String { Hex.encode(bytes.span) }

    /// Appends the sixteen bytes.
    func append(to bytes: inout [UInt8]) {
        bytes.append(bigEndian: high)
        bytes.append(bigEndian: low)
    }

    /// Overwrites the sixteen bytes from `offset` on.
    func write(to bytes: inout [UInt8], at offset: Int) {
        bytes.write(bigEndian: high, at: offset)
        bytes.write(bigEndian: low, at: offset + 8)
    }

    /// Tells which of two comes first, as bytes.
    public static func < (left: Self, right: Self) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}
