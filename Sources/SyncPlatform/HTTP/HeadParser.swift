/// Reads the lines of an answer's head, one at a time, and is strict about them.
///
/// libcurl takes much that is not HTTP; what it lets through decides here.
struct HeadParser {
    /// The most bytes of all heads of one answer, interim ones included.
    static let byteLimit = 64 << 10
    static let fieldLimit = 256

    enum Step {
        case more
        /// A head of the 1xx kind ended; the next one follows.
        case interim
        /// The head ended.
        case done
    }

    struct Violation: Error {
        let detail: String
    }

    private(set) var status = 0
    private(set) var version = HTTPVersion.http1_1
    private(set) var headers = HTTPHeaders()
    private var byteCount = 0
    private var isOpen = false

    mutating func read(_ raw: UnsafeBufferPointer<UInt8>) throws(Violation) -> Step {
        try skip(raw)
        var line = raw[...]
        if line.last == 0x0a { line = line.dropLast() }
        if line.last == 0x0d { line = line.dropLast() }
        if !isOpen {
            try readStatus(line)
            isOpen = true
            return .more
        }
        if !line.isEmpty {
            try readField(line)
            return .more
        }
        isOpen = false
        guard (100...199).contains(status) else { return .done }
        guard status != 101 else {
            throw Violation(detail: "a switch of protocols nobody asked for")
        }
        headers = HTTPHeaders()
        return .interim
    }

    /// Counts a line without reading it, as those of a trailer.
    mutating func skip(_ line: UnsafeBufferPointer<UInt8>) throws(Violation) {
        byteCount += line.count
        guard byteCount <= Self.byteLimit else {
            throw Violation(detail: "more than 64 KiB of head")
        }
    }

    /// The length of the body as announced.
    ///
    /// Two fields that differ, or one that is no plain number, are how bodies get mistaken for one
    /// another; a Transfer-Encoding overrules them all.
    func contentLength() throws(Violation) -> UInt64? {
        var length: UInt64?
        for text in headers.values("content-length") {
            guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let value = UInt64(text), length == nil || length == value
            else { throw Violation(detail: "no clear Content-Length") }
            length = value
        }
        return headers["transfer-encoding"] == nil ? length : nil
    }

    /// "HTTP/1.1 200 OK", or "HTTP/2 200 " as libcurl writes for the binary protocols.
    private mutating func readStatus(_ line: Slice<UnsafeBufferPointer<UInt8>>) throws(Violation) {
        let words = line.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count >= 2, words[1].count == 3,
            let status = Int(String(decoding: words[1], as: UTF8.self)),
            (100...599).contains(status)
        else { throw Violation(detail: "a bad status line") }
        self.status = status
        switch String(decoding: words[0], as: UTF8.self) {
        case "HTTP/1.0": version = .http1_0
        case "HTTP/1.1": version = .http1_1
        case "HTTP/2": version = .http2
        case "HTTP/3": version = .http3
        default: throw Violation(detail: "a bad status line")
        }
    }

    private mutating func readField(_ line: Slice<UnsafeBufferPointer<UInt8>>) throws(Violation) {
        guard headers.count < Self.fieldLimit else {
            throw Violation(detail: "more than 256 fields")
        }
        guard let colon = line.firstIndex(of: 0x3a), colon > line.startIndex,
            line[..<colon].allSatisfy(HTTPHeaders.isToken)
        else { throw Violation(detail: "a header without a proper name") }
        var value = line[(colon + 1)...].drop { $0 == 0x20 || $0 == 0x09 }
        while value.last == 0x20 || value.last == 0x09 { value = value.dropLast() }
        guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }) else {
            throw Violation(detail: "a control character in a header")
        }
        headers.append(name: line[..<colon], value: value)
    }
}
