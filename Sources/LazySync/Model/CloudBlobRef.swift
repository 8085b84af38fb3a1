internal import SyncPlatform

/// Names a blob at the store: 1 to 64 of `A-Z a-z 0-9 _ -`; fresh for every upload.
public struct RecordName: Hashable, Sendable, LosslessStringConvertible {
    /// The longest name.
    public static let maximumCount = 64

    /// The name itself.
    public let description: String

    /// Takes a name that follows the rule; nil for any other text.
    public init?(_ text: String) {
        guard Self.isValid(text.utf8Span.span) else { return nil }
        description = text
    }

    /// Takes a name that follows the rule; nil for any other bytes.
    init?(_ bytes: Span<UInt8>) {
        guard Self.isValid(bytes) else { return nil }
        description = String(decoding: [UInt8](copying: bytes), as: UTF8.self)
    }

    /// Makes a fresh one: 16 random bytes, 22 characters.
    init(random: any RandomSource) {
        description = Base64URL.encode(random.bytes(16).span)
    }

    /// Tells whether bytes are a record name.
    static func isValid(_ bytes: Span<UInt8>) -> Bool {
        guard bytes.count >= 1, bytes.count <= maximumCount else { return false }
        for index in bytes.indices {
            switch bytes[index] {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                continue
            default: return false
            }
        }
        return true
    }
}

/// The address of a blob: record name, nonce and wrapped key, which are of use only together.
///
/// As text it is the format's `cloudBlobRef`. Packed, as the catalog stores it, it is the nonce (24
/// bytes), the wrapped key (81), and the record name to the end, so that SQL can cut the name out.
public struct CloudBlobRef: Hashable, Sendable, LosslessStringConvertible {
    /// The bytes as the catalog stores them.
    let packed: [UInt8]

    static let nonceRange = 0..<24
    static let wrappedKeyRange = 24..<105
    static let nameStart = 105
    static let packedCounts = (nameStart + 1)...(nameStart + RecordName.maximumCount)

    private static let prefix: [UInt8] = Array("cb1.".utf8)
    private static let dot = UInt8(ascii: ".")
    // The characters of the nonce, a dot, and those of the wrapped key.
    private static let tailCount = 32 + 1 + 108

    /// Reads the format's text, strictly; nil for anything else.
    public init?(_ text: String) { self.init(text: text.utf8Span.span) }

    /// Reads the format's text, strictly; nil for anything else.
    init?(text: Span<UInt8>) {
        var packed: [UInt8] = []
        guard Self.pack(text, appendingTo: &packed) else { return nil }
        self.packed = packed
    }

    /// Takes the packed form, strictly; nil for anything else.
    init?(packed: Span<UInt8>) {
        guard Self.isPacked(packed) else { return nil }
        self.packed = [UInt8](copying: packed)
    }

    /// Joins the three parts; nil if a length is not the format's.
    init?(recordName: RecordName, nonce: Span<UInt8>, wrappedKey: Span<UInt8>) {
        guard nonce.count == Self.nonceRange.count, wrappedKey.count == Self.wrappedKeyRange.count
        else { return nil }
        var packed: [UInt8] = []
        packed.append(copying: nonce)
        packed.append(copying: wrappedKey)
        packed.append(contentsOf: recordName.description.utf8)
        self.packed = packed
    }

    /// The name under which the store has the blob.
    public var recordName: String { String(decoding: packed[Self.nameStart...], as: UTF8.self) }

    /// The format's text.
    public var description: String {
        var text: [UInt8] = []
        Self.appendText(of: packed.span, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Reads the format's text and appends its packed form; false, and nothing, for any other text.
    static func pack(_ text: Span<UInt8>, appendingTo packed: inout [UInt8]) -> Bool {
        // Everything but the name has a fixed length, so the length says where the parts are.
        let nameCount = text.count - prefix.count - 1 - tailCount
        guard nameCount >= 1, nameCount <= RecordName.maximumCount,
            text.extracting(0..<prefix.count).equals(prefix.span)
        else { return false }
        let name = text.extracting(prefix.count..<(prefix.count + nameCount))
        let tail = text.extracting((prefix.count + nameCount)...)
        guard tail[0] == dot, tail[33] == dot, RecordName.isValid(name) else { return false }
        let start = packed.count
        guard Base64URL.decode(tail.extracting(1..<33), appendingTo: &packed),
            Base64URL.decode(tail.extracting(34..<142), appendingTo: &packed)
        else {
            packed.removeSubrange(start...)
            return false
        }
        packed.append(copying: name)
        return true
    }

    /// Tells whether bytes are a packed form.
    static func isPacked(_ bytes: Span<UInt8>) -> Bool {
        packedCounts.contains(bytes.count) && RecordName.isValid(bytes.extracting(nameStart...))
    }

    /// Appends the format's text of a packed form.
    static func appendText(of packed: Span<UInt8>, to text: inout [UInt8]) {
        text.append(contentsOf: prefix)
        text.append(copying: packed.extracting(nameStart...))
        text.append(dot)
        Base64URL.encode(packed.extracting(nonceRange), appendingTo: &text)
        text.append(dot)
        Base64URL.encode(packed.extracting(wrappedKeyRange), appendingTo: &text)
    }
}
