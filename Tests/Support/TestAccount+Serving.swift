import SyncPlatform

@testable import LazySync
@testable import MockServer

extension TestAccount {
    typealias Served = ServedAccount

    /// The account as a server is given it, and with it everything that is pushed later.
    func serve() throws -> ServedAccount {
        let passphrase = records.passphrase
        let seed = AccountSeed(
            name: name, accountId: "\(id)",
            kdf: .init(salt: text(Self.salt)),
            passphrase: credential(passphrase, Self.secret),
            recovery: credential(records.recovery, Self.recoverySecret),
            head: head.map { text($0.bytes) }, entries: entries.values.map(wire), blobs: blobs)
        newBlobs = []
        let account = try ServedAccount(seed)
        served = account
        return account
    }

    /// What a server is given after a push.
    func serve(_ changed: [Entry], _ head: Head) {
        guard let served else { return }
        sendBlobs()
        do {
            try served.put(changed.map(wire), head: text(head.bytes))
        } catch {
            preconditionFailure("\(error)")
        }
    }

    /// Has the server hold exactly what this account has now, under the head that it shows.
    func serveAll() {
        guard let served else { return }
        sendBlobs()
        do {
            var log = try EntryLog()
            let lines = entries.values.map { wire($0).line }.joined(separator: "\n")
            try log.put(LineBuffer(Array(lines.utf8)))
            served.change { $0.entries = log }
        } catch {
            preconditionFailure("\(error)")
        }
    }

    /// Has the server show any head, or none.
    func show(_ head: Head?) {
        served?.change { $0.head = head.map { self.text($0.bytes) } }
    }

    /// An entry as the manifest carries it.
    func wire(_ entry: Entry) -> AccountSeed.Entry {
        AccountSeed.Entry(
            id: "\(entry.facts.id)", version: entry.facts.version,
            kind: Int(entry.facts.kind.rawValue), epoch: Int(entry.facts.epoch), seq: entry.seq,
            sealed: text(entry.sealed))
    }

    /// A manifest page with these entries.
    func page(_ entries: [Entry], head: Head?, next: String? = nil) -> ManifestPage {
        ManifestPage(body: pageBody(entries, head: head, next: next), linkedNext: nil)
    }

    /// The JSON of a manifest page with these entries.
    func pageBody(_ entries: [Entry], head: Head?, next: String? = nil) -> [UInt8] {
        func quoted(_ text: String?) -> String { text.map { "\"\($0)\"" } ?? "null" }
        let lines = entries.map { wire($0).line }.joined(separator: ",")
        let head = quoted(head.map { text($0.bytes) })
        return Array(#"{"entries":[\#(lines)],"next":\#(quoted(next)),"head":\#(head)}"#.utf8)
    }

    private func sendBlobs() {
        for name in newBlobs { served?.putBlob(name, blobs[name] ?? []) }
        newBlobs = []
    }

    private func credential(
        _ record: LazySync.KeyRecord, _ secret: SecretBytes
    ) -> AccountSeed.Credential {
        let key = AccountSecret.authKey(secret, account: id)
        let hash = key.withBytes { Hash.blake2b256($0) }
        return .init(
            authKeyHash: Hex.encode(hash.span), record: text(record.bytes))
    }

    private func text(_ bytes: [UInt8]) -> String { SyncPlatform.Base64URL.encode(bytes.span) }
}
