import Foundation
import SyncPlatform
import TestSupport
import Testing

@testable import LazySync

/// What the second implementation writes today, we read.
@Suite struct ReferenceTests {
    private static let python = "/usr/bin/python3"

    private static func run(_ arguments: [String]) -> Int32? {
        let process = Process()
        process.executableURL = URL(filePath: python)
        process.arguments = ["-B"] + arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        do { try process.run() } catch { return nil }
        process.waitUntilExit()
        return process.terminationStatus
    }

    private static let isPossible =
        run(["-c", "import argon2\ntry: import Crypto\nexcept ImportError: import Cryptodome"]) == 0

    @Test(
        .enabled(
            if: isPossible,
            "needs python3-pycryptodome and python3-argon2 (and python3-pil for make_account.py)"))
    func `the reference writes the vectors that are here, byte for byte`() throws {
        let files = FileManager.default
        let folder = testsFolder.appending(path: "reference-\(UUID().uuidString)")
        defer { try? files.removeItem(at: folder) }
        try files.createDirectory(
            at: folder.appending(path: "vectors"), withIntermediateDirectories: true)
        try files.copyItem(
            at: Vectors.fixtures.appending(path: "reference"),
            to: folder.appending(path: "reference"))
        #expect(Self.run([folder.appending(path: "reference/make_vectors.py").path]) == 0)
        let written = try Data(contentsOf: folder.appending(path: "vectors/cloudblob-v1.json"))
        #expect(written == (try Data(contentsOf: Vectors.file)))
    }

    @Test(.enabled(if: isPossible, "needs python3-pycryptodome and python3-argon2"))
    func `an account that the reference made is read, from the passphrase to the files`() throws {
        let folder = testsFolder.appending(path: "account-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let sources = Vectors.fixtures.appending(path: "reference")
        let made = Self.run([
            sources.appending(path: "make_account.py").path, folder.path, "--from", sources.path,
            "--passphrase", "Crème", "--items-of", "2",
        ])
        #expect(made == 0)
        let account = try MadeAccount(folder: folder, passphrase: "Crème")
        var digest = SetDigest()
        var names: [String] = []
        for entry in account.entries {
            digest += SetDigest.leafHash(
                entry.facts, sealed: entry.sealed.span, keys: account.keys)
            for (name, bytes) in try account.files(of: entry) {
                names.append(name)
                #expect(Data(bytes) == (try Data(contentsOf: sources.appending(path: name))))
            }
        }
        #expect(
            names.sorted() == [
                "cloudblob.py", "make_account.py", "make_vectors.py", "read_account.py",
            ])
        try account.head.check(
            account: account.id, count: UInt64(account.entries.count), digest: digest,
            keys: account.keys)
    }
}

/// An account folder as `make_account.py` writes it.
private struct MadeAccount {
    struct Entry {
        let facts: EntryFacts
        let sealed: [UInt8]
    }
    private struct Account: Decodable { let accountId, keyRecord, head: String }
    private struct Line: Decodable { let id, version, sealed: String }

    let folder: URL
    let id: AccountID
    let keys: AccountKeys
    let head: Head
    let entries: [Entry]

    init(folder: URL, passphrase: String) throws {
        self.folder = folder
        let account = try JSONDecoder().decode(
            Account.self, from: Data(contentsOf: folder.appending(path: "account.json")))
        id = known(AccountID(account.accountId))
        let recordBytes = Self.bytes(account.keyRecord)
        let record = try KeyRecord(parsing: recordBytes.span)
        let typed = Array(passphrase.utf8)
        let salt = record.salt
        let secret = try AccountSecret.stretch(
            passphrase: SecretBytes(copying: typed.span), salt: salt.span,
            cost: known(record.cost))
        let masterKey = try record.open(secret: secret, account: id, epoch: 1)
        keys = AccountKeys(masterKey: masterKey, epoch: 1)
        let headBytes = Self.bytes(account.head)
        head = try Head(parsing: headBytes.span)
        let lines = try String(contentsOf: folder.appending(path: "entries.jsonl"), encoding: .utf8)
        entries = try lines.split(separator: "\n").map { line in
            let line = try JSONDecoder().decode(Line.self, from: Data(line.utf8))
            let facts = EntryFacts(
                id: known(EntryID(line.id)), version: known(UInt64(line.version)), kind: .live,
                epoch: 1)
            return Entry(facts: facts, sealed: Self.bytes(line.sealed))
        }
    }

    /// Opens an entry and all of its blobs: names and bytes.
    func files(of entry: Entry) throws -> [(String, [UInt8])] {
        var body: [UInt8] = []
        let range = try SealedEntry.open(
            entry.sealed.span, facts: entry.facts, account: id, keys: keys, into: &body)
        let payload = Array(body[range])
        var batch = PayloadBatch()
        let item = try EntryDecoder().decode(payload.span, into: &batch)
        #expect(!item.isLossy && item.leftOut == 0)
        var opener = RefOpener(keys: keys, account: id)
        return try batch.attachments[item.attachments].map { attachment in
            guard case .packed(let range) = attachment.ref else {
                throw FormatError(.text, "find an address")
            }
            let packed = Array(batch.bytes[range])
            let blob = known(
                opener.blob(
                    packed.span, entry: entry.facts.id, attachment: attachment.id, role: .original))
            let name = known(CloudBlobRef(packed: packed.span)).recordName
            let sealed = [UInt8](
                try Data(contentsOf: folder.appending(path: "blobs").appending(path: name)))
            let geometry = known(BlobGeometry(length: attachment.size))
            return (batch.text(attachment.name), try blob.open(sealed.span, of: geometry))
        }
    }

    private static func bytes(_ base64: String) -> [UInt8] {
        let text = Array(base64.utf8)
        return known(Base64URL.decode(text.span))
    }
}
