import Testing

@testable import LazySync
@testable import SyncPlatform

extension HTTPHead {
    /// A head as a server might send it.
    static func of(
        _ status: Int, _ fields: KeyValuePairs<String, String> = [:],
        version: HTTPVersion = .http1_1, redirects: Int = 0
    ) -> HTTPHead {
        var headers = HTTPHeaders()
        for (name, value) in fields { headers.append(name: name.utf8, value: value.utf8) }
        let length = headers["content-length"].flatMap { UInt64($0) }
        guard let url = try? HTTPURL("https://host/v1/blobs/name") else { preconditionFailure() }
        return HTTPHead(
            status: status, httpVersion: version, headers: headers,
            contentLength: headers["transfer-encoding"] == nil ? length : nil, url: url,
            redirects: redirects)
    }
}

/// What the head of an answer to a blob request means, before a byte of the body is looked at.
@Suite struct BlobAnswerTests {
    private let total: UInt64 = 100_000
    private let asked: ClosedRange<UInt64> = 40...65_591

    private func judge(
        _ head: HTTPHead, asked: ClosedRange<UInt64>?
    ) throws(BlobAnswer.Refusal) -> BlobAnswer {
        try BlobAnswer.judge(head, asked: asked, total: total)
    }

    @Test(
        arguments: [
            ("bytes 0-9/100", 0, 9, 100), ("bytes 0-0/1", 0, 0, 1), ("Bytes 5-9/*", 5, 9, nil),
            (
                "bytes 18446744073709551614-18446744073709551614/18446744073709551615", .max - 1,
                .max - 1, .max
            ),
        ] as [(String, UInt64, UInt64, UInt64?)])
    func `a Content-Range is read`(text: String, first: UInt64, last: UInt64, total: UInt64?) throws
    {
        let range = try #require(ContentRange(text))
        #expect(range.first == first && range.last == last && range.total == total)
    }

    @Test(arguments: [
        "", "bytes", "bytes ", "bytes 0-9", "bytes 0-9/", "bytes */100", "bytes 0-/100",
        "bytes -9/100", "bytes 9-0/100", "bytes 0-9/9", "bytes 0-9/5", "bytes +0-9/100",
        "bytes 0-9/100/100", "bytes 0-9-9/100", "bytes 0x0-9/100", "bytes 0 - 9/100",
        "items 0-9/100", "bytes=0-9/100", "bytes 0-18446744073709551616/*", "bytes 0-9/ 100",
        "bytes  0-9/100", "bytes 0-9/-100", "bytes ٠-٩/١٠٠",
    ])
    func `a Content-Range that is not one satisfied range is none`(text: String) {
        #expect(ContentRange(text) == nil)
    }

    @Test func `a whole answer begins at the first byte, whatever was asked`() throws {
        for asked in [nil, asked] {
            let answer = try judge(.of(200, ["Content-Length": "100000"]), asked: asked)
            #expect(answer.isWhole && answer.start == 0 && answer.statedEnd == 100_000)
            #expect(answer.endIsCertain && !answer.isPage)
        }
    }

    @Test func `only a length, chunks or a frame make an end certain`() throws {
        #expect(try !judge(.of(200), asked: nil).endIsCertain)
        #expect(try !judge(.of(200, version: .http1_0), asked: nil).endIsCertain)
        #expect(try judge(.of(200, ["Content-Length": "7"]), asked: nil).endIsCertain)
        let chunked = try judge(
            .of(200, ["Transfer-Encoding": "chunked", "Content-Length": "7"]), asked: nil)
        #expect(chunked.endIsCertain && chunked.statedEnd == nil)
        #expect(try judge(.of(200, version: .http2), asked: nil).endIsCertain)
        let part = try judge(.of(206, ["Content-Range": "bytes 40-65591/100000"]), asked: asked)
        #expect(!part.endIsCertain)
    }

    @Test(arguments: ["100000", "*"])
    func `a part that was asked for is taken`(total: String) throws {
        let head = HTTPHead.of(
            206, ["Content-Range": "bytes 40-65591/\(total)", "Content-Length": "65552"])
        let answer = try judge(head, asked: asked)
        #expect(answer.start == 40 && answer.statedEnd == 65_592)
        #expect(!answer.isWhole && answer.endIsCertain)
    }

    @Test func `less than was asked for is a part too, and one that says it is shorter`() throws {
        let less = try judge(.of(206, ["Content-Range": "bytes 40-99/100000"]), asked: asked)
        #expect(less.start == 40 && less.statedEnd == 100)
        let short = HTTPHead.of(
            206, ["Content-Range": "bytes 40-65591/100000", "Content-Length": "65551"])
        #expect(try judge(short, asked: asked).statedEnd == 65_592)
    }

    /// Heads that must not be followed by a byte: case B4, and what is of its kind.
    static let violations: [(String, HTTPHead, ClosedRange<UInt64>?)] = {
        let range = 40...65_591 as ClosedRange<UInt64>
        let told = "bytes 40-65591/100000"
        return [
            ("no Content-Range", .of(206), range),
            ("two of them", .of(206, ["Content-Range": told, "content-range": told]), range),
            ("an unreadable one", .of(206, ["Content-Range": "bytes */100000"]), range),
            ("an earlier part", .of(206, ["Content-Range": "bytes 39-65590/100000"]), range),
            ("a later part", .of(206, ["Content-Range": "bytes 41-65591/100000"]), range),
            ("a longer part", .of(206, ["Content-Range": "bytes 40-65592/100000"]), range),
            (
                "a Content-Length beyond it",
                .of(206, ["Content-Range": told, "Content-Length": "65553"]), range
            ),
            (
                "multipart",
                .of(206, ["Content-Type": "Multipart/byteranges; boundary=x"]), range
            ),
            (
                "multipart with a range",
                .of(206, ["Content-Type": "multipart/byteranges", "Content-Range": told]), range
            ),
            ("a part to no range", .of(206, ["Content-Range": "bytes 0-99999/100000"]), nil),
            ("gzip, whole", .of(200, ["Content-Encoding": "gzip"]), nil),
            (
                "gzip, a part", .of(206, ["Content-Range": told, "Content-Encoding": "gzip"]), range
            ),
            (
                "gzip behind identity",
                .of(200, ["Content-Encoding": "identity", "content-encoding": "br"]), nil
            ),
            ("416 to no range", .of(416), nil),
            ("204", .of(204), nil), ("203", .of(203), nil), ("304", .of(304), range),
        ]
    }()

    @Test(arguments: violations.indices)
    func `a head that breaks the protocol is refused`(index: Int) {
        let (name, head, asked) = Self.violations[index]
        do throws(BlobAnswer.Refusal) {
            _ = try judge(head, asked: asked)
            Issue.record("taken: \(name)")
        } catch {
            guard case .violation = error else {
                Issue.record("\(name): \(error)")
                return
            }
        }
    }

    @Test func `another total, and a range beyond the end, is another length`() {
        for head in [
            HTTPHead.of(206, ["Content-Range": "bytes 40-65591/99999"]),
            .of(206, ["Content-Range": "bytes 40-65591/100001"]),
            .of(416, ["Content-Range": "bytes */7"]), .of(416),
        ] {
            #expect(throws: BlobAnswer.Refusal.anotherTotal) { try judge(head, asked: asked) }
        }
    }

    @Test func `an encoding that is none, and a page, are seen`() throws {
        #expect(try judge(.of(200, ["Content-Encoding": "Identity"]), asked: nil).isWhole)
        #expect(
            try judge(.of(200, ["Content-Type": "text/HTML; charset=utf-8"]), asked: nil).isPage)
    }
}
