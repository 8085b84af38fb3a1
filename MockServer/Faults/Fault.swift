import Foundation

/// One thing that goes wrong: for which requests, and what.
struct Fault: Sendable {
    /// Which requests a fault is for; what is nil fits all.
    struct Match: Sendable, Equatable {
        var method: String?
        /// How the path begins.
        var path: String?
        /// A regular expression that finds something in the path.
        var regex: String?
        /// What stands somewhere in the query, as it was sent.
        var query: String?
        /// Whether there is a Range header.
        var range: Bool?

        static let all = Match()
        static func get(_ path: String) -> Match { Match(method: "GET", path: path) }
        static func head(_ path: String) -> Match { Match(method: "HEAD", path: path) }
        static func put(_ path: String) -> Match { Match(method: "PUT", path: path) }
        static func patch(_ path: String) -> Match { Match(method: "PATCH", path: path) }
        static func delete(_ path: String) -> Match { Match(method: "DELETE", path: path) }
        static func post(_ path: String) -> Match { Match(method: "POST", path: path) }

        /// Whether `incoming` is one of them.
        func fits(_ incoming: Incoming) -> Bool {
            if let method, method != incoming.method { return false }
            if let path, !incoming.path.hasPrefix(path) { return false }
            if let query, !incoming.rawQuery.contains(query) { return false }
            if let range, range != (incoming.header("Range") != nil) { return false }
            if let regex {
                return incoming.path.range(of: regex, options: .regularExpression) != nil
            }
            return true
        }
    }

    var match: Match
    /// How many that fit pass unharmed first.
    var skip = 0
    /// How many are hit after that; nil for all.
    var times: Int?
    var actions: [FaultAction]

    init(_ match: Match, skip: Int = 0, times: Int? = nil, _ actions: FaultAction...) {
        self.init(match, skip: skip, times: times, actions: actions)
    }

    init(_ match: Match, skip: Int = 0, times: Int? = nil, actions: [FaultAction]) {
        self.match = match
        self.skip = skip
        self.times = times
        self.actions = actions
    }
}

/// What a fault does; several work together.
enum FaultAction: Sendable {
    // In the place of the answer.

    /// Answers with this, without handling the request.
    case answer(status: Int, headers: [Header] = [], body: [UInt8] = [])
    /// Answers with a problem document, without handling the request.
    case problem(Int, code: String, headers: [Header] = [])
    /// Ends the connection without an answer; handled or not before that.
    case drop(Delivery.Ending = .close, handling: Bool = true)
    /// Sends the client elsewhere.
    case redirect(to: String, status: Int = 302)
    /// Sends a blob's GET or HEAD to an address that works without a token until it expires.
    ///
    /// `origin` is another name of this server, such as `http://localhost:PORT`.
    case redirectToSigned(origin: String? = nil, status: Int = 302)

    // In what is stored.

    /// Flips a byte of the blob.
    case flip(at: UInt64)
    /// Cuts the blob short; its length agrees.
    case truncate(to: UInt64)
    /// Serves another blob's bytes under this one's entity tag.
    case serve(blob: String)

    // In ranges.

    /// 200 with the whole blob to a request for a range.
    case ignoreRange
    /// Another part than was asked for; `isTold` says whether Content-Range admits it.
    case shiftRange(by: Int64, isTold: Bool = true)
    /// 206 with this part to a request without Range.
    case unaskedRange(first: UInt64, last: UInt64)
    /// The part as multipart/byteranges.
    case multipart

    // In manifest pages.

    case page(PageEdit)

    // In the headers.

    /// Sets a header, or takes it away.
    case header(String, String?)
    /// Answers with another status and the same body.
    case status(Int)

    // On the way.

    case delay(Double)
    case hold(FaultGate)
    case pace(bytes: Int, seconds: Double)
    case cut(at: Delivery.Point, Delivery.Ending = .close)
    case stall(at: Delivery.Point, FaultGate)
    case framing(Delivery.Framing)

    // In a request's body, of the calls that take it as it comes: PUT and PATCH of bytes.

    /// Ends the connection when so much has come; what came is taken.
    case cutBody(at: Delivery.Point, Delivery.Ending = .close)
    /// Reads on only when the gate opens.
    case stallBody(at: Delivery.Point, FaultGate)

    // Besides.

    /// What happens at the server once the request is handled.
    case then(Effect)

    /// A change at the server.
    enum Effect: String, Sendable, CaseIterable {
        case expireTokens, endSessions, expireCursors, expireSigned
    }

    /// At most so many bytes a second.
    static func rate(_ bytesPerSecond: Int) -> FaultAction {
        let bytes = max(1, bytesPerSecond / 50)
        return .pace(bytes: bytes, seconds: Double(bytes) / Double(max(1, bytesPerSecond)))
    }

    /// An HTML page as a proxy or a captive portal would send.
    static func html(_ status: Int) -> FaultAction {
        .answer(
            status: status, headers: [Header("Content-Type", "text/html; charset=utf-8")],
            body: Array("<!DOCTYPE html><html><body><h1>\(status)</h1></body></html>\n".utf8))
    }
}

/// How a fault changes a manifest page.
struct PageEdit: Sendable, Equatable {
    enum Next: Sendable, Equatable {
        /// The same place again, under a token of its own.
        case again
        /// The token that this page was asked for with.
        case repeated
        case none
        case text(String)
    }

    enum Head: Sendable, Equatable {
        case none
        case text(String)
    }

    /// Leaves the entries out.
    var isEmpty = false
    var next: Next?
    var head: Head?

    /// A page without entries that goes on where it stands.
    static let emptyWithNext = PageEdit(isEmpty: true, next: .again)
    /// A page whose `next` is the one before.
    static let repeatedNext = PageEdit(next: .repeated)
    /// What an account that was never used would answer.
    static let emptyAccount = PageEdit(
        isEmpty: true, next: PageEdit.Next.none, head: PageEdit.Head.none)
}
