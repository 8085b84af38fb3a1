import Foundation
import SyncPlatform
import Testing

@testable import LazySync

/// The fixed keys and bytes of `Fixtures/vectors/cloudblob-v1.json`, which a second implementation
/// of the format wrote.
struct Vectors: Decodable, Sendable {
    struct Inputs: Decodable, Sendable {
        let amk, ck, n, wrapNonce, accountId, entryId, attachmentId, recordName: String
        let passphrase, salt, kwrNonce: String
        let ops: UInt32
        let mem: UInt64
    }
    struct Keys: Decodable, Sendable { let kek, meta, head, set, previous, kekId: String }
    struct Blob: Decodable, Sendable, CustomTestStringConvertible {
        let length: UInt64
        let sealedLength: UInt64
        let blake2b256: String
        let hex: String?
        var testDescription: String { "\(length) bytes" }
    }
    struct Entry: Decodable, Sendable {
        let version: UInt64
        let kind: UInt8
        let epoch: UInt32
        let payload: String?
        let entryId: String?
        let nonce, sealed: String
    }
    /// A value that must be refused; what it leaves out is as in the inputs.
    struct Case: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let ref, entryId, attachmentId, sealed, head, setDigest, accountId, record, secret: String?
        let text: String?
        let role, kind: UInt8?
        let version, count: UInt64?
        let epoch: UInt32?
        var testDescription: String { name }
    }
    struct Refused: Decodable, Sendable {
        let refs, entries, heads, keyRecords, recoveryTexts: [Case]
    }

    let inputs: Inputs
    let keys: Keys
    let blobs: [Blob]
    let blobEditsRefused: [String]
    let ref, thumbRef: String
    let passphraseSecret, authKey, passphraseRecord: String
    let recoveryKey, recoveryText, recoveryRecord, recoveryAuthKey: String
    let entry, tombstone: Entry
    let leaves, setDigests, heads: [String]
    let refused: Refused

    static let fixtures = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fixtures")
    static let file = fixtures.appending(path: "vectors/cloudblob-v1.json")
    static let all: Vectors = {
        do {
            return try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: file))
        } catch {
            fatalError("the vectors cannot be read: \(error)")
        }
    }()

    var accountKeys: AccountKeys { AccountKeys(masterKey: secret(inputs.amk), epoch: 1) }
    var account: AccountID { known(AccountID(inputs.accountId)) }
    var entryID: EntryID { known(EntryID(inputs.entryId)) }
    var attachmentID: AttachmentID { known(AttachmentID(inputs.attachmentId)) }
    var cost: StretchCost { StretchCost(operations: inputs.ops, memory: inputs.mem) }
    var blob: SealedBlob {
        SealedBlob(
            contentKey: bytes(inputs.ck).span, nonce: bytes(inputs.n).span,
            recordName: Array(inputs.recordName.utf8).span)
    }

    var tombstoneID: EntryID { known(tombstone.entryId.flatMap { EntryID($0) }) }

    /// The plaintext of the blobs: byte i is (7 i + 3) mod 256.
    static func pattern(_ length: Int) -> [UInt8] {
        (0..<length).map { UInt8(truncatingIfNeeded: 7 * $0 + 3) }
    }
}

/// A value that is nil only if the test itself is wrong.
func known<Value>(_ value: Value?) -> Value {
    guard let value else { fatalError("a fixed value of a test is wrong") }
    return value
}

/// Bytes out of hex that the tests know to be right.
func bytes(_ hex: String) -> [UInt8] { known(Hex.decode(Array(hex.utf8).span)) }
func secret(_ hex: String) -> SecretBytes { SecretBytes(copying: bytes(hex).span) }
func hex(_ bytes: [UInt8]) -> String { Hex.encode(bytes.span) }
func hex(_ secret: SecretBytes) -> String { secret.withBytes { Hex.encode($0) } }
func setDigest(_ hex: String) -> SetDigest { known(SetDigest(bytes: bytes(hex).span)) }
