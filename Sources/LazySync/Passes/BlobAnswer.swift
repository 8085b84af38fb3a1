internal import SyncPlatform

/// What the head of an answer to a blob request says about the body that follows.
///
/// Decided before a byte of the body is looked at. A server that ignores or shifts a range, adds an
/// encoding or sends another length is found out here; whether the bytes themselves are right, only
/// the chunks' tags can say.
struct BlobAnswer: Sendable, Hashable {
    /// Where in the sealed blob the body begins.
    let start: UInt64
    /// Where in the sealed blob the body ends as the answer states it; nil if it does not.
    let statedEnd: UInt64?
    /// Whether the end of the body will be a fact, instead of a connection that closed.
    let endIsCertain: Bool
    /// Whether it is the whole blob instead of a part of it.
    let isWhole: Bool
    /// Whether it says of itself that it is a page for people.
    let isPage: Bool

    /// A head that must not be followed by a byte.
    enum Refusal: Error, Sendable, Hashable {
        /// The answer breaks the protocol.
        case violation(String)
        /// The record has another length than the manifest says.
        case anotherTotal
    }

    /// Judges the head of a 200, 206 or 416.
    ///
    /// - Throws: `Refusal`; other statuses are not for here.
    static func judge(
        _ head: HTTPHead, asked: ClosedRange<UInt64>?, total: UInt64
    ) throws(Refusal) -> BlobAnswer {
        let encodings = head.headers.values("content-encoding")
        guard encodings.allSatisfy({ $0.lowercased() == "identity" }) else {
            throw .violation("a Content-Encoding on a blob")
        }
        switch head.status {
        case 200:
            return BlobAnswer(
                start: 0, statedEnd: head.contentLength, endIsCertain: isEndCertain(head),
                isWhole: true, isPage: type(head).hasPrefix("text/html"))
        case 206:
            return try judge(part: head, asked: asked, total: total)
        case 416:
            guard asked != nil else { throw .violation("no range was asked for") }
            throw .anotherTotal
        default:
            throw .violation("status \(head.status)")
        }
    }

    private static func judge(
        part head: HTTPHead, asked: ClosedRange<UInt64>?, total: UInt64
    ) throws(Refusal) -> BlobAnswer {
        guard let asked else { throw .violation("a part that was not asked for") }
        if type(head).hasPrefix("multipart/") {
            throw .violation("a multipart answer to one range")
        }
        let texts = head.headers.values("content-range")
        guard texts.count == 1, let text = texts.first, let range = ContentRange(text) else {
            throw .violation("a part without a Content-Range that can be read")
        }
        if let stated = range.total, stated != total { throw .anotherTotal }
        // A server may answer with less than it was asked for, but not with something else.
        guard range.first == asked.lowerBound, range.last <= asked.upperBound else {
            throw .violation("another part than was asked for")
        }
        if let length = head.contentLength, length > range.last - range.first + 1 {
            throw .violation("a Content-Length beyond the part")
        }
        return BlobAnswer(
            start: range.first, statedEnd: range.last + 1, endIsCertain: isEndCertain(head),
            isWhole: false, isPage: false)
    }

    private static func type(_ head: HTTPHead) -> String {
        head["content-type"]?.lowercased() ?? ""
    }

    /// HTTP/2 and chunked bodies have an end of their own; else only a length makes it certain.
    private static func isEndCertain(_ head: HTTPHead) -> Bool {
        head.contentLength != nil || head.httpVersion >= .http2
            || head["transfer-encoding"]?.lowercased().contains("chunked") == true
    }
}

/// A `Content-Range: bytes 0-9/100`.
struct ContentRange: Sendable, Hashable {
    let first: UInt64
    let last: UInt64
    /// nil for `*`.
    let total: UInt64?

    /// Reads a header's value; nil for anything but one satisfied byte range.
    init?(_ text: String) {
        guard text.lowercased().hasPrefix("bytes ") else { return nil }
        let parts = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]),
            first <= last
        else { return nil }
        let total = Self.number(parts[1])
        guard parts[1] == "*" || (total ?? 0) > last else { return nil }
        (self.first, self.last, self.total) = (first, last, total)
    }

    /// Digits only: `UInt64` alone would take a sign.
    private static func number(_ text: Substring) -> UInt64? {
        text.utf8.allSatisfy { (48...57).contains($0) } ? UInt64(text) : nil
    }
}
