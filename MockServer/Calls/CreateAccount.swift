extension Call {
    /// `POST /v1/accounts`: a new account, without a head.
    func createAccount() throws(Refusal) -> Answer {
        guard service.options.takesAccounts else {
            throw Refusal(403, "registration-closed", "This server takes no new accounts")
        }
        let body = try body()
        let name = try text("name", in: body)
        guard (1...256).contains(name.utf8.count),
            name.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
        else { throw .badRequest("name is not 1 to 256 bytes of text") }
        let accountId = try text("accountId", in: body)
        guard EntryID(accountId) != nil else {
            throw .badRequest("accountId is not 32 hex digits")
        }
        guard body["epoch"]?.int == 1 else { throw .badRequest("epoch is not 1") }

        let passphrase = try newCredential("authKey", "keyRecord", .passphrase, in: body)
        var recovery: AccountSeed.Credential?
        if body["recoveryAuthKey"] != nil || body["recoveryRecord"] != nil {
            recovery = try newCredential("recoveryAuthKey", "recoveryRecord", .recovery, in: body)
        }
        let kdf = try kdf(in: body)
        guard KeyRecordFacts(passphrase.record)?.kdf == kdf else {
            throw .badRequest("kdf is not what the record says")
        }
        try service.registry.create(
            AccountSeed(
                name: name, accountId: accountId, kdf: kdf, passphrase: passphrase,
                recovery: recovery))
        return Answer(201)
    }

    private func newCredential(
        _ key: String, _ record: String, _ kind: KeyRecordFacts.Kind, in body: JSONTree
    ) throws(Refusal) -> AccountSeed.Credential {
        let authKey = try authKey(try text(key, in: body))
        let record = try text(record, in: body)
        guard KeyRecordFacts(record)?.kind == kind else {
            throw .badRequest("a key record is not one of its kind")
        }
        return .init(authKeyHash: Service.blake2b(authKey).hex, record: record)
    }

    private func kdf(in body: JSONTree) throws(Refusal) -> AccountSeed.KDF {
        guard let kdf = body["kdf"], let function = kdf["kdf"]?.string, let ops = kdf["ops"]?.int,
            let mem = kdf["mem"]?.string.flatMap({ Decimal64.parse($0) }),
            let salt = kdf["salt"]?.string
        else { throw .badRequest("kdf is not whole") }
        return .init(kdf: function, ops: ops, mem: mem, salt: salt)
    }

    /// The 32 bytes of an authKey.
    func authKey(_ text: String) throws(Refusal) -> [UInt8] {
        guard let bytes = Base64URL.decode(text), bytes.count == 32 else {
            throw .badRequest("authKey is not 32 bytes in base64url")
        }
        return bytes
    }
}
