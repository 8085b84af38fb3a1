/// A place in a run of pages, good for 24 hours and for any process: all of it is in the text.
struct PageToken: Sendable {
    let after: UInt64
    /// The last entry that was served, or the cursor when none was.
    let seq: UInt64
    let id: EntryID?
    /// Tokens of an epoch before the session's have expired.
    let epoch: Int
    let expires: UInt64
    /// Tells two tokens for the same place apart.
    let nonce: UInt32

    init(after: UInt64, seq: UInt64, id: EntryID?, epoch: Int, now: Double) {
        self.after = after
        self.seq = seq
        self.id = id
        self.epoch = epoch
        expires = UInt64(max(0, now)) + 24 * 3600
        nonce = .random(in: 0...(.max))
    }

    /// Reads a token back.
    ///
    /// - Throws: `bad-request` when it is none of ours or another `after` comes with it,
    ///   `cursor-expired` when it is too old.
    init(_ text: String, after: UInt64, now: Double) throws(Refusal) {
        let parts =
            Base64URL.decode(text).map { String(decoding: $0, as: UTF8.self).split(separator: ".") }
            ?? []
        guard parts.count == 6, let seq = Decimal64.parse(parts[1].utf8),
            let epoch = Int(parts[3]), let expires = UInt64(parts[4]), let nonce = UInt32(parts[5])
        else { throw .badRequest("page is not a token") }
        guard Decimal64.parse(parts[0].utf8) == after else {
            throw .badRequest("after is not what this page began with")
        }
        guard now < Double(expires) else {
            throw Refusal(410, "cursor-expired", "The page token has expired: start again from 0")
        }
        self.after = after
        self.seq = seq
        id = EntryID(hex: parts[2].utf8)
        self.epoch = epoch
        self.expires = expires
        self.nonce = nonce
    }

    /// The token as it travels.
    var text: String {
        let parts = "\(after).\(seq).\(id?.hex ?? "-").\(epoch).\(expires).\(nonce)"
        return Base64URL.encode(parts.utf8)
    }
}
