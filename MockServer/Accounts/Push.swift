/// A push as it came: well-formed, and not yet judged against what is stored.
struct Push: Sendable {
    /// One sealed entry.
    struct Entry: Sendable {
        var id: EntryID
        var version: UInt64
        var kind: Int
        var epoch: UInt64
        /// In base64url.
        var sealed: String
    }

    /// Entries at the most.
    static let largestCount = 5_000

    var head: HeadFacts
    var entries: [Entry]

    /// Reads a push's body.
    ///
    /// - Throws: `bad-request` for what is no push, `too-large` for too many entries, `bad-push` for
    ///   what no account could take.
    init(_ body: JSONTree, account: String) throws(Refusal) {
        guard let text = body["head"]?.string, let head = HeadFacts(text) else {
            throw .badRequest("head is not one in base64url")
        }
        guard let list = body["entries"]?.array else { throw .badRequest("entries is missing") }
        guard list.count <= Push.largestCount else {
            throw Refusal(413, "too-large", "More than \(Push.largestCount) entries are several")
        }
        self.head = head
        entries = []
        var ids: Set<EntryID> = []
        for tree in list {
            let entry = try Push.entry(tree)
            guard ids.insert(entry.id).inserted else {
                throw Push.bad("\(entry.id.hex) is there twice")
            }
            guard entry.epoch <= head.epoch else {
                throw Push.bad("The epoch of \(entry.id.hex) is above the head's")
            }
            entries.append(entry)
        }
        guard head.accountId == account else { throw Push.bad("The head is another account's") }
    }

    static func bad(_ title: String) -> Refusal { Refusal(422, "bad-push", title) }

    private static func entry(_ tree: JSONTree) throws(Refusal) -> Entry {
        guard let id = tree["id"]?.string.flatMap({ EntryID($0) }) else {
            throw .badRequest("an id is not 32 hex digits")
        }
        guard let version = tree["version"]?.string.flatMap({ Decimal64.parse($0) }) else {
            throw .badRequest("a version is not a number in a string")
        }
        guard let kind = tree["kind"]?.int, kind == 0 || kind == 1 else {
            throw .badRequest("a kind is neither 0 nor 1")
        }
        guard let epoch = tree["epoch"]?.int.flatMap({ UInt32(exactly: $0) }), epoch > 0 else {
            throw .badRequest("an epoch is not a number")
        }
        guard let sealed = tree["sealed"]?.string, Base64URL.decode(sealed) != nil else {
            throw .badRequest("sealed is not in base64url")
        }
        return Entry(id: id, version: version, kind: kind, epoch: UInt64(epoch), sealed: sealed)
    }

    /// The entries as they will be served, one a line.
    var lines: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(entries.reduce(0) { $0 + $1.sealed.utf8.count + 160 })
        for entry in entries {
            // None of these needs quoting.
            bytes += "{\"id\":\"\(entry.id.hex)\",\"version\":\"\(entry.version)\"".utf8
            bytes += ",\"kind\":\(entry.kind),\"epoch\":\(entry.epoch)".utf8
            bytes += ",\"seq\":\"\(head.seq)\",\"sealed\":\"".utf8
            bytes += entry.sealed.utf8
            bytes += "\"}\n".utf8
        }
        return bytes
    }
}
