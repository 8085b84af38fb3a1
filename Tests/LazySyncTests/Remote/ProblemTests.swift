import Testing

@testable import LazySync
@testable import SyncPlatform

/// What an answer means that is not the one that was asked for: the protocol's table of errors.
@Suite struct ProblemTests {
    /// How an error's body comes.
    enum Body: Sendable {
        case problem(String)
        case html, empty
        /// The same document under a type that is none.
        case json(String)

        var type: String? {
            switch self {
            case .problem: "application/problem+json"
            case .html: "text/html"
            case .json: "application/json"
            case .empty: nil
            }
        }

        var bytes: [UInt8] {
            switch self {
            case .problem(let code), .json(let code):
                Array(
                    #"{"type":"about:blank","title":"x","status":1,"code":"\#(code)","detail":"d"}"#
                        .utf8)
            case .html: Array("<!DOCTYPE html><html><body>\"code\":\"session-ended\"".utf8)
            case .empty: []
            }
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let status: Int
        let body: Body
        var retryAfter: String?
        var hadToken = true
        var redirects = 0
        let reason: UnavailableReason
        var isFinal = false
        var wait: Int64?

        init(
            _ status: Int, _ body: Body, _ reason: UnavailableReason, final isFinal: Bool = false,
            retryAfter: String? = nil, wait: Int64? = nil, hadToken: Bool = true,
            redirects: Int = 0
        ) {
            (self.status, self.body, self.reason, self.isFinal) = (status, body, reason, isFinal)
            (self.retryAfter, self.wait) = (retryAfter, wait)
            (self.hadToken, self.redirects) = (hadToken, redirects)
        }

        var testDescription: String { "\(status) \(body) \(retryAfter ?? "")" }
    }

    static let listed: [Row] = [
        Row(400, .problem("bad-request"), .serverError, final: true),
        Row(401, .problem("token-expired"), .signedOut, final: true),
        Row(401, .problem("session-ended"), .signedOut, final: true),
        Row(401, .problem("bad-credentials"), .serverError, final: true),
        Row(402, .problem("not-entitled"), .notEntitled, final: true),
        Row(403, .problem("not-entitled"), .notEntitled, final: true),
        Row(404, .problem("no-such-blob"), .notFound, final: true),
        Row(410, .problem("blob-gone"), .notFound, final: true),
        Row(405, .problem("method-not-allowed"), .serverError, final: true),
        Row(411, .problem("length-required"), .serverError, final: true),
        Row(413, .problem("too-large"), .serverError, final: true),
        Row(422, .problem("bad-push"), .serverError, final: true),
        Row(507, .problem("store-full"), .storeFull, final: true),
        Row(413, .html, .serverError), Row(422, .html, .serverError),
        Row(507, .html, .serverError), Row(507, .problem("too-large"), .serverError),
        Row(413, .problem("store-full"), .serverError, final: true),
        Row(408, .problem("timeout"), .serverError), Row(500, .problem("oops"), .serverError),
        Row(502, .empty, .serverError), Row(504, .html, .serverError),
        Row(501, .json("x"), .serverError), Row(301, .html, .serverError),
        Row(304, .empty, .serverError), Row(204, .empty, .serverError),
        // A code that belongs to another status, or to no status that is listed.
        Row(403, .problem("session-ended"), .serverError),
        Row(401, .problem("no-such-blob"), .serverError),
        Row(404, .problem("not-entitled"), .serverError),
        Row(404, .problem("name-taken"), .serverError),
        Row(410, .problem("cursor-expired"), .serverError),
    ]

    /// Case B17: what a proxy says in its own name.
    static let bare: [Row] = [401, 402, 403, 404, 410, 400, 405].flatMap { status in
        let codes = [
            "session-ended", "token-expired", "not-entitled", "no-such-blob", "blob-gone",
        ]
        return [Row(status, .html, .serverError), Row(status, .empty, .serverError)]
            + codes.map { Row(status, .json($0), .serverError) }
    }

