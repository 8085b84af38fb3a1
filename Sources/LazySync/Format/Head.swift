internal import SyncPlatform

/// What the account holds, as its last writer authenticated it ("CBH1", 104 bytes).
struct Head: Sendable, Equatable {
    static let byteCount = 104

    /// The head as it is stored.
    let bytes: [UInt8]

    private static let magic = Array("CBH1".utf8)
    private static let macStart = 72

    /// The account that it claims to be of.
    var account: AccountID? { AccountID(bytes: bytes.span.extracting(4..<20)) }
    /// The epoch of the key that authenticates it.
    var epoch: UInt32 { bytes.span.bigEndian(at: 20, as: UInt32.self) }
    /// One more with every push, from 1.
    var seq: UInt64 { bytes.span.bigEndian(at: 24, as: UInt64.self) }
    /// The hash of the head before; zeros for the first.
    var previous: [UInt8] { Array(bytes[32..<64]) }
    /// The number of entries, tombstones too.
    var count: UInt64 { bytes.span.bigEndian(at: 64, as: UInt64.self) }
    /// What the next head has as `previous`.
    var hash: [UInt8] { [UInt8](copying: Hash.blake2b256(bytes.span).span) }

    /// Reads a head; that proves nothing yet.
    ///
    /// - Throws: `FormatError`: `length`, or `unknown` if it is no head.
    init(parsing bytes: Span<UInt8>) throws(FormatError) {
        guard bytes.count == Self.byteCount else { throw FormatError(.length, "read a head") }
        guard bytes.extracting(0..<4).equals(Self.magic.span) else {
            throw FormatError(.unknown, "read a head")
        }
        self.bytes = [UInt8](copying: bytes)
    }

    /// Makes the head that follows `previous`, or the first one.
    init(
        following previous: Head?, account: AccountID, count: UInt64, digest: SetDigest,
        keys: AccountKeys
    ) {
        var head = Self.magic
        account.append(to: &head)
        head.append(bigEndian: keys.epoch)
        head.append(bigEndian: (previous?.seq ?? 0) &+ 1)
        head.append(contentsOf: previous?.hash ?? [UInt8](repeating: 0, count: 32))
        head.append(bigEndian: count)
        let mac = Self.mac(head.span, digest: digest, keys: keys)
        head.append(copying: mac.span)
        bytes = head
    }

    /// Checks that it is this account's, and that the device's own count and digest add up to it.
    ///
    /// - Throws: `FormatError`: `mismatch` for another account, epoch or count, `authentication`
    ///   if an entry was withheld, added, changed or rolled back, or the head itself was.
    func check(
        account: AccountID, count: UInt64, digest: SetDigest, keys: AccountKeys
    ) throws(FormatError) {
        guard self.account == account, epoch == keys.epoch, self.count == count else {
            throw FormatError(.mismatch, "check the head")
        }
        let mac = Self.mac(
            bytes.span.extracting(0..<Self.macStart), digest: digest, keys: keys)
        guard ConstantTime.equal(mac.span, bytes.span.extracting(Self.macStart...)) else {
            throw FormatError(.authentication, "check the head")
        }
    }

    /// The one of two heads with the higher seq, the first if both have the same.
    static func newer(_ first: Head?, _ second: Head?) -> Head? {
        guard let first, let second else { return first ?? second }
        return second.seq > first.seq ? second : first
    }

    private static func mac(
        _ start: Span<UInt8>, digest: SetDigest, keys: AccountKeys
    ) -> InlineArray<32, UInt8> {
        var message = Label.head
        message.append(copying: start)
        message.append(contentsOf: digest.bytes)
        return Hash.blake2b256(key: keys.head, message.span)
    }
}
