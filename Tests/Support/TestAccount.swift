import SyncPlatform

@testable import LazySync

/// A real account, sealed in memory by the product's own writer, and the ways to break it.
///
/// Edits wait until `push`, which gives them the next seq and makes the head that covers them, as
/// one device would. What is sealed follows from the seed.
final class TestAccount {
    /// One sealed entry as the server holds it.
    struct Entry {
        var facts: EntryFacts
        var seq: UInt64 = 0
        var sealed: [UInt8]
    }

    static let passphrase = "correct horse battery staple"
    static let recoverySecret = SecretBytes(count: 32) { $0.update(repeating: 0x5A) }

    let name: String
    let id: AccountID
    let masterKey: SecretBytes
    let keys: AccountKeys
    let records: (passphrase: KeyRecord, recovery: KeyRecord)
    let random: SeededRandom
    /// The items that live, as their author means them.
    private(set) var items: [EntryID: TestItem] = [:]
    /// What the server holds.
    private(set) var entries: [EntryID: Entry] = [:]
    /// What the next push brings.
    private(set) var pending: [EntryID: Entry] = [:]
    /// All heads, oldest first.
    private(set) var heads: [Head] = []
    private(set) var digest = SetDigest()
    /// The sealed blobs, and what is in them, by record.
    var blobs: [String: [UInt8]] = [:]
    private(set) var contents: [String: [UInt8]] = [:]
    /// The account at a server; what is pushed goes there.
    var served: Served?
    /// Blobs that a server does not have yet.
    var newBlobs: Set<String> = []
    private var created: Int64 = 1_770_000_000

    init(_ name: String = "demo", seed: UInt64 = 1) {
        self.name = name
        let random = SeededRandom(seed: seed)
        self.random = random
        id = AccountID(random: random)
        let masterKey = random.secret(32)
        self.masterKey = masterKey
        keys = AccountKeys(masterKey: masterKey, epoch: 1)
        records = (
            KeyRecord(
                sealing: masterKey, kind: .passphrase, secret: Self.secret, cost: Self.cost,
                salt: Self.salt.span, nonce: random.bytes(24).span, account: id, epoch: 1),
            KeyRecord(
                sealing: masterKey, kind: .recoveryKey,
                secret: Self.recoverySecret, salt: random.bytes(16).span,
                nonce: random.bytes(24).span, account: id, epoch: 1)
        )
    }

    var head: Head? { heads.last }

    /// What an attachment's file must be; nil if it has no address.
    func content(_ key: AttachmentKey) -> [UInt8]? {
        let attachment = items[key.item]?.attachments.first { $0.id == key.id }
        return attachment?.ref.record.flatMap { contents[$0] }
    }

    // MARK: Edits

    /// Adds an item with files.
    @discardableResult
    func add(
        _ title: String, _ files: TestFile..., text: String? = nil, created: String? = nil
    ) -> TestItem {
        add(title, files, text: text, created: created)
    }

    /// Adds an item with files; each one is newer than those before.
    @discardableResult
    func add(
        _ title: String, _ files: [TestFile], text: String? = nil, created time: String? = nil
    ) -> TestItem {
        created += 60
        var item = TestItem(
            id: EntryID(random: random), title: title, text: text,
            created: time ?? Timestamp(seconds: created)?.description)
        for file in files { item.attachments.append(attach(file, to: item.id)) }
        write(item)
        return item
    }

    /// Seals a file and its thumbnail for an item; `id` names an attachment that gets new bytes.
    func attach(
        _ file: TestFile, to entry: EntryID, id: AttachmentID? = nil
    ) -> TestItem.Attachment {
        let id = id ?? AttachmentID(random: random)
        var attachment = TestItem.Attachment(
            id: id, name: file.name, type: file.type, size: UInt64(file.content.count),
            ref: upload(file.content, entry, id, .original))
        if let thumb = file.thumb {
            attachment.thumb = TestItem.Thumb(
                type: "image/jpeg", size: UInt64(thumb.count),
                ref: upload(thumb, entry, id, .thumbnail))
        }
        return attachment
    }

    /// Writes a newer version of an item.
    @discardableResult
    func change(_ id: EntryID, _ edit: (inout TestItem) -> Void) -> TestItem {
        var item = known(items[id])
        edit(&item)
        write(item)
        return item
    }

    /// Writes an item's next version.
    func write(_ item: TestItem) {
        items[item.id] = item
        put(item.payload, for: item.id)
    }

