internal import SyncPlatform

/// Why a line of an export is not taken; says what, and never a value.
struct ExportProblem: Error, Sendable, Equatable {
    let detail: String
    /// The file holds what only a newer program knows.
    var isNewer = false
}

/// Reads lines of an export, and takes nothing on trust: sizes, ids, texts, numbers, limits.
///
/// It keeps its memory; one line at a time. A member that is not known is refused, or left out and
/// counted if the file says that it is of a higher minor version.
final class ExportDecoder {
    private let parser = JSONParser(maxBytes: ExportLine.maximumCount, maxDepth: 8)
    private let payloads = EntryDecoder()
    /// Whether what is not known is left out.
    private var mayLeaveOut = false
    /// Members and lines that were left out.
    private(set) var leftOut = 0

    /// Reads a line, which comes without its newline; nil if it is one that is left out.
    func decode(_ line: Span<UInt8>) throws(ExportProblem) -> ExportLine? {
        let root: JSONValue
        do {
            root = try parser.parse(line)
        } catch {
            throw ExportProblem(detail: Self.words(error.code))
        }
        var members = parser.members(root)
        guard parser.kind(root) == .object, let (kind, value) = parser.next(&members) else {
            throw ExportProblem(detail: "it is no object")
        }
        if parser.string(kind, is: "entry") { return .entry(try entry(root)) }
        if parser.string(kind, is: "staged") { return .staged(try staged(root)) }
        if parser.string(kind, is: "end") { return .end(try end(root)) }
        if parser.string(kind, is: "format") {
            guard parser.string(value, is: "lazysync-export") else {
                throw ExportProblem(detail: "it is no export of this program")
            }
            return .header(try header(root))
        }
        guard mayLeaveOut else { throw ExportProblem(detail: "nobody knows such a line") }
        leftOut += 1
        return nil
    }

    private static func words(_ code: JSONError.Code) -> String {
        switch code {
        case .syntax: "it is not JSON"
        case .tooDeep: "it is nested too deeply"
        case .tooLarge: "it is too long"
        case .duplicateKey: "it has a key twice"
        case .outOfMemory: "there is no memory for it"
        }
    }

    // MARK: Lines

    private static let headerKeys: [StaticString] = [
        "format", "version", "minor", "account", "name", "server", "head",
    ]

    private func header(_ root: JSONValue) throws(ExportProblem) -> ExportHeader {
        // Before anything else: a newer version may say all else in another way.
        guard let version = parser.member("version", of: root).flatMap({ parser.int64($0) }),
            version >= 1
        else { throw Self.wrong("version") }
        guard version == ExportLine.version else {
            throw ExportProblem(
                detail: "it is of version \(version), this program knows \(ExportLine.version)",
                isNewer: true)
        }
        guard let minor = parser.member("minor", of: root).flatMap({ parser.int64($0) }),
            minor >= 0
        else { throw Self.wrong("minor") }
        mayLeaveOut = minor > ExportLine.minor
        let fields = try fields(root, Self.headerKeys)
        let account: AccountID = try identifier(fields[3], "account")
        let name = try text(fields[4], "name")
        guard ExportHeader.nameCounts.contains(name.utf8.count) else { throw Self.wrong("name") }
        let server = try text(fields[5], "server")
        guard server.utf8.count <= 4_096, let url = try? HTTPURL(server), url.string == server,
            url.query == nil, server.hasSuffix("/")
        else { throw Self.wrong("server") }
        var head: Head?
        if let value = fields[6] {
            let bytes = try binary(value, "head")
            head = try? Head(parsing: bytes.span)
            guard head?.account == account else { throw Self.wrong("head") }
        }
        return ExportHeader(account: account, name: name, server: server, head: head, minor: minor)
    }

    private static let entryKeys: [StaticString] = [
        "entry", "version", "epoch", "kind", "leaf", "title", "text", "created", "modified",
        "payload", "attachments",
    ]

    private func entry(_ root: JSONValue) throws(ExportProblem) -> ExportedEntry {
        let fields = try fields(root, Self.entryKeys)
        let (facts, leaf) = try facts(fields, "entry")
        guard facts.kind == .live else {
            guard fields[5...].allSatisfy({ $0 == nil }) else { throw Self.wrong("kind") }
            return ExportedEntry(facts: facts, leaf: leaf)
        }
        var item = ExportedEntry.Item(
            title: try text(fields[5], "title"), text: try optionalText(fields[6], "text"),
            created: try optionalText(fields[7], "created"),
            modified: try optionalText(fields[8], "modified"))
        if let value = fields[9] { item.payload = try payload(value, of: item) }
        try attachments(fields[10], of: &item)
        guard Self.count(item) <= EntryPayload.maximumCount else {
            throw ExportProblem(detail: "the item is larger than an item can be")
        }
        return ExportedEntry(facts: facts, leaf: leaf, item: item)
    }

