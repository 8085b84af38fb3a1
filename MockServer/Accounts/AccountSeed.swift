/// An account as a server is given it, in memory; ``AccountFolder`` reads one from disk.
///
/// The server understands none of the sealed bytes, so random ones serve.
struct AccountSeed: Sendable {
    /// What a client must know to derive its keys, said before the login.
    struct KDF: Sendable, Equatable {
        var kdf = "argon2id13"
        var ops = 3
        var mem: UInt64 = 64 << 20
        /// 16 bytes in base64url.
        var salt: String
    }

    /// The wrapped master key of one kind, and the hash of what opens a session with it.
    struct Credential: Sendable, Equatable {
        /// BLAKE2b-256 of the authKey, in hex.
        var authKeyHash: String
        /// The key record in base64url.
        var record: String
    }

    var name: String
    /// 32 hex digits.
    var accountId: String
    var epoch = 1
    var kdf: KDF
    var passphrase: Credential
    var recovery: Credential?
    /// The 104 bytes of the head in base64url; nil for an empty account.
    var head: String?
    var entries: [Entry] = []
    var blobs: [String: [UInt8]] = [:]

    /// One sealed entry, as the manifest carries it.
    struct Entry: Sendable, Equatable {
        var id: String
        var version: UInt64 = 1
        var kind = 0
        var epoch = 1
        var seq: UInt64
        var sealed: String

        /// The entry as one line of JSON.
        var line: String {
            let object: JSONTree = [
                "id": .string(id), "version": .string(String(version)), "kind": JSONTree(kind),
                "epoch": JSONTree(epoch), "seq": .string(String(seq)), "sealed": .string(sealed),
            ]
            return object.text
        }
    }
}
