internal import SyncPlatform

/// The head that an imported file claims, and the digest over all entries of the file.
///
/// Neither is believed. But if the two fit under the account's key, its writer has made the head,
/// and the server must not show an older one.
struct ImportedHead: Sendable, Equatable {
    let head: Head?
    let digest: SetDigest

    /// Whether the file had nothing in it that a server should know about.
    var isOfNothing: Bool { head == nil && digest == SetDigest() }

    init(head: Head?, digest: SetDigest) {
        self.head = head
        self.digest = digest
    }

    /// Reads what is stored.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2,
            let bytes = Base64URL.decode(String(parts[1]).utf8Span.span),
            let digest = SetDigest(bytes: bytes.span)
        else { return nil }
        self.digest = digest
        let head = Base64URL.decode(String(parts[0]).utf8Span.span)
        self.head = head.flatMap { try? Head(parsing: $0.span) }
    }

    /// What is stored.
    var stored: String {
        (head.map { Base64URL.encode($0.bytes.span) } ?? "") + "."
            + Base64URL.encode(digest.bytes.span)
    }

    /// The head, if the account's writer has made it for these entries.
    func authentic(_ account: AccountID, _ keys: AccountKeys) -> Head? {
        guard let head else { return nil }
        do throws(FormatError) {
            try head.check(account: account, count: head.count, digest: digest, keys: keys)
            return head
        } catch {
            return nil
        }
    }
}

extension Catalog {
    /// Whether a file brought this catalog, and no restore has come to its end since.
    func isImported() async throws(SyncError) -> Bool {
        try await read("look for an import") { try $0.importedHead() != nil }
    }

    /// The head that an imported file claims, if the account's writer has made it.
    func authenticImportedHead(
        _ account: AccountID, _ keys: AccountKeys
    ) async throws(SyncError) -> Head? {
        try await read("look for an import") { connection in
            try connection.importedHead()?.authentic(account, keys)
        }
    }
}

extension Connection {
    /// What an imported file claims; nil if there is none that waits for a restore.
    ///
    /// It stands among the conditions, as the one reason why the catalog is not to be believed.
    func importedHead() throws -> ImportedHead? {
        let query = try prepare(.imported)
        guard try query.step() else { return nil }
        guard let imported = ImportedHead(try query.text(0)) else {
            throw CatalogDamage(what: "an import that cannot be read")
        }
        return imported
    }

    /// The head of an export: the verified one, or the one of the file that was imported.
    func exportedHead() throws -> Head? {
        if let imported = try importedHead() { return imported.head }
        let account = try prepare(.account)
        guard try account.step() else { throw CatalogDamage(what: "no account") }
        return account.isNull(1) ? nil : try Head(parsing: account.blob(1).span)
    }

    /// Entries that came from a file and that no server has sent since, in the order of rows.
    func unconfirmed(
        after row: Int64, limit: Int
    ) throws -> [(row: Int64, id: EntryID, isItem: Bool)] {
        let query = try prepare(.unconfirmed)
        query.bind(row, at: 1)
        query.bind(Int64(limit), at: 2)
        var found: [(Int64, EntryID, Bool)] = []
        while try query.step() {
            guard let id = EntryID(bytes: query.blob(1).span) else {
                throw CatalogDamage(what: "an identifier of another length")
            }
            found.append((query.int(0), id, query.int(2) == 0))
        }
        return found
    }

