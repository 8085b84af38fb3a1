internal import SyncPlatform

/// What is known about an entry outside its seal, and is sealed in as well.
struct EntryFacts: Sendable, Equatable {
    /// Whether the item lives or was removed.
    enum Kind: UInt8, Sendable {
        case live = 0, tombstone = 1
    }

    /// The item.
    var id: EntryID
    /// From 1; each change adds 1.
    var version: UInt64
    /// Whether the item lives or was removed.
    var kind: Kind
    /// The epoch of the key under which it is sealed.
    var epoch: UInt32
}

/// Seals and opens the entry of one item.
enum SealedEntry {
    /// The largest payload.
    static let maximumPayload = 1 << 20
    private static let block = 256
    private static let overhead = AEAD.nonceBytes + AEAD.tagBytes
    private static let maximumSealed = (4 + maximumPayload + block - 1) / block * block + overhead

    /// Seals a payload, which must be within the limit, and appends the sealed entry.
    static func seal(
        _ payload: Span<UInt8>, facts: EntryFacts, account: AccountID, keys: AccountKeys,
        nonce: Span<UInt8>, appendingTo sealed: inout [UInt8]
    ) {
        precondition(payload.count <= maximumPayload && nonce.count == AEAD.nonceBytes)
        precondition(keys.epoch == facts.epoch)
        sealed.append(copying: nonce)
        let start = sealed.count
        sealed.append(bigEndian: UInt32(payload.count))
        sealed.append(copying: payload)
        let padding = (block - (4 + payload.count) % block) % block
        sealed += [UInt8](repeating: 0, count: padding)
        let aad = aad(facts, account)
        AEAD.seal(inPlace: &sealed, from: start, key: keys.meta, nonce: nonce, aad: aad.span)
    }

    /// Opens a sealed entry into `body`, which is overwritten, and answers where the payload is.
    ///
    /// - Throws: `FormatError`: `length`, `authentication`, or `padding`; nothing of `body` is of
    ///   use then.
    static func open(
        _ sealed: Span<UInt8>, facts: EntryFacts, account: AccountID, keys: AccountKeys,
        into body: inout [UInt8]
    ) throws(FormatError) -> Range<Int> {
        let operation = "open an entry"
        body.removeAll(keepingCapacity: true)
        guard sealed.count >= overhead + block, sealed.count <= maximumSealed,
            (sealed.count - overhead).isMultiple(of: block)
        else { throw FormatError(.length, operation) }
        guard keys.epoch == facts.epoch else { throw FormatError(.mismatch, operation) }
        body.append(copying: sealed.extracting(AEAD.nonceBytes...))
        let aad = aad(facts, account)
        let nonce = sealed.extracting(0..<AEAD.nonceBytes)
        guard AEAD.open(inPlace: &body, from: 0, key: keys.meta, nonce: nonce, aad: aad.span)
        else { throw FormatError(.authentication, operation) }
        return try payloadRange(body.span)
    }

    private static func payloadRange(_ body: Span<UInt8>) throws(FormatError) -> Range<Int> {
        let length = Int(body.bigEndian(at: 0, as: UInt32.self))
        let padding = body.count - 4 - length
        guard padding >= 0, padding < block, length <= maximumPayload else {
            throw FormatError(.padding, "open an entry")
        }
        var seen: UInt8 = 0
        for index in (4 + length)..<body.count { seen |= body[index] }
        guard seen == 0 else { throw FormatError(.padding, "open an entry") }
        return 4..<(4 + length)
    }

    private static func aad(_ facts: EntryFacts, _ account: AccountID) -> [UInt8] {
        var aad: [UInt8] = []
        aad.reserveCapacity(Label.entry.count + 45)
        aad.append(contentsOf: Label.entry)
        account.append(to: &aad)
        aad.append(bigEndian: facts.epoch)
        facts.id.append(to: &aad)
        aad.append(bigEndian: facts.version)
        aad.append(facts.kind.rawValue)
        return aad
    }
}
