/// Says why a transfer gave no whole answer.
///
/// An answer with an error status is an answer, not an error.
package struct HTTPError: Error, Sendable {
    /// What callers branch on.
    package enum Code: Sendable, Hashable {
        /// The host's name has no address, or nobody could be asked for it.
        case dns
        /// No connection, or a handshake that was cut.
        case connect
        /// Under one byte a second for as long as the request allows.
        case stalled
        /// The connection ended before the answer did.
        case cut
        /// The server's certificate does not fit.
        case certificate
        /// The body is longer than the request allows.
        case tooLarge
        /// The sink wants no more of this answer.
        case refused
        /// What was to be sent cannot be read, or is shorter than it should be.
        case source
        /// A redirect that is not followed.
        case redirect
        /// What came is not HTTP, or not within the bounds of this client.
        case protocolViolation
        /// Not an address this client talks to.
        case badURL
        /// A header that must not be sent.
        case badHeader
        /// The caller cancelled.
        case cancelled
        /// libcurl is missing or refuses to work.
        case unavailable
    }

    /// Which kind of failure it is.
    package let code: Code
    /// What was being done, without query and secrets: "GET https://host/path".
    package let operation: String
    /// More about it for the log, without secrets; nothing to branch on.
    package let detail: String

    /// Makes an error; the texts must hold no secrets.
    package init(_ code: Code, operation: String, detail: String = "") {
        self.code = code
        self.operation = operation
        self.detail = detail
    }

    /// Whether this means that there is no working connection to the server.
    package var isOffline: Bool {
        switch code {
        case .dns, .connect, .stalled, .cut: true
        default: false
        }
    }
}

extension HTTPError: CustomStringConvertible {
    /// What was being done, the kind of failure, and more if there is more.
    package var description: String {
        detail.isEmpty ? "\(operation): \(code)" : "\(operation): \(code): \(detail)"
    }
}