    /// The bytes of an item's texts, none of which a payload has room to leave out.
    private static func count(_ item: ExportedEntry.Item) -> Int {
        let texts = [item.title, item.text ?? "", item.created ?? "", item.modified ?? ""]
        return item.attachments.reduce(texts.reduce(0) { $0 + $1.utf8.count }) { count, one in
            count + one.name.utf8.count + one.type.utf8.count
                + (one.thumb?.type.utf8.count ?? 0)
        }
    }

    private static let stagedKeys: [StaticString] = [
        "staged", "version", "epoch", "kind", "leaf", "sealed",
    ]

    private func staged(_ root: JSONValue) throws(ExportProblem) -> ExportedStaged {
        let fields = try fields(root, Self.stagedKeys)
        let (facts, leaf) = try facts(fields, "staged")
        guard let value = fields[5] else {
            guard facts.kind == .tombstone else { throw Self.wrong("sealed") }
            return ExportedStaged(facts: facts, leaf: leaf)
        }
        return ExportedStaged(facts: facts, leaf: leaf, sealed: try binary(value, "sealed"))
    }

    private static let endKeys: [StaticString] = ["end", "attachments", "staged", "digest"]

    private func end(_ root: JSONValue) throws(ExportProblem) -> ExportEnd {
        let fields = try fields(root, Self.endKeys)
        return ExportEnd(
            entries: Int(try number(fields[0], "end", in: 0...(1 << 40))),
            attachments: Int(try number(fields[1], "attachments", in: 0...(1 << 50))),
            staged: Int(try number(fields[2], "staged", in: 0...(1 << 40))),
            digest: try binary(fields[3], "digest", count: 32))
    }

    private func facts(
        _ fields: [JSONValue?], _ key: StaticString
    ) throws(ExportProblem) -> (EntryFacts, SetDigest) {
        guard let version = fields[1].flatMap({ parser.uint64($0) }), version >= 1 else {
            throw Self.wrong("version")
        }
        let epoch = try number(fields[2], "epoch", in: 1...Int64(UInt32.max))
        let kind: EntryFacts.Kind
        switch fields[3] {
        case let value? where parser.string(value, is: "item"): kind = .live
        case let value? where parser.string(value, is: "tombstone"): kind = .tombstone
        default: throw Self.wrong("kind")
        }
        let facts = EntryFacts(
            id: try identifier(fields[0], key), version: version, kind: kind, epoch: UInt32(epoch))
        let leaf = try binary(fields[4], "leaf", count: 32)
        return (facts, SetDigest(bytes: leaf.span) ?? SetDigest())
    }

    /// A payload as it came, which must say what the values say.
    private func payload(
        _ value: JSONValue, of item: ExportedEntry.Item
    ) throws(ExportProblem) -> [UInt8] {
        let payload = try binary(value, "payload")
        var batch = PayloadBatch()
        guard let decoded = try? payloads.decode(payload.span, into: &batch) else {
            throw Self.wrong("payload")
        }
        // Bytes are compared: two spellings of one letter are not the same text here.
        func isSame(_ range: Range<Int>?, _ text: String?) -> Bool {
            guard let range, let text else { return range == nil && text == nil }
            return batch.bytes[range].elementsEqual(text.utf8)
        }
        guard isSame(decoded.title, item.title), isSame(decoded.text, item.text),
            isSame(decoded.created, item.created), isSame(decoded.modified, item.modified)
        else { throw Self.wrong("payload") }
        return payload
    }

    // MARK: Attachments

    private static let attachmentKeys: [StaticString] = [
        "id", "position", "name", "type", "size", "address", "ref", "thumb",
    ]
    private static let thumbKeys: [StaticString] = ["type", "size", "address", "ref"]
    private static let sizes: ClosedRange<Int64> = 0...Int64(BlobGeometry.maximumLength)