    /// Hands out every entry in the order of ids, and then those that wait under a verified head;
    /// answers how many are changed here.
    ///
    /// What is changed here is handed out as the server has it, and what it does not have is not.
    func forEachExported(_ body: (ExportLine) throws -> Void) throws -> Int {
        let entries = try prepare(.exportedEntries)
        let attachments = try prepare(.exportedAttachments)
        let bases = ExportedBase()
        var changed = 0
        entries.bind(blob: Span(), at: 1)
        while try entries.step() {
            var (facts, leaf) = try entries.exportedFacts(from: 1)
            let isChanged = entries.int(11) == 1
            if isChanged { changed += 1 }
            if facts.version == 0 { continue }
            var item: ExportedEntry.Item?
            if !isChanged, facts.kind == .live {
                attachments.bind(entries.int(0), at: 1)
                item = ExportedEntry.Item(
                    title: try entries.text(6), text: try entries.textOrNil(7),
                    created: try entries.textOrNil(8), modified: try entries.textOrNil(9),
                    payload: entries.isNull(10) ? nil : entries.blob(10),
                    attachments: try Self.exported(attachments))
            } else if isChanged, !entries.isNull(12) {
                attachments.bind(entries.int(0), at: 1)
                item = try bases.item(entries.blob(12), invalid: try Self.invalid(attachments))
            }
            if isChanged { facts.kind = item == nil ? .tombstone : .live }
            try body(.entry(ExportedEntry(facts: facts, leaf: leaf, item: item)))
        }
        let staged = try prepare(.exportedStaged)
        staged.bind(blob: Span(), at: 1)
        // What a run left that no head covers goes with the next one, and is no content; what a
        // file brought is the file's.
        staged.bind(try importedHead() == nil ? 0 : 1, at: 2)
        while try staged.step() {
            let (facts, leaf) = try staged.exportedFacts(from: 0)
            let sealed = staged.isNull(5) ? nil : staged.blob(5)
            try body(.staged(ExportedStaged(facts: facts, leaf: leaf, sealed: sealed)))
        }
        return changed
    }

    /// Which of an item's addresses were found not to unwrap.
    private static func invalid(_ query: Statement) throws -> ExportedBase.Invalid {
        defer { query.reset() }
        var found = ExportedBase.Invalid()
        while try query.step() {
            guard let id = AttachmentID(bytes: query.blob(0).span) else { continue }
            if AddressState(rawValue: query.int(5)) == .invalid { found.originals.insert(id) }
            if ThumbnailState(rawValue: query.int(7)) == .addressInvalid {
                found.thumbnails.insert(id)
            }
        }
        return found
    }

    private static func exported(_ query: Statement) throws -> [ExportedEntry.Attachment] {
        defer { query.reset() }
        var found: [ExportedEntry.Attachment] = []
        while try query.step() {
            guard let id = AttachmentID(bytes: query.blob(0).span),
                let address = AddressState(rawValue: query.int(5))
            else { throw CatalogDamage(what: "an attachment") }
            let ref = query.withBlob(6) { CloudBlobRef(packed: $0) }
            guard address.hasRef == (ref != nil) else { throw CatalogDamage(what: "an address") }
            var attachment = ExportedEntry.Attachment(
                id: id, position: Int(query.int(1)), name: try query.text(2),
                type: try query.text(3), size: query.int(4), address: address, ref: ref)
            if let type = try query.textOrNil(8) {
                attachment.thumb = exportedThumb(type, query)
            }
            found.append(attachment)
        }
        return found
    }

    private static func exportedThumb(_ type: String, _ query: Statement) -> ExportedEntry.Thumb {
        let ref = query.withBlob(10) { CloudBlobRef(packed: $0) }
        let state = ThumbnailState(rawValue: query.int(7))
        // Where there is an address, all else about it is this device's business.
        let address: AddressState =
            ref != nil
            ? .complete
            : state == .addressAbsent
                ? .absent : state == .addressInvalid ? .invalid : .takenAway
        return ExportedEntry.Thumb(type: type, size: query.int(9), address: address, ref: ref)
    }
}

extension Statement {
    func textOrNil(_ column: Int32) throws -> String? {
        isNull(column) ? nil : try text(column)
    }

    /// Id, version, epoch, kind and leaf, which stand beside each other.
    fileprivate func exportedFacts(from first: Int32) throws -> (EntryFacts, SetDigest) {
        guard let id = EntryID(bytes: blob(first).span),
            let leaf = SetDigest(bytes: blob(first + 4).span),
            let kind = EntryFacts.Kind(rawValue: UInt8(truncatingIfNeeded: int(first + 3)))
        else { throw CatalogDamage(what: "an entry") }
        let facts = EntryFacts(
            id: id, version: UInt64(bitPattern: int(first + 1)), kind: kind,
            epoch: UInt32(truncatingIfNeeded: int(first + 2)))
        return (facts, leaf)
    }
}
