import Foundation
import SyncPlatform
import Testing

@testable import LazySync

private let vectors = Vectors.all

/// Our writer gives the vectors' bytes, and our reader takes them.
@Suite struct VectorTests {
    @Test func `subkeys are those of the vectors`() {
        let keys = vectors.accountKeys
        #expect(hex(keys.kek) == vectors.keys.kek)
        #expect(hex(keys.meta) == vectors.keys.meta)
        #expect(hex(keys.head) == vectors.keys.head)
        #expect(hex(keys.set) == vectors.keys.set)
        #expect(hex(keys.previous) == vectors.keys.previous)
        #expect(hex([UInt8](copying: keys.kekID.span)) == vectors.keys.kekId)
    }

    @Test(arguments: vectors.blobs)
    func `a blob is sealed to the vectors' bytes, and opens`(expected: Vectors.Blob) throws {
        let plaintext = Vectors.pattern(Int(expected.length))
        let geometry = try #require(BlobGeometry(length: expected.length))
        #expect(geometry.sealedLength == expected.sealedLength)
        // In pieces that do not fit the chunks, as a file would come.
        for piece in [1_000, 65_536, 100_000] {
            var sealed: [UInt8] = []
            var sealer = BlobSealer(vectors.blob, geometry: geometry)
            for start in stride(from: 0, to: plaintext.count, by: piece) {
                let end = min(start + piece, plaintext.count)
                try sealer.append(plaintext.span.extracting(start..<end), to: &sealed)
            }
            try sealer.finish(to: &sealed)
            #expect(UInt64(sealed.count) == expected.sealedLength)
            #expect(Hex.encode(Hash.blake2b256(sealed.span).span) == expected.blake2b256)
            if let text = expected.hex { #expect(hex(sealed) == text) }
            #expect(try vectors.blob.open(sealed.span, of: geometry) == plaintext)
        }
    }

    @Test func `addresses are wrapped to the vectors' text, and unwrap`() throws {
        var opener = RefOpener(keys: vectors.accountKeys, account: vectors.account)
        for (role, text) in [(BlobRole.original, vectors.ref), (.thumbnail, vectors.thumbRef)] {
            let ref = opener.wrap(
                contentKey: bytes(vectors.inputs.ck).span, nonce: bytes(vectors.inputs.n).span,
                recordName: try #require(RecordName(vectors.inputs.recordName)),
                wrapNonce: bytes(vectors.inputs.wrapNonce).span,
                entry: vectors.entryID, attachment: vectors.attachmentID, role: role)
            #expect(ref.description == text)
            #expect(CloudBlobRef(text) == ref)
            #expect(CloudBlobRef(packed: ref.packed.span) == ref)
            #expect(ref.recordName == vectors.inputs.recordName)
            var key = [UInt8](repeating: 0, count: 32)
            var span = key.mutableSpan
            let unwraps = opener.unwrap(
                ref.packed.span, entry: vectors.entryID, attachment: vectors.attachmentID,
                role: role, into: &span)
            #expect(unwraps)
            #expect(hex(key) == vectors.inputs.ck)
        }
    }

    @Test(arguments: ["composed", "decomposed"])
    func `a passphrase gives its secret in any normal form`(form: String) throws {
        let composed = vectors.inputs.passphrase
        let scalars =
            form == "composed" ? composed : composed.decomposedStringWithCanonicalMapping
        #expect((form == "composed") == (Array(scalars.utf8) == Array(composed.utf8)))
        let passphrase = SecretBytes(copying: Array(scalars.utf8).span)
        let stretched = try AccountSecret.stretch(
            passphrase: passphrase, salt: bytes(vectors.inputs.salt).span, cost: vectors.cost)
        #expect(hex(stretched) == vectors.passphraseSecret)
        #expect(
            hex(AccountSecret.authKey(stretched, account: vectors.account)) == vectors.authKey)
    }

