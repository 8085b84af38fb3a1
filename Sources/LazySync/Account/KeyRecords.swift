internal import SyncPlatform

/// All key records of an account, as the server keeps them, and the version they have there.
struct KeyRecords: Sendable {
    /// One record of an epoch; bytes that this version cannot read are kept as they are.
    struct Entry: Sendable, Equatable {
        let epoch: Int64
        let bytes: [UInt8]

        var kind: KeyRecord.Kind? { (try? KeyRecord(parsing: bytes.span))?.kind }
    }

    /// More are a server's mistake.
    private static let most = 1_000

    var entries: [Entry]
    /// The strong ETag of this state.
    let version: String

    init(_ answer: JSONObject, version: String) throws(MalformedJSON) {
        self.version = version
        let list = try answer.objects("records")
        guard list.count <= Self.most else { throw MalformedJSON(detail: "records") }
        var entries: [Entry] = []
        for object in list {
            entries.append(
                Entry(epoch: try object.integer("epoch"), bytes: try object.binary("record")))
        }
        self.entries = entries
    }

    /// Puts a record in the place of that of its kind and of epoch 1.
    mutating func replace(with record: KeyRecord) {
        entries.removeAll { $0.epoch == 1 && $0.kind == record.kind }
        entries.append(Entry(epoch: 1, bytes: record.bytes))
    }

    /// What the server is asked to keep instead of all records, and the proof of the new one.
    func request(_ kind: KeyRecord.Kind, _ authKey: SecretBytes) -> [UInt8] {
        var body = JSONWriter()
        body.beginObject()
        body.key("records")
        body.beginArray()
        for entry in entries {
            body.beginObject()
            body.key("epoch")
            body.integer(entry.epoch)
            body.member("record", Base64URL.encode(entry.bytes.span))
            body.endObject()
        }
        body.endArray()
        body.key("authKeys")
        body.beginObject()
        body.member(
            kind == .recoveryKey ? "recovery" : "passphrase",
            authKey.withBytes { Base64URL.encode($0) })
        body.endObject()
        body.endObject()
        return body.bytes
    }
}
