internal import SyncPlatform

/// The sum of all entries' hashes modulo 2^256: kept up to date by what changed, order aside.
///
/// It never leaves the device.
struct SetDigest: Sendable, Equatable {
    // Most significant first.
    private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    /// The digest of no entries.
    init() {}

    /// Reads a digest that was stored; nil for another number of bytes than 32.
    init?(bytes: Span<UInt8>) {
        guard bytes.count == 32 else { return nil }
        words = (
            bytes.bigEndian(at: 0, as: UInt64.self), bytes.bigEndian(at: 8, as: UInt64.self),
            bytes.bigEndian(at: 16, as: UInt64.self), bytes.bigEndian(at: 24, as: UInt64.self)
        )
    }

    /// The 32 bytes, most significant first.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(32)
        bytes.append(bigEndian: words.0)
        bytes.append(bigEndian: words.1)
        bytes.append(bigEndian: words.2)
        bytes.append(bigEndian: words.3)
        return bytes
    }

    /// Adds the hash of an entry that is now there.
    static func += (digest: inout SetDigest, leaf: SetDigest) {
        var carry: UInt64 = 0
        digest.words.3 = add(digest.words.3, leaf.words.3, &carry)
        digest.words.2 = add(digest.words.2, leaf.words.2, &carry)
        digest.words.1 = add(digest.words.1, leaf.words.1, &carry)
        digest.words.0 = add(digest.words.0, leaf.words.0, &carry)
    }

    /// Takes away the hash of an entry that is no longer there.
    static func -= (digest: inout SetDigest, leaf: SetDigest) {
        // Modulo 2^256, to subtract is to add what is left when all bits are turned over, and 1.
        var carry: UInt64 = 1
        digest.words.3 = add(digest.words.3, ~leaf.words.3, &carry)
        digest.words.2 = add(digest.words.2, ~leaf.words.2, &carry)
        digest.words.1 = add(digest.words.1, ~leaf.words.1, &carry)
        digest.words.0 = add(digest.words.0, ~leaf.words.0, &carry)
    }

    /// Tells whether both are the same number.
    static func == (left: SetDigest, right: SetDigest) -> Bool { left.words == right.words }

    /// Answers what one entry counts for: the keyed hash of its facts and of its sealed bytes.
    static func leafHash(
        _ facts: EntryFacts, sealed: Span<UInt8>, keys: AccountKeys
    ) -> SetDigest {
        leafHash(facts, sealedHash: Hash.blake2b256(sealed).span, keys: keys)
    }

    /// Answers what one entry counts for, by the BLAKE2b-256 of its sealed bytes.
    ///
    /// `keys` are to be those of the entry's epoch; with others the head does not add up.
    static func leafHash(
        _ facts: EntryFacts, sealedHash: Span<UInt8>, keys: AccountKeys
    ) -> SetDigest {
        var leaf: [UInt8] = []
        leaf.reserveCapacity(Label.leaf.count + 61)
        leaf.append(contentsOf: Label.leaf)
        facts.id.append(to: &leaf)
        leaf.append(bigEndian: facts.epoch)
        leaf.append(bigEndian: facts.version)
        leaf.append(facts.kind.rawValue)
        leaf.append(copying: sealedHash)
        let hash = Hash.blake2b256(key: keys.set, leaf.span)
        return SetDigest(bytes: hash.span) ?? SetDigest()
    }

    private static func add(_ left: UInt64, _ right: UInt64, _ carry: inout UInt64) -> UInt64 {
        let (sum, first) = left.addingReportingOverflow(right)
        let (total, second) = sum.addingReportingOverflow(carry)
        carry = first || second ? 1 : 0
        return total
    }
}