    /// Removes an item.
    func remove(_ id: EntryID) {
        items[id] = nil
        put(Array(#"{"deleted":"2026-06-01T00:00:00Z"}"#.utf8), for: id, kind: .tombstone)
    }

    /// Writes any payload as an entry's next version, or as a new entry.
    @discardableResult
    func put(
        _ payload: [UInt8], for id: EntryID? = nil, kind: EntryFacts.Kind = .live
    ) -> EntryID {
        let id = id ?? EntryID(random: random)
        let facts = EntryFacts(id: id, version: nextVersion(id), kind: kind, epoch: 1)
        pending[id] = Entry(facts: facts, sealed: seal(payload, facts))
        return id
    }

    /// Seals what waits for an item under another version than it says, as a faulty client might.
    func misseal(_ id: EntryID) {
        var wrong = known(pending[id]).facts
        wrong.version += 1
        pending[id]?.sealed = seal(items[id]?.payload ?? Array("{}".utf8), wrong)
    }

    private func nextVersion(_ id: EntryID) -> UInt64 {
        pending[id]?.facts.version ?? (entries[id]?.facts.version ?? 0) + 1
    }

    // MARK: Pushing

    /// Makes one head over everything that waits, and lets a server have it.
    @discardableResult
    func push() -> Head {
        let seq = (head?.seq ?? 0) + 1
        for (id, entry) in pending {
            if let old = entries[id] { digest -= leaf(old) }
            digest += leaf(entry)
            entries[id] = entry
            entries[id]?.seq = seq
        }
        let new = Head(
            following: head, account: id, count: UInt64(entries.count), digest: digest, keys: keys)
        heads.append(new)
        let changed = pending.keys.compactMap { entries[$0] }
        pending = [:]
        serve(changed, new)
        return new
    }

    /// What an entry counts for in the digest.
    func leaf(_ entry: Entry) -> SetDigest {
        SetDigest.leafHash(entry.facts, sealed: entry.sealed.span, keys: keys)
    }

    // MARK: Breaking

    /// Changes what the server holds behind the head's back.
    func tamper(_ id: EntryID, _ edit: (inout Entry) -> Void) {
        var entry = known(entries[id])
        edit(&entry)
        entries[id] = entry
        serveAll()
    }

    /// Flips a byte of a sealed entry at the server.
    func flip(_ id: EntryID) {
        tamper(id) { $0.sealed[60] ^= 1 }
    }

    /// Has the server withhold an entry.
    func drop(_ id: EntryID) {
        entries[id] = nil
        serveAll()
    }

    /// Has the server show what it held before; nothing of this account's own record changes.
    func restore(_ old: [EntryID: Entry]) {
        entries = old
        serveAll()
    }

    /// A head with a right mac over anything; what is not given is as in the newest one.
    func forgedHead(
        seq: UInt64? = nil, epoch: UInt32? = nil, previous: [UInt8]? = nil, count: UInt64? = nil,
        digest: SetDigest? = nil
    ) -> Head {
        var bytes = Array("CBH1".utf8)
        id.append(to: &bytes)
        bytes.append(bigEndian: epoch ?? 1)
        bytes.append(bigEndian: seq ?? head?.seq ?? 1)
        bytes.append(contentsOf: previous ?? head?.previous ?? [UInt8](repeating: 0, count: 32))
        bytes.append(bigEndian: count ?? UInt64(entries.count))
        var message = Label.head + bytes
        message.append(contentsOf: (digest ?? self.digest).bytes)
        bytes.append(copying: Hash.blake2b256(key: keys.head, message.span).span)
        return known(try? Head(parsing: bytes.span))
    }

    // MARK: Sealing

    /// Seals a payload; `facts` need not be those that the entry will claim.
    func seal(_ payload: [UInt8], _ facts: EntryFacts) -> [UInt8] {
        var sealed: [UInt8] = []
        SealedEntry.seal(
            payload.span, facts: facts, account: id, keys: keys, nonce: random.bytes(24).span,
            appendingTo: &sealed)
        return sealed
    }

    /// Seals bytes as a blob of their own, and answers its address.
    func upload(
        _ content: [UInt8], _ entry: EntryID, _ attachment: AttachmentID, _ role: BlobRole,
        named name: RecordName? = nil
    ) -> TestItem.Ref {
        let name = name ?? RecordName(random: random)
        let (key, nonce) = (random.bytes(32), random.bytes(24))
        let blob = SealedBlob(
            contentKey: key.span, nonce: nonce.span, recordName: name.description.utf8Span.span)
        var sealer = BlobSealer(blob, geometry: known(BlobGeometry(length: UInt64(content.count))))
        var sealed: [UInt8] = []
        do {
            try sealer.append(content.span, to: &sealed)
            try sealer.finish(to: &sealed)
        } catch {
            preconditionFailure("\(error)")
        }
        blobs[name.description] = sealed
        contents[name.description] = content
        newBlobs.insert(name.description)
        return wrap(key, nonce, name, entry, attachment, role)
    }

    /// An address for a blob that need not exist.
    func wrap(
        _ key: [UInt8], _ nonce: [UInt8], _ name: RecordName, _ entry: EntryID,
        _ attachment: AttachmentID, _ role: BlobRole
    ) -> TestItem.Ref {
        var opener = RefOpener(keys: keys, account: id)
        let ref = opener.wrap(
            contentKey: key.span, nonce: nonce.span, recordName: name,
            wrapNonce: random.bytes(24).span, entry: entry, attachment: attachment, role: role)
        return .text(ref.description)
    }

    /// An address for a copy of its attachment: the same blob, its key wrapped anew.
    func rewrap(
        _ ref: TestItem.Ref, from old: AttachmentKey, to new: AttachmentKey,
        as role: BlobRole = .original
    ) -> TestItem.Ref {
        guard case .text(let text) = ref else { preconditionFailure("no address") }
        let address = known(CloudBlobRef(text))
        var opener = RefOpener(keys: keys, account: id)
        var key = [UInt8](repeating: 0, count: 32)
        var span = key.mutableSpan
        let isOpen = opener.unwrap(
            address.packed.span, entry: old.item, attachment: old.id, role: role, into: &span)
        precondition(isOpen)
        return wrap(
            key, Array(address.packed[CloudBlobRef.nonceRange]),
            known(RecordName(address.recordName)), new.item, new.id, role)
    }
}

extension TestAccount {
    static let cost = StretchCost(operations: 3, memory: 64 << 20)
    static let salt = [UInt8](repeating: 0x11, count: 16)

    /// The stretched passphrase, once for all tests.
    static let secret: SecretBytes = {
        let text = Array(passphrase.utf8)
        return known(
            try? AccountSecret.stretch(
                passphrase: SecretBytes(copying: text.span), salt: salt.span, cost: cost))
    }()
}

/// A value that a test's own making guarantees.
func known<Value>(_ value: Value?, line: Int = #line) -> Value {
    guard let value else { preconditionFailure("the test's own data, line \(line)") }
    return value
}
