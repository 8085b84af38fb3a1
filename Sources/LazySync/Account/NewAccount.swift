internal import SyncPlatform

/// A secret that opens an account, and what the server gets for it: a record and a proof.
struct AccountLock: Sendable {
    let record: KeyRecord
    /// What a login shows instead of the secret.
    let authKey: SecretBytes

    /// Wraps a master key under a passphrase (UTF-8).
    ///
    /// Takes 256 MiB and about a second; not for the cooperative pool.
    /// - Throws: `FormatError`: it is not UTF-8, or there is no memory.
    init(
        passphrase: SecretBytes, masterKey: SecretBytes, account: AccountID,
        _ random: any RandomSource
    ) throws(FormatError) {
        let (salt, cost) = (random.bytes(KeyRecord.saltCount), StretchCost.standard)
        let secret = try AccountSecret.stretch(passphrase: passphrase, salt: salt.span, cost: cost)
        self.init(.passphrase, secret, cost, salt, masterKey, account, random)
    }

    /// Wraps a master key under a recovery key.
    init(
        recoveryKey: SecretBytes, masterKey: SecretBytes, account: AccountID,
        _ random: any RandomSource
    ) {
        let salt = random.bytes(KeyRecord.saltCount)
        self.init(.recoveryKey, recoveryKey, nil, salt, masterKey, account, random)
    }

    private init(
        _ kind: KeyRecord.Kind, _ secret: SecretBytes, _ cost: StretchCost?, _ salt: [UInt8],
        _ masterKey: SecretBytes, _ account: AccountID, _ random: any RandomSource
    ) {
        let nonce = random.bytes(AEAD.nonceBytes)
        record = KeyRecord(
            sealing: masterKey, kind: kind, secret: secret, cost: cost, salt: salt.span,
            nonce: nonce.span, account: account, epoch: 1)
        authKey = AccountSecret.authKey(secret, account: account)
    }
}

/// A new account as it is made on its first device: the server sees none of its secrets.
struct NewAccount: Sendable {
    let id: AccountID
    let passphrase: AccountLock
    let recovery: AccountLock
    let recoveryKey: SecretBytes

    /// Draws the account's key and its recovery key.
    ///
    /// Takes 256 MiB and about a second; not for the cooperative pool.
    init(passphrase: SecretBytes, _ random: any RandomSource) throws(FormatError) {
        let id = AccountID(random: random)
        let masterKey = random.secret(32)
        recoveryKey = random.secret(32)
        self.id = id
        self.passphrase = try AccountLock(
            passphrase: passphrase, masterKey: masterKey, account: id, random)
        recovery = AccountLock(
            recoveryKey: recoveryKey, masterKey: masterKey, account: id, random)
    }

    /// What the server is asked to open under a name.
    func request(name: String) -> [UInt8] {
        var body = JSONWriter()
        body.beginObject()
        body.member("name", name)
        body.member("accountId", "\(id)")
        body.key("epoch")
        body.integer(1)
        body.key("kdf")
        body.beginObject()
        body.member("kdf", "argon2id13")
        body.key("ops")
        body.integer(StretchCost.standard.operations)
        body.member("mem", "\(StretchCost.standard.memory)")
        body.member("salt", Base64URL.encode(passphrase.record.salt.span))
        body.endObject()
        body.member("authKey", passphrase.authKey.withBytes { Base64URL.encode($0) })
        body.member("keyRecord", Base64URL.encode(passphrase.record.bytes.span))
        body.member("recoveryAuthKey", recovery.authKey.withBytes { Base64URL.encode($0) })
        body.member("recoveryRecord", Base64URL.encode(recovery.record.bytes.span))
        body.endObject()
        return body.bytes
    }
}

extension JSONWriter {
    /// Writes a member whose value is a string.
    mutating func member(_ key: String, _ value: String) {
        self.key(key)
        string(value)
    }
}
