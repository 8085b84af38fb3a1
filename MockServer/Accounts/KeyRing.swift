/// The wrapped keys of an account, and what logs in with them.
struct KeyRing: Sendable, Equatable {
    /// One wrapped master key.
    struct Record: Sendable, Equatable {
        var epoch: Int
        /// In base64url.
        var record: String
    }

    var epoch: Int
    var kdf: AccountSeed.KDF
    /// By kind: `passphrase`, `recovery`.
    var credentials: [String: AccountSeed.Credential]
    /// All key records of all kinds and epochs, as `GET /v1/keys` lists them.
    var records: [Record]
    /// Counts the changes of `records`; makes its entity tag.
    var version = 1

    init(_ seed: AccountSeed) {
        epoch = seed.epoch
        kdf = seed.kdf
        credentials = ["passphrase": seed.passphrase]
        credentials["recovery"] = seed.recovery
        records = [seed.passphrase, seed.recovery].compactMap { credential in
            credential.map { Record(epoch: seed.epoch, record: $0.record) }
        }
    }

    /// The entity tag of all records.
    var etag: String { "\"keys-\(version)\"" }

    /// The ring with other records in the place of all.
    ///
    /// - Throws: `bad-request` for what is no set of records, and for a new one without its authKey.
    func replaced(
        by records: [Record], authKeys: [String: [UInt8]]
    ) throws(Refusal) -> KeyRing {
        var ring = self
        var newest: [String: (epoch: Int, facts: KeyRecordFacts, record: String)] = [:]
        var seen: Set<String> = []
        for record in records {
            guard let facts = KeyRecordFacts(record.record) else {
                throw .badRequest("a record is not a key record")
            }
            guard seen.insert("\(facts.kind) of \(record.epoch)").inserted else {
                throw .badRequest("two records of the same kind and epoch")
            }
            guard let kind = facts.kind.login else { continue }
            if record.epoch > newest[kind]?.epoch ?? 0 {
                newest[kind] = (record.epoch, facts, record.record)
            }
        }
        guard let passphrase = newest["passphrase"], let kdf = passphrase.facts.kdf else {
            throw .badRequest("the passphrase's record is missing")
        }
        for kind in ["passphrase", "recovery"] {
            ring.credentials[kind] = try credential(
                kind, newest[kind]?.record, authKeys[kind].map { Service.blake2b($0).hex })
        }
        ring.epoch = passphrase.epoch
        ring.kdf = kdf
        ring.records = records
        ring.version += 1
        return ring
    }

    private func credential(
        _ kind: String, _ record: String?, _ hash: String?
    ) throws(Refusal) -> AccountSeed.Credential? {
        guard let record else {
            if hash != nil { throw .badRequest("an authKey for \(kind) without a record") }
            return nil
        }
        if let old = credentials[kind], old.record == record {
            guard hash == nil || hash == old.authKeyHash else {
                throw .badRequest("another authKey for the \(kind) record that is there")
            }
            return old
        }
        guard let hash else { throw .badRequest("the new \(kind) record has no authKey") }
        return .init(authKeyHash: hash, record: record)
    }
}

/// What a server can read of a key record: all but what is wrapped.
struct KeyRecordFacts: Sendable, Equatable {
    enum Kind: UInt8, Sendable {
        case recovery = 1
        case passphrase = 2
        case epochBefore = 3

        /// What a login with it is called; nil when there is none.
        var login: String? {
            switch self {
            case .recovery: "recovery"
            case .passphrase: "passphrase"
            case .epochBefore: nil
            }
        }
    }

    let kind: Kind
    /// How a passphrase becomes a key; nil for the other kinds.
    let kdf: AccountSeed.KDF?

    /// Reads a record in base64url; nil when it is none that a client would accept.
    init?(_ text: String) {
        guard let bytes = Base64URL.decode(text), bytes.count == 138,
            bytes.starts(with: "KWR1".utf8), let kind = Kind(rawValue: bytes[4])
        else { return nil }
        let (ops, mem) = (bytes[6..<10].bigEndian, bytes[10..<18].bigEndian)
        self.kind = kind
        if kind == .passphrase {
            guard bytes[5] == 2, (3...16).contains(ops), (64 << 20...1 << 30).contains(mem) else {
                return nil
            }
            kdf = .init(ops: Int(ops), mem: mem, salt: Base64URL.encode(bytes[18..<34]))
        } else {
            guard bytes[5] == 0, ops == 0, mem == 0 else { return nil }
            kdf = nil
        }
    }
}
