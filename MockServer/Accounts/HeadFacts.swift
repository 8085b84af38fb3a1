/// What a server can read of a head: all but whether it is authentic.
struct HeadFacts: Sendable, Equatable {
    /// In base64url, as it came.
    let text: String
    let bytes: [UInt8]

    /// Reads 104 bytes that begin with `CBH1`; nil for anything else.
    init?(_ text: String) {
        guard let bytes = Base64URL.decode(text), bytes.count == 104,
            bytes.starts(with: "CBH1".utf8)
        else { return nil }
        self.text = text
        self.bytes = bytes
    }

    /// 32 hex digits.
    var accountId: String { bytes[4..<20].hex }
    var epoch: UInt64 { bytes[20..<24].bigEndian }
    var seq: UInt64 { bytes[24..<32].bigEndian }
    /// The hash of the head before; zeros for the first.
    var previous: ArraySlice<UInt8> { bytes[32..<64] }
    /// How many entries there are, tombstones too.
    var count: UInt64 { bytes[64..<72].bigEndian }
    /// What the next head has to have as `previous`.
    var hash: [UInt8] { Service.blake2b(bytes) }
}

extension Sequence<UInt8> {
    /// Up to 8 bytes as a number, the first one on top.
    var bigEndian: UInt64 { reduce(0) { $0 << 8 | UInt64($1) } }
}
