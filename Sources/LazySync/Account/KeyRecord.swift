internal import SyncPlatform

/// The account master key, wrapped under a secret for the server to keep ("KWR1", 138 bytes).
struct KeyRecord: Sendable, Equatable {
    /// What kind of secret opens it.
    enum Kind: UInt8, Sendable {
        case recoveryKey = 1, passphrase = 2, previousEpoch = 3
    }

    static let byteCount = 138
    static let saltCount = 16

    /// What kind of secret opens it.
    let kind: Kind
    /// What its passphrase was stretched with; nil for kinds that need none.
    let cost: StretchCost?
    /// The record as it is stored.
    let bytes: [UInt8]

    /// The salt of the stretching.
    var salt: [UInt8] { Array(bytes[Self.saltRange]) }

    private static let magic = Array("KWR1".utf8)
    private static let saltRange = 18..<34
    private static let nonceRange = 34..<58
    private static let commitRange = 58..<90
    private static let boxRange = 90..<138

    /// Reads a record, and refuses a cost out of bounds before anybody could stretch with it.
    init(parsing bytes: Span<UInt8>) throws(FormatError) {
        let operation = "read a key record"
        guard bytes.count == Self.byteCount else { throw FormatError(.length, operation) }
        guard bytes.extracting(0..<4).equals(Self.magic.span), let kind = Kind(rawValue: bytes[4]),
            bytes[5] == Self.kdf(kind)
        else { throw FormatError(.unknown, operation) }
        let cost = StretchCost(
            operations: bytes.bigEndian(at: 6, as: UInt32.self),
            memory: bytes.bigEndian(at: 10, as: UInt64.self))
        guard kind == .passphrase ? cost.isAccepted : cost == StretchCost(operations: 0, memory: 0)
        else { throw FormatError(.bounds, operation) }
        self.kind = kind
        self.cost = kind == .passphrase ? cost : nil
        self.bytes = [UInt8](copying: bytes)
    }

    /// Wraps a master key under a secret; `cost` is what a passphrase was stretched with.
    init(
        sealing masterKey: SecretBytes, kind: Kind, secret: SecretBytes, cost: StretchCost? = nil,
        salt: Span<UInt8>, nonce: Span<UInt8>, account: AccountID, epoch: UInt32
    ) {
        precondition(salt.count == Self.saltCount && nonce.count == AEAD.nonceBytes)
        precondition(masterKey.count == 32 && (cost != nil) == (kind == .passphrase))
        var record = Self.magic
        record.append(kind.rawValue)
        record.append(Self.kdf(kind))
        record.append(bigEndian: cost?.operations ?? 0)
        record.append(bigEndian: cost?.memory ?? 0)
        record.append(copying: salt)
        var keys = Self.wrapKeys(secret, start: record.span)
        defer { Self.wipe(&keys) }
        record.append(copying: nonce)
        record.append(copying: keys.span.extracting(32...))
        let aad = Self.aad(record.span, account: account, epoch: epoch)
        let start = record.count
        masterKey.withBytes { record.append(copying: $0) }
        let encryption = SecretBytes(copying: keys.span.extracting(0..<32))
        AEAD.seal(inPlace: &record, from: start, key: encryption, nonce: nonce, aad: aad.span)
        self.kind = kind
        self.cost = cost
        bytes = record
    }

    /// Unwraps the master key.
    ///
    /// - Throws: `FormatError`: `wrongKey` if the secret is another one, `authentication` if the
    ///   record is not this account's of this epoch, or was changed.
    func open(
        secret: SecretBytes, account: AccountID, epoch: UInt32
    ) throws(FormatError) -> SecretBytes {
        let operation = "open a key record"
        let record = bytes.span
        var keys = Self.wrapKeys(secret, start: record.extracting(0..<Self.saltRange.upperBound))
        defer { Self.wipe(&keys) }
        let commit = record.extracting(Self.commitRange)
        guard ConstantTime.equal(keys.span.extracting(32...), commit) else {
            throw FormatError(.wrongKey, operation)
        }
        let aad = Self.aad(
            record.extracting(0..<Self.commitRange.upperBound), account: account, epoch: epoch)
        let encryption = SecretBytes(copying: keys.span.extracting(0..<32))
        return try SecretBytes(count: 32) { key throws(FormatError) in
            guard
                AEAD.open(
                    record.extracting(Self.boxRange), key: encryption,
                    nonce: record.extracting(Self.nonceRange), aad: aad.span, into: &key)
            else { throw FormatError(.authentication, operation) }
        }
    }

    private static func kdf(_ kind: Kind) -> UInt8 { kind == .passphrase ? 2 : 0 }

    /// The encryption key and the commitment, 32 bytes each.
    private static func wrapKeys(
        _ secret: SecretBytes, start: Span<UInt8>
    ) -> InlineArray<64, UInt8> {
        var message = Label.passWrap
        message.append(copying: start)
        return secret.withBytes { Hash.blake2b512(key: $0, message.span) }
    }

    private static func aad(_ header: Span<UInt8>, account: AccountID, epoch: UInt32) -> [UInt8] {
        var aad = Label.keyRecord
        aad.append(copying: header)
        account.append(to: &aad)
        aad.append(bigEndian: epoch)
        return aad
    }

    private static func wipe(_ keys: inout InlineArray<64, UInt8>) {
        var span = keys.mutableSpan
        ConstantTime.wipe(&span)
    }
}
