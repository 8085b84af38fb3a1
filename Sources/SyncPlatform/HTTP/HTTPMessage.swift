/// Describes one request.
package struct HTTPRequest: Sendable {
    /// Names what is asked of the server.
    package enum Method: String, Sendable {
        case get = "GET"
        case head = "HEAD"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"

        /// Whether a request of this kind carries a body, be it an empty one.
        var hasBody: Bool { self == .post || self == .put || self == .patch }
    }

    /// Says what becomes of a redirect.
    package enum Redirects: Sendable {
        /// A redirect is an answer like any other.
        case none
        /// GET and HEAD go on to where the answer points, five times at the most.
        case follow
    }

    /// What is asked of the server.
    package var method: Method
    /// Of what it is asked.
    package var url: HTTPURL
    /// Fields besides those that the client itself sets.
    package var headers: HTTPHeaders
    /// What POST, PUT and PATCH send; the other methods send none.
    package var body: HTTPBody?
    /// Told how many bytes of the body were handed on so far, on the client's thread, which must
    /// not be held up; less than before when some must be sent again.
    package var onSent: (@Sendable (Int) -> Void)?
    /// The most bytes of an answer's body that are taken, counted after decompression; of one that
    /// says what is wrong, `errorLimit` at the least.
    ///
    /// It also says what to expect: above 512 KiB the transfer gets a large receive buffer and an
    /// HTTP/1.1 connection for itself, below it shares HTTP/2 connections.
    package var bodyLimit: Int
    /// What is taken of an answer whose status is not of success, in bytes.
    package static let errorLimit = 64 << 10
    /// Ends the transfer when less than a byte a second moves for so long, in either direction.
    ///
    /// Counts while the answer is awaited, but not while the sink pauses or the request queues.
    package var stallSeconds: Double = 60
    /// Whether the server may compress the body; it is unpacked before the sink sees it.
    ///
    /// Otherwise none is asked for, and a body that comes encoded anyway is handed on as it is.
    package var compressed = false
    /// What becomes of a redirect.
    package var redirects = Redirects.none

    /// Describes a request; the rest is set afterwards.
    package init(
        _ method: Method = .get, url: HTTPURL, headers: HTTPHeaders = HTTPHeaders(),
        body: [UInt8]? = nil, bodyLimit: Int = 512 << 10
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body.map { .bytes($0) }
        self.bodyLimit = bodyLimit
    }
}

/// Tells which HTTP an answer spoke.
package enum HTTPVersion: Sendable, Comparable {
    case http1_0, http1_1, http2, http3
}

/// Is the part of an answer that comes before its body.
package struct HTTPHead: Sendable {
    /// Between 200 and 599.
    package let status: Int
    /// Which HTTP the answer spoke.
    package let httpVersion: HTTPVersion
    /// All fields as they came.
    package let headers: HTTPHeaders
    /// What Content-Length says; nil without one, and when Transfer-Encoding overrules it.
    ///
    /// The length on the wire: before unpacking, and for HEAD that of a body that does not come.
    package let contentLength: UInt64?
    /// Where the answer came from, after redirects.
    package let url: HTTPURL
    /// How many redirects led here.
    package let redirects: Int

    /// The first value of a header field, by its name in any case of letters.
    package subscript(name: String) -> String? { headers[name] }
}