    static let throttled: [Row] = [
        Row(429, .problem("slow-down"), .throttled, retryAfter: "5", wait: 5),
        Row(429, .html, .throttled, retryAfter: "0", wait: 0),
        Row(429, .empty, .throttled),
        Row(429, .empty, .throttled, retryAfter: "3600", wait: 3600),
        Row(429, .empty, .throttled, retryAfter: "3601", wait: 3600),
        Row(429, .empty, .throttled, retryAfter: "18446744073709551615", wait: 3600),
        Row(429, .empty, .throttled, retryAfter: "999999999999999999999", wait: 3600),
        Row(503, .empty, .throttled, retryAfter: "999999999999999999999", wait: 3600),
        Row(429, .empty, .throttled, retryAfter: "soon"),
        Row(429, .empty, .throttled, retryAfter: "-1"),
        Row(503, .html, .throttled, retryAfter: "120", wait: 120),
        Row(503, .html, .serverError), Row(503, .problem("busy"), .serverError),
        Row(500, .empty, .serverError, retryAfter: "5"),
        Row(
            503, .empty, .throttled, retryAfter: "Sun, 06 Nov 1994 08:50:37 GMT", wait: 60),
        Row(
            503, .empty, .throttled, retryAfter: "Sun, 06 Nov 1994 08:48:37 GMT", wait: 0),
        Row(
            503, .empty, .throttled, retryAfter: "Mon, 07 Nov 1994 08:49:37 GMT", wait: 3600),
    ]

    /// Who did not send a token, or was sent elsewhere, learns nothing about the session.
    static let elsewhere: [Row] = [
        Row(401, .problem("session-ended"), .serverError, hadToken: false),
        Row(401, .problem("token-expired"), .serverError, hadToken: false),
        Row(401, .problem("session-ended"), .serverError, redirects: 1),
        Row(403, .problem("not-entitled"), .serverError, redirects: 1),
        Row(403, .html, .serverError, redirects: 2),
        Row(404, .problem("no-such-blob"), .notFound, final: true, redirects: 1),
    ]

    @Test(arguments: listed + bare + throttled + elsewhere)
    func `a status and a code mean what the protocol says`(row: Row) {
        var headers = HTTPHeaders()
        if let type = row.body.type { headers.append(name: "Content-Type".utf8, value: type.utf8) }
        headers.append(name: "Date".utf8, value: "Sun, 06 Nov 1994 08:49:37 GMT".utf8)
        if let text = row.retryAfter { headers.append(name: "Retry-After".utf8, value: text.utf8) }
        let url = HTTPHead.of(200).url
        let head = HTTPHead(
            status: row.status, httpVersion: .http1_1, headers: headers, contentLength: nil,
            url: url, redirects: row.redirects)
        let failure = Problem.failure(head, body: row.body.bytes, hadToken: row.hadToken)
        #expect(failure.reason == row.reason)
        #expect((failure.next == .never) == row.isFinal)
        #expect(failure.status == row.status)
        #expect(failure.retryAfter == row.wait)
        #expect(!failure.isConnection)
    }

    @Test(
        arguments: [
            (401, true, .signedOut, true), (401, false, .serverError, false),
            (404, true, .notFound, true), (410, false, .notFound, true),
            (402, true, .serverError, false), (403, true, .serverError, false),
            (400, true, .serverError, false), (500, true, .serverError, false),
        ] as [(Int, Bool, UnavailableReason, Bool)])
    func `a HEAD's status stands for what a body would say`(
        status: Int, hadToken: Bool, reason: UnavailableReason, isFinal: Bool
    ) {
        let failure = Problem.failure(.of(status), body: [], hadToken: hadToken, isHead: true)
        #expect(failure.reason == reason)
        #expect((failure.next == .never) == isFinal)
    }

    @Test func `a refusal behind a redirect is known as such`() {
        for status in [401, 403] {
            let failure = Problem.failure(
                .of(status, redirects: 1), body: [], hadToken: true)
            #expect(failure.code == Problem.expiredRedirect)
        }
        #expect(Problem.failure(.of(403), body: [], hadToken: true).code == nil)
    }

    @Test(arguments: [
        #"{"code":"session-ended","code":"x"}"#, #"{"code":5}"#, #"{"code":null}"#, "[]", "",
        #"{"code":"session-ended""#, #"{"code":"Session-Ended"}"#, #"{"code":"session-ended\n"}"#,
        #"{"title":"session-ended"}"#, #"{"code":"\#(String(repeating: "a", count: 65))"}"#,
    ])
    func `a problem document that is none has no code`(text: String) {
        let head = HTTPHead.of(401, ["Content-Type": "application/problem+json"])
        let failure = Problem.failure(head, body: Array(text.utf8), hadToken: true)
        #expect(failure.reason == .serverError && failure.code == nil)
    }

