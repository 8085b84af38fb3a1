import SyncPlatform
import Testing

@testable import LazySync

private let vectors = Vectors.all

/// Everything that the vectors say must be refused is refused, each by its name.
@Suite struct RefusedVectorTests {
    @Test(arguments: vectors.blobEditsRefused)
    func `an edited blob is refused`(name: String) throws {
        let geometry = try #require(BlobGeometry(length: 200_000))
        var full: [UInt8] = []
        var sealer = BlobSealer(vectors.blob, geometry: geometry)
        try sealer.append(Vectors.pattern(200_000).span, to: &full)
        try sealer.finish(to: &full)
        guard let (length, edited) = edit(full, name) else {
            Issue.record("an edit that this test does not know: \(name)")
            return
        }
        let claimed = try #require(BlobGeometry(length: UInt64(length)))
        #expect(throws: FormatError.self) {
            try vectors.blob.open(edited.span, of: claimed)
        }
    }

    /// Makes the edit of that name: the length that is claimed, and the bytes.
    private func edit(_ full: [UInt8], _ name: String) -> (Int, [UInt8])? {
        let chunk = BlobGeometry.chunkSize
        let step = chunk + BlobGeometry.tagSize
        let header = full[..<40]
        let first = full[40..<(40 + step)]
        let second = full[(40 + step)..<(40 + 2 * step)]
        let third = full[(40 + 2 * step)..<(40 + 3 * step)]
        let rest = full[(40 + 2 * step)...]
        func flipped(_ index: Int, _ bits: UInt8) -> [UInt8] {
            var edited = full
            edited[index] ^= bits
            return edited
        }
        return switch name {
        case "cut at a chunk boundary": (200_000, Array(header + first + second))
        case "cut at a chunk boundary, and a size that agrees":
            (131_072, Array(header + first + second))
        case "one byte short": (200_000, full.dropLast())
        case "one byte more": (200_000, full + [0])
        case "chunks 0 and 1 swapped": (200_000, Array(header + second + first + rest))
        case "chunk 0 twice": (200_000, Array(header + first + first + rest))
        case "chunk 1 dropped, and a size that agrees":
            (200_000 - chunk, Array(header + first + third + full[(40 + 3 * step)...]))
        case "a bit of the last chunk flipped": (200_000, flipped(full.count - 20, 1))
        case "suite 2": (200_000, flipped(4, 1 ^ 2))
        case "log2 17": (200_000, flipped(5, 16 ^ 17))
        case "flags 1": (200_000, flipped(7, 1))
        case "a bit of the commitment flipped": (200_000, flipped(8, 1))
        case "an empty blob of zeros": (0, Array(header) + [UInt8](repeating: 0, count: 16))
        default: nil
        }
    }

    @Test(arguments: vectors.refused.refs)
    func `a false address is refused`(refused: Vectors.Case) throws {
        let text = try #require(refused.ref)
        let entry = try #require(EntryID(refused.entryId ?? vectors.inputs.entryId))
        let attachment = try #require(
            AttachmentID(refused.attachmentId ?? vectors.inputs.attachmentId))
        let role = try #require(BlobRole(rawValue: refused.role ?? 0))
        guard let ref = CloudBlobRef(text) else { return }
        var opener = RefOpener(keys: vectors.accountKeys, account: vectors.account)
        let isValid = opener.isValid(
            ref.packed.span, entry: entry, attachment: attachment, role: role)
        #expect(!isValid)
        #expect(
            opener.blob(ref.packed.span, entry: entry, attachment: attachment, role: role) == nil)
    }

    @Test func `text that breaks the address's form is refused before any key is used`() {
        let byKey: Set = [
            "of another entry", "of another attachment", "an original's ref as a thumbnail's",
            "a thumbnail's ref as an original's", "under another account key",
            "another record name", "another nonce", "a bit of the wrap flipped",
        ]
        for refused in vectors.refused.refs {
            let parses = CloudBlobRef(refused.ref ?? "") != nil
            #expect(parses == byKey.contains(refused.name), "\(refused.name)")
        }
    }

    @Test(arguments: vectors.refused.entries)
    func `a false entry is refused`(refused: Vectors.Case) throws {
        let facts = EntryFacts(
            id: try #require(EntryID(refused.entryId ?? vectors.inputs.entryId)),
            version: refused.version ?? vectors.entry.version,
            kind: try #require(EntryFacts.Kind(rawValue: refused.kind ?? vectors.entry.kind)),
            epoch: refused.epoch ?? vectors.entry.epoch)
        let keys = AccountKeys(masterKey: secret(vectors.inputs.amk), epoch: facts.epoch)
        let sealed = bytes(try #require(refused.sealed))
        var body: [UInt8] = []
        #expect(throws: FormatError.self) {
            try SealedEntry.open(
                sealed.span, facts: facts, account: vectors.account, keys: keys, into: &body)
        }
    }

    @Test(arguments: vectors.refused.heads)
    func `a head that does not add up is refused`(refused: Vectors.Case) throws {
        let keys = AccountKeys(masterKey: secret(vectors.inputs.amk), epoch: refused.epoch ?? 1)
        let account = try #require(AccountID(refused.accountId ?? vectors.inputs.accountId))
        let digest = setDigest(refused.setDigest ?? vectors.setDigests[1])
        let head = bytes(try #require(refused.head))
        #expect(throws: FormatError.self) {
            try Head(parsing: head.span).check(
                account: account, count: refused.count ?? 2, digest: digest, keys: keys)
        }
    }

    @Test(arguments: vectors.refused.keyRecords)
    func `a false key record is refused`(refused: Vectors.Case) throws {
        let account = try #require(AccountID(refused.accountId ?? vectors.inputs.accountId))
        let key = secret(refused.secret ?? vectors.passphraseSecret)
        let record = bytes(try #require(refused.record))
        #expect(throws: FormatError.self) {
            try KeyRecord(parsing: record.span).open(
                secret: key, account: account, epoch: refused.epoch ?? 1)
        }
    }

    @Test func `a cost out of bounds is refused by reading, before anything is stretched`() {
        for refused in vectors.refused.keyRecords
        where refused.name.hasPrefix("ops") || refused.name.hasPrefix("mem") {
            #expect(throws: FormatError(.bounds, "read a key record")) {
                try KeyRecord(parsing: bytes(refused.record ?? "").span)
            }
        }
        let passphrase = SecretBytes(copying: [1, 2, 3].span)
        for cost in [
            StretchCost(operations: 2, memory: 64 << 20),
            StretchCost(operations: 3, memory: 1 << 40),
        ] {
            #expect(throws: FormatError(.bounds, "stretch a passphrase")) {
                try AccountSecret.stretch(
                    passphrase: passphrase, salt: bytes(vectors.inputs.salt).span, cost: cost)
            }
        }
    }

    @Test(arguments: vectors.refused.recoveryTexts)
    func `a false recovery key is refused`(refused: Vectors.Case) throws {
        let text = Array(try #require(refused.text).utf8)
        #expect(throws: FormatError.self) { try RecoveryKey.parse(text.span) }
    }
}
