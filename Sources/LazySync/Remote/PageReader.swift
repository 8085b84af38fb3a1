internal import SyncPlatform

/// The envelope of a manifest page: everything about its entries but what is sealed in them.
struct PageEnvelope: Sendable {
    /// The page token after this one; nil at the end.
    let next: String?
    let head: Head?
    let count: Int
}

/// Reads manifest pages.
///
/// Keeps its memory, so use one for many; but not for two threads at once.
/// A page that breaks the protocol anywhere is refused as a whole, before any of it is used.
final class PageReader {
    private let parser = JSONParser(maxBytes: 64 << 20)

    /// Reads a page and lends each entry's facts and sealed bytes to `body`, in their order.
    ///
    /// - Throws: `RemoteFailure` for what breaks the protocol, else what `body` throws.
    func read(
        _ page: [UInt8], envelope check: (PageEnvelope) throws -> Void,
        entry body: (EntryFacts, _ seq: UInt64, Span<UInt8>) throws -> Void
    ) throws -> PageEnvelope {
        let root = try parse(page)
        guard let entries = parser.member("entries", of: root), parser.kind(entries) == .array
        else { throw Self.malformed("entries") }
        let envelope = PageEnvelope(
            next: try next(of: root), head: try head(of: root), count: count(entries))
        try check(envelope)
        var sealed: [UInt8] = []
        var elements = parser.elements(entries)
        while let element = parser.next(&elements) {
            let (facts, seq) = try facts(element, sealed: &sealed)
            try body(facts, seq, sealed.span)
        }
        return envelope
    }

    private func parse(_ page: [UInt8]) throws -> JSONValue {
        do throws(JSONError) {
            return try parser.parse(page.span)
        } catch {
            throw Self.malformed("JSON (\(error.code))")
        }
    }

    private func next(of root: JSONValue) throws -> String? {
        guard let value = parser.member("next", of: root), !parser.isNull(value) else { return nil }
        guard let next = parser.string(value), !next.isEmpty, next.utf8.count <= 4_096 else {
            throw Self.malformed("next")
        }
        return next
    }

    private func head(of root: JSONValue) throws -> Head? {
        guard let value = parser.member("head", of: root), !parser.isNull(value) else { return nil }
        var bytes: [UInt8] = []
        let isText = parser.withString(value) { Base64URL.decode($0, appendingTo: &bytes) }
        guard isText == true, let head = try? Head(parsing: bytes.span) else {
            throw Self.malformed("head")
        }
        return head
    }

    private func count(_ array: JSONValue) -> Int {
        var count = 0
        var elements = parser.elements(array)
        while parser.next(&elements) != nil { count += 1 }
        return count
    }

    private func facts(
        _ entry: JSONValue, sealed: inout [UInt8]
    ) throws -> (EntryFacts, seq: UInt64) {
        var id: EntryID?
        var version: UInt64?
        var kind: EntryFacts.Kind?
        var epoch: UInt32?
        var seq: UInt64?
        var hasSealed = false
        sealed.removeAll(keepingCapacity: true)
        var members = parser.members(entry)
        while let (key, value) = parser.next(&members) {
            if parser.string(key, is: "id") {
                id = parser.withString(value) { EntryID(hex: $0) } ?? nil
            } else if parser.string(key, is: "version") {
                version = parser.string(value).flatMap(JSONObject.decimal)
            } else if parser.string(key, is: "kind") {
                kind = parser.uint64(value).flatMap { UInt8(exactly: $0) }.flatMap(
                    EntryFacts.Kind.init)
            } else if parser.string(key, is: "epoch") {
                epoch = parser.uint64(value).flatMap { UInt32(exactly: $0) }
            } else if parser.string(key, is: "seq") {
                seq = parser.string(value).flatMap(JSONObject.decimal)
            } else if parser.string(key, is: "sealed") {
                hasSealed =
                    parser.withString(value) { Base64URL.decode($0, appendingTo: &sealed) } ?? false
            }
        }
        guard let id, let version, version > 0, let kind, let epoch, epoch > 0, let seq, hasSealed
        else { throw Self.malformed("an entry") }
        return (EntryFacts(id: id, version: version, kind: kind, epoch: epoch), seq)
    }

    private static func malformed(_ what: String) -> RemoteFailure {
        RemoteFailure(.serverError, "the manifest page is malformed: \(what)", code: "protocol")
    }
}