    @Test(arguments: [
        "application/problem+json", "Application/Problem+JSON; charset=utf-8",
        "application/problem+json ;x=y",
    ])
    func `a problem document's type may have parameters`(type: String) {
        let failure = Problem.failure(
            .of(401, ["Content-Type": type]), body: Body.problem("session-ended").bytes,
            hadToken: true)
        #expect(failure.reason == .signedOut)
    }

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Sat, 29 Feb 2020 23:59:59 GMT", 1_583_020_799),
            ("Wed, 31 Dec 2025 23:59:59 GMT", 1_767_225_599),
        ] as [(String, Int64)])
    func `a date of HTTP is read`(text: String, seconds: Int64) {
        #expect(HTTPDate.seconds(text) == seconds)
    }

    @Test(arguments: [
        "", "now", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT ",
        "06 Nov 1994 08:49:37 GMT",
    ])
    func `a date of another form is none`(text: String) {
        #expect(HTTPDate.seconds(text) == nil)
    }

    @Test func `a Retry-After by the date needs the answer's own date`() {
        let head = HTTPHead.of(503, ["Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"])
        let failure = Problem.failure(head, body: [], hadToken: true)
        #expect(failure.reason == .throttled && failure.retryAfter == nil)
    }
}

/// What kept an answer from coming.
@Suite struct RemoteFailureTests {
    @Test(
        arguments: [
            (.dns, .offline, true), (.connect, .offline, true), (.cut, .offline, true),
            (.stalled, .offline, true), (.certificate, .serverError, false),
            (.protocolViolation, .serverError, false), (.redirect, .serverError, false),
            (.tooLarge, .serverError, false), (.cancelled, .offline, false),
            (.unavailable, .serverError, false), (.source, .serverError, false),
        ] as [(HTTPError.Code, UnavailableReason, Bool)])
    func `an error of the connection is offline, one of the other side is not`(
        code: HTTPError.Code, reason: UnavailableReason, isConnection: Bool
    ) {
        let failure = RemoteFailure(HTTPError(code, operation: "GET", detail: ""))
        #expect(failure.reason == reason && failure.isConnection == isConnection)
        #expect(failure.isCancelled == (code == .cancelled))
        let endsTheTry: Set<HTTPError.Code> = [
            .stalled, .certificate, .cancelled, .unavailable, .source,
        ]
        #expect((failure.next == .never) == endsTheTry.contains(code))
    }

    @Test func `what is too large for the server is no matter of the cache's limit`() {
        let failure = RemoteFailure(.tooLarge, "no", status: 413, code: "too-large")
        let hint = SyncError("send", failure).hint
        #expect(hint?.contains("the server") == true)
        #expect(SyncError("open", RemoteFailure(.tooLarge, "no")).hint == nil)
    }

    @Test func `a cancelled call is cancelled, not offline`() {
        let failure = RemoteFailure(HTTPError(.cancelled, operation: "GET"))
        #expect(SyncError("open", failure).code == .cancelled)
    }
}

/// The way to the next page.
@Suite struct NextLinkTests {
    @Test(arguments: [
        (#"<https://h/v1/manifest?after=0&page=abc>; rel="next""#, "abc"),
        ("</v1/manifest?page=abc&after=0>; rel=next", "abc"),
        (#"</a?page=1>; rel="prev", </a?page=2>; rel="next""#, "2"),
        (#"</a?page=a%2Fb%3D>; title="x"; rel="next""#, "a/b="),
        (#"  </a?page=x>  ;  rel="next"  "#, "x"),
        (#"</a?page=>; rel="next""#, ""),
    ])
    func `the token of the next page is read`(header: String, token: String) {
        #expect(NextLink.page(header) == token)
    }

    @Test(arguments: [
        "", "<", "<>", ";", ",", "<>;", #"<https://h/?page=a>"#,
        #"<https://h/?page=a>; rel="prev""#,
        #"https://h/?page=a; rel="next""#, #"</a?after=0>; rel="next""#,
        #"</a?page=%zz>; rel="next""#, #"</a?page=%f>; rel="next""#, #"</a?page=%ff>; rel="next""#,
        #"rel="next""#, #"<page=a; rel="next""#,
    ])
    func `what is no link to a next page is none`(header: String) {
        #expect(NextLink.page(header) == nil)
    }

    @Test(arguments: ["", "abc", "a b", "a/b?c&d=e#f", "é한글😀", "%41", "~-._", "\u{0}\n"])
    func `what is escaped comes back, and is plain`(text: String) {
        let escaped = text.percentEscaped
        #expect(escaped.percentUnescaped == text)
        #expect(
            escaped.allSatisfy {
                $0.isASCII && ($0.isLetter || $0.isNumber || "-._~%".contains($0))
            })
    }
}