    private func attachments(
        _ value: JSONValue?, of item: inout ExportedEntry.Item
    ) throws(ExportProblem) {
        guard let value, parser.kind(value) == .array else { throw Self.wrong("attachments") }
        var seen: Set<AttachmentID> = []
        var last = -1
        var elements = parser.elements(value)
        while let element = parser.next(&elements) {
            let attachment = try attachment(element)
            guard attachment.position > last else { throw Self.wrong("position") }
            last = attachment.position
            guard seen.insert(attachment.id).inserted else {
                throw ExportProblem(detail: "an attachment's id stands there twice")
            }
            item.attachments.append(attachment)
        }
    }

    private func attachment(
        _ element: JSONValue
    ) throws(ExportProblem) -> ExportedEntry.Attachment {
        let fields = try fields(element, Self.attachmentKeys)
        let name = try text(fields[2], "name")
        guard EntryPayload.nameCounts.contains(name.utf8.count) else { throw Self.wrong("name") }
        let (address, ref) = try address(fields[5], fields[6])
        let positions = 0...Int64(EntryPayload.maximumAttachments - 1)
        var attachment = ExportedEntry.Attachment(
            id: try identifier(fields[0], "id"),
            position: Int(try number(fields[1], "position", in: positions)), name: name,
            type: try text(fields[3], "type"), size: try number(fields[4], "size", in: Self.sizes),
            address: address, ref: ref)
        guard let value = fields[7] else { return attachment }
        guard parser.kind(value) == .object else { throw Self.wrong("thumb") }
        let thumb = try self.fields(value, Self.thumbKeys)
        let (thumbAddress, thumbRef) = try self.address(thumb[2], thumb[3])
        guard thumbAddress != .kept else { throw Self.wrong("address") }
        attachment.thumb = ExportedEntry.Thumb(
            type: try text(thumb[0], "type"), size: try number(thumb[1], "size", in: Self.sizes),
            address: thumbAddress, ref: thumbRef)
        return attachment
    }

    private func address(
        _ word: JSONValue?, _ ref: JSONValue?
    ) throws(ExportProblem) -> (AddressState, CloudBlobRef?) {
        guard let word,
            let state = parser.withString(word, { AddressState(word: $0) }).flatMap({ $0 }),
            state.hasRef == (ref != nil)
        else { throw Self.wrong("address") }
        guard let ref else { return (state, nil) }
        guard let address = parser.withString(ref, { CloudBlobRef(text: $0) }).flatMap({ $0 })
        else { throw Self.wrong("ref") }
        return (state, address)
    }

    // MARK: Values

    /// The values of the known members, by the order of `keys`.
    private func fields(
        _ object: JSONValue, _ keys: [StaticString]
    ) throws(ExportProblem) -> [JSONValue?] {
        guard parser.kind(object) == .object else { throw ExportProblem(detail: "no object") }
        var found = [JSONValue?](repeating: nil, count: keys.count)
        var members = parser.members(object)
        while let (key, value) = parser.next(&members) {
            if let index = keys.firstIndex(where: { parser.string(key, is: $0) }) {
                found[index] = value
            } else if mayLeaveOut {
                leftOut += 1
            } else {
                throw ExportProblem(detail: "it has a member that nobody knows")
            }
        }
        return found
    }

    private func text(_ value: JSONValue?, _ key: StaticString) throws(ExportProblem) -> String {
        guard let text = value.flatMap({ parser.string($0) }) else { throw Self.wrong(key) }
        return text
    }

    private func optionalText(
        _ value: JSONValue?, _ key: StaticString
    ) throws(ExportProblem) -> String? {
        value == nil ? nil : try text(value, key)
    }

    private func number(
        _ value: JSONValue?, _ key: StaticString, in range: ClosedRange<Int64>
    ) throws(ExportProblem) -> Int64 {
        guard let number = value.flatMap({ parser.int64($0) }), range.contains(number) else {
            throw Self.wrong(key)
        }
        return number
    }

    private func binary(
        _ value: JSONValue?, _ key: StaticString, count: Int? = nil
    ) throws(ExportProblem) -> [UInt8] {
        guard let value,
            let bytes = parser.withString(value, { Base64URL.decode($0) }).flatMap({ $0 }),
            count == nil || bytes.count == count
        else { throw Self.wrong(key) }
        return bytes
    }

    private func identifier<Kind>(
        _ value: JSONValue?, _ key: StaticString
    ) throws(ExportProblem) -> Identifier<Kind> {
        guard let value,
            let id = parser.withString(value, { Identifier<Kind>(hex: $0) }).flatMap({ $0 })
        else { throw Self.wrong(key) }
        return id
    }

    private static func wrong(_ key: StaticString) -> ExportProblem {
        ExportProblem(detail: "\(key) is missing or not what it must be")
    }
}
