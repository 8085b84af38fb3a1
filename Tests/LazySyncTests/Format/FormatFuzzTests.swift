import SyncPlatform
import Testing

@testable import LazySync

private let vectors = Vectors.all

/// Whatever a server sends, nothing stops the program, and nothing that was changed is accepted.
@Suite struct FormatFuzzTests {
    static let seeds: [UInt64] = [1, 2, 3, 4]

    /// Changes, cuts, doubles or adds a few bytes; never the same bytes again.
    private func mutate(_ original: [UInt8], _ random: SeededRandom) -> [UInt8] {
        var bytes = original
        repeat {
            for _ in 0..<(1 + Int(random.number() % 3)) {
                let place = bytes.isEmpty ? 0 : Int(random.number() % UInt64(bytes.count))
                switch random.number() % 5 {
                case 0 where !bytes.isEmpty: bytes[place] ^= 1 << UInt8(random.number() % 8)
                case 1 where !bytes.isEmpty:
                    bytes[place] = UInt8(truncatingIfNeeded: random.number())
                case 2: bytes.removeSubrange(place...)
                case 3: bytes.insert(contentsOf: bytes[place...].prefix(300), at: place)
                default: bytes.append(contentsOf: random.bytes(Int(random.number() % 300)))
                }
            }
        } while bytes == original
        return bytes
    }

    @Test(arguments: seeds) func `no changed address unwraps`(seed: UInt64) {
        let random = SeededRandom(seed: seed)
        var opener = RefOpener(keys: vectors.accountKeys, account: vectors.account)
        let text = Array(vectors.ref.utf8)
        let packed = known(CloudBlobRef(vectors.ref)).packed
        for _ in 0..<4_000 {
            let changed = mutate(text, random)
            if let ref = CloudBlobRef(text: changed.span) {
                #expect(Array(ref.description.utf8) == changed)
                let isValid = opener.isValid(
                    ref.packed.span, entry: vectors.entryID, attachment: vectors.attachmentID,
                    role: .original)
                #expect(!isValid)
            }
            let bytes = mutate(packed, random)
            let isValid = opener.isValid(
                bytes.span, entry: vectors.entryID, attachment: vectors.attachmentID,
                role: .original)
            #expect(!isValid)
        }
    }

    @Test(arguments: seeds) func `no changed entry opens`(seed: UInt64) {
        let random = SeededRandom(seed: seed)
        let keys = vectors.accountKeys
        let sealed = bytes(vectors.entry.sealed)
        let facts = EntryFacts(id: vectors.entryID, version: 5, kind: .live, epoch: 1)
        var body: [UInt8] = []
        for _ in 0..<4_000 {
            let changed = mutate(sealed, random)
            #expect(throws: FormatError.self) {
                try SealedEntry.open(
                    changed.span, facts: facts, account: vectors.account, keys: keys, into: &body)
            }
        }
    }

    @Test(arguments: seeds) func `no changed head adds up`(seed: UInt64) {
        let random = SeededRandom(seed: seed)
        let keys = vectors.accountKeys
        let head = bytes(vectors.heads[1])
        let digest = setDigest(vectors.setDigests[1])
        for _ in 0..<4_000 {
            let changed = mutate(head, random)
            #expect(throws: FormatError.self) {
                try Head(parsing: changed.span).check(
                    account: vectors.account, count: 2, digest: digest, keys: keys)
            }
        }
    }

    @Test(arguments: seeds) func `no changed key record opens`(seed: UInt64) {
        let random = SeededRandom(seed: seed)
        let record = bytes(vectors.passphraseRecord)
        let secret = secret(vectors.passphraseSecret)
        for _ in 0..<1_000 {
            let changed = mutate(record, random)
            #expect(throws: FormatError.self) {
                try KeyRecord(parsing: changed.span).open(
                    secret: secret, account: vectors.account, epoch: 1)
            }
        }
    }

    @Test(arguments: seeds) func `no changed blob opens`(seed: UInt64) throws {
        let random = SeededRandom(seed: seed)
        let geometry = try #require(BlobGeometry(length: 70_000))
        var sealed: [UInt8] = []
        var sealer = BlobSealer(vectors.blob, geometry: geometry)
        try sealer.append(Vectors.pattern(70_000).span, to: &sealed)
        try sealer.finish(to: &sealed)
        for _ in 0..<100 {
            let changed = mutate(sealed, random)
            #expect(throws: FormatError.self) {
                try vectors.blob.open(changed.span, of: geometry)
            }
        }
    }

    @Test(arguments: seeds) func `any payload is read or refused, and can be written again`(
        seed: UInt64
    ) throws {
        let random = SeededRandom(seed: seed)
        let decoder = EntryDecoder()
        let ids = (0..<3).map { _ in AttachmentID(random: random) }
        var draft = ItemDraft(title: "Lisbon", text: "x", created: "2026-11-01T09:00:00Z")
        draft.attachments = ids.map { id in
            ItemDraft.Attachment(
                id: id, name: "n.jpg", type: "image/jpeg", size: 5,
                ref: .address(known(CloudBlobRef(vectors.ref))),
                thumb: ItemDraft.Thumb(type: "t", size: 1, ref: .null))
        }
        let payload = try draft.encode(using: decoder)
        var batch = PayloadBatch()
        for _ in 0..<4_000 {
            let changed = mutate(payload, random)
            batch.removeAll()
            guard let item = try? decoder.decode(changed.span, into: &batch) else {
                #expect(batch.bytes.isEmpty && batch.attachments.isEmpty)
                continue
            }
            #expect(item.attachments == 0..<batch.attachments.count)
            let again = ItemDraft(title: batch.text(item.title))
            #expect(throws: Never.self) { try again.encode(over: changed.span, using: decoder) }
        }
    }

    @Test(arguments: seeds) func `any text is a recovery key or refused`(seed: UInt64) {
        let random = SeededRandom(seed: seed)
        let text = Array(vectors.recoveryText.utf8)
        for _ in 0..<4_000 {
            let changed = mutate(text, random)
            guard let key = try? RecoveryKey.parse(changed.span) else { continue }
            #expect(key.count == 32)
        }
        for _ in 0..<50 {
            let key = random.secret(32)
            let written = Array(RecoveryKey.text(key).utf8)
            #expect(throws: Never.self) {
                let read = try RecoveryKey.parse(written.span)
                #expect(read == key)
            }
        }
    }

    @Test(arguments: seeds) func `any text is a time or none`(seed: UInt64) {
        let random = SeededRandom(seed: seed)
        for text in ["2026-11-01T09:00:00.123Z", "2026-11-01T09:00:00+01:30"] {
            for _ in 0..<2_000 {
                let changed = mutate(Array(text.utf8), random)
                guard let time = Timestamp(text: changed.span) else { continue }
                #expect(Timestamp(time.description) == time)
            }
        }
    }
}