    @Test func `key records are the vectors' bytes, and open`() throws {
        let amk = secret(vectors.inputs.amk)
        let recovery = secret(vectors.recoveryKey)
        for (kind, secret, cost, text) in [
            (
                KeyRecord.Kind.passphrase, secret(vectors.passphraseSecret),
                vectors.cost as StretchCost?,
                vectors.passphraseRecord
            ),
            (.recoveryKey, recovery, nil, vectors.recoveryRecord),
        ] {
            let record = KeyRecord(
                sealing: amk, kind: kind, secret: secret, cost: cost,
                salt: bytes(vectors.inputs.salt).span, nonce: bytes(vectors.inputs.kwrNonce).span,
                account: vectors.account, epoch: 1)
            #expect(hex(record.bytes) == text)
            let read = try KeyRecord(parsing: bytes(text).span)
            #expect(read == record)
            #expect(hex(read.salt) == vectors.inputs.salt)
            #expect(try read.open(secret: secret, account: vectors.account, epoch: 1) == amk)
        }
        #expect(
            hex(AccountSecret.authKey(recovery, account: vectors.account))
                == vectors.recoveryAuthKey)
    }

    @Test func `the record of the epoch before opens with the next epoch's subkey`() throws {
        let before = secret(String(repeating: "5a", count: 32))
        let keys = vectors.accountKeys
        let record = KeyRecord(
            sealing: before, kind: .previousEpoch, secret: keys.previous,
            salt: bytes(vectors.inputs.salt).span, nonce: bytes(vectors.inputs.kwrNonce).span,
            account: vectors.account, epoch: 1)
        let read = try KeyRecord(parsing: record.bytes.span)
        #expect(read.kind == .previousEpoch)
        #expect(try read.open(secret: keys.previous, account: vectors.account, epoch: 1) == before)
    }

    @Test func `a recovery key is the vectors' text, and is read as people write it`() throws {
        let key = secret(vectors.recoveryKey)
        #expect(RecoveryKey.text(key) == vectors.recoveryText)
        let text = vectors.recoveryText
        let split =
            text.prefix(10).lowercased().replacing("0", with: "o") + "-" + text.dropFirst(10)
        for written in [text, text.lowercased(), split, text.replacing("1", with: "l")] {
            #expect(try RecoveryKey.parse(Array(written.utf8).span) == key)
        }
    }

    @Test func `entries are sealed to the vectors' bytes, and open`() throws {
        let gone = #"{"deleted":"2026-11-03T00:00:00Z"}"#
        for (entry, id, payload) in [
            (vectors.entry, vectors.entryID, try #require(vectors.entry.payload)),
            (vectors.tombstone, vectors.tombstoneID, gone),
        ] {
            let facts = facts(of: entry, id: id)
            var sealed: [UInt8] = []
            SealedEntry.seal(
                Array(payload.utf8).span, facts: facts, account: vectors.account,
                keys: vectors.accountKeys, nonce: bytes(entry.nonce).span, appendingTo: &sealed)
            #expect(hex(sealed) == entry.sealed)
            var body: [UInt8] = [1, 2, 3]
            let range = try SealedEntry.open(
                sealed.span, facts: facts, account: vectors.account, keys: vectors.accountKeys,
                into: &body)
            #expect(body[range].elementsEqual(payload.utf8))
        }
        let deleted = try #require(Timestamp("2026-11-03T00:00:00Z"))
        #expect(ItemDraft.encodeTombstone(deleted: deleted).elementsEqual(gone.utf8))
        #expect(try EntryDecoder().decodeTombstone(Array(gone.utf8).span) == deleted.description)
    }

    @Test func `the entry's payload decodes, and encodes to the same bytes`() throws {
        let payload = Array(try #require(vectors.entry.payload).utf8)
        var batch = PayloadBatch()
        let item = try EntryDecoder().decode(payload.span, into: &batch)
        #expect(batch.text(item.title) == "하루")
        #expect(item.attachments.isEmpty && !item.isLossy)
        #expect(try ItemDraft(title: "하루").encode(using: EntryDecoder()) == payload)
    }

    @Test func `leaves and digests are those of the vectors, in any order`() {
        let leaves = [
            SetDigest.leafHash(
                facts(of: vectors.entry, id: vectors.entryID),
                sealed: bytes(vectors.entry.sealed).span, keys: vectors.accountKeys),
            SetDigest.leafHash(
                facts(of: vectors.tombstone, id: vectors.tombstoneID),
                sealed: bytes(vectors.tombstone.sealed).span, keys: vectors.accountKeys),
        ]
        #expect(leaves.map { hex($0.bytes) } == vectors.leaves)
        var digest = SetDigest()
        digest += leaves[0]
        #expect(hex(digest.bytes) == vectors.setDigests[0])
        digest += leaves[1]
        #expect(hex(digest.bytes) == vectors.setDigests[1])
        #expect(SetDigest(bytes: digest.bytes.span) == digest)
        digest -= leaves[0]
        digest += leaves[0]
        #expect(hex(digest.bytes) == vectors.setDigests[1])
        digest -= leaves[1]
        digest -= leaves[0]
        #expect(digest == SetDigest())
    }

    @Test func `heads are the vectors' bytes, and add up`() throws {
        let digests = vectors.setDigests.map(setDigest)
        let keys = vectors.accountKeys
        let first = Head(
            following: nil, account: vectors.account, count: 1, digest: digests[0], keys: keys)
        let second = Head(
            following: first, account: vectors.account, count: 2, digest: digests[1], keys: keys)
        #expect([first, second].map { hex($0.bytes) } == vectors.heads)
        #expect(second.seq == 2 && second.count == 2 && second.epoch == 1)
        #expect(second.account == vectors.account && second.previous == first.hash)
        #expect(first.previous == [UInt8](repeating: 0, count: 32))
        let read = try Head(parsing: second.bytes.span)
        #expect(read == second)
        try read.check(account: vectors.account, count: 2, digest: digests[1], keys: keys)
    }

    private func facts(of entry: Vectors.Entry, id: EntryID) -> EntryFacts {
        EntryFacts(
            id: id, version: entry.version, kind: known(EntryFacts.Kind(rawValue: entry.kind)),
            epoch: entry.epoch)
    }
}
