import Foundation

extension Call {
    /// `GET /v1/accounts/{name}/kdf`: how a passphrase becomes a key.
    func kdf() -> Answer {
        let name = parameters[0]
        if let account = service.accounts.first(where: { $0.name == name }) {
            return kdf(account.accountId, account.read { $0.keys.kdf })
        }
        // A name that does not exist gets values of its own that never change, so that nobody can
        // tell. The memory is the least allowed, to keep tests quick.
        let hash = Service.blake2b(Array("no account is called \(name)".utf8))
        return kdf(hash.prefix(16).hex, .init(salt: Base64URL.encode(hash.suffix(16))))
    }

    private func kdf(_ accountId: String, _ kdf: AccountSeed.KDF) -> Answer {
        .json([
            "accountId": .string(accountId), "kdf": .string(kdf.kdf), "ops": JSONTree(kdf.ops),
            "mem": .string(String(kdf.mem)), "salt": .string(kdf.salt),
        ])
    }
}
