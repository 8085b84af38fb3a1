internal import SyncPlatform

/// Why a call did not give what was asked for: a reason of the states with its evidence.
struct RemoteFailure: Error, Sendable, Hashable {
    /// What to do after a failed try.
    enum Next: Sendable, Hashable {
        /// Try again after a wait.
        case later
        /// Ask again at once: a second answer decides what the first one was.
        case secondLook
        /// Nothing that this side does by itself can help.
        case never
    }

    /// The `code` of an answer that went on after the last byte that was asked for.
    static let tooLong = "tooLong"
    /// The `code` when what was to be sent could not be read here.
    static let source = "source"

    let reason: UnavailableReason
    var status: Int?
    var code: String?
    var chunk: Int?
    /// How long the host asked to wait, in seconds.
    var retryAfter: Int64?
    /// Whether no connection came about or it broke, instead of an answer.
    var isConnection = false
    /// Whether the caller cancelled.
    var isCancelled = false
    /// Whether somebody paused: what came stays, and the rest is asked for later.
    var isPaused = false
    /// Whether no request was sent: the host had asked to wait, or somebody paused.
    var isUnsent = false
    var next = Next.later
    /// What happened, in one line and without secrets.
    let detail: String

    /// What is kept of it with a blob or a condition.
    var evidence: Evidence {
        Evidence(status: status, code: code, chunk: chunk)
    }

    /// When the host said to come back; nil if it did not.
    func nextAttempt(after now: Int64) -> Timestamp? {
        retryAfter.flatMap { Timestamp(seconds: now + $0) }
    }

    /// Whether a connection came about and then broke or stalled.
    var isBrokenTransfer: Bool { isConnection && (code == "cut" || code == "stalled") }

    /// Describes a failure that may pass.
    init(_ reason: UnavailableReason, _ detail: String, status: Int? = nil, code: String? = nil) {
        self.reason = reason
        self.detail = detail
        self.status = status
        self.code = code
    }

    /// A body that ended before it should have, and nothing says that it was meant to.
    static func cut() -> RemoteFailure {
        var cut = RemoteFailure(.offline, "the answer was cut", code: "cut")
        cut.isConnection = true
        return cut
    }

    /// The caller does not want it any more.
    static func cancelled() -> RemoteFailure {
        var failure = RemoteFailure(.offline, "cancelled").final()
        failure.isCancelled = true
        return failure
    }

    /// A person wants nothing to come now.
    static func paused(isUnsent: Bool = false) -> RemoteFailure {
        var failure = RemoteFailure(.offline, "paused")
        failure.isUnsent = isUnsent
        failure.isPaused = true
        return failure
    }

    /// A page for people, such as a portal's, that came as if it were the blob.
    static func page() -> RemoteFailure {
        RemoteFailure(.serverError, "a page came in the place of the blob", code: "html")
    }

    /// The same, but not to be tried again by itself.
    func final() -> RemoteFailure {
        var failure = self
        failure.next = .never
        return failure
    }

    /// The same, but to be asked again at once.
    func secondLook() -> RemoteFailure {
        var failure = self
        failure.next = .secondLook
        return failure
    }
}

extension RemoteFailure {
    /// What a transfer's own error means.
    init(_ error: HTTPError) {
        switch error.code {
        case .stalled:
            // A stall has already cost its whole limit: it ends the try.
            self.init(.offline, "the connection came to a standstill", code: "stalled")
            next = .never
        case .certificate:
            self.init(.serverError, error.detail, code: "certificate")
            next = .never
        case .tooLarge:
            self.init(.serverError, "the answer is longer than it may be", code: Self.tooLong)
        case .redirect:
            self.init(
                .serverError, "a redirect that is not followed: \(error.detail)", code: "protocol")
        case .protocolViolation, .refused:
            self.init(
                .serverError, "the answer breaks the protocol: \(error.detail)", code: "protocol")
        case .source:
            self.init(.serverError, "what was to be sent: \(error.detail)", code: Self.source)
            next = .never
        case .cancelled:
            self.init(.offline, "cancelled")
            isCancelled = true
            next = .never
        case .badURL, .badHeader, .unavailable:
            self.init(.serverError, error.detail, code: "request")
            next = .never
        default:
            let detail = error.detail.isEmpty ? "no connection" : error.detail
            self.init(.offline, detail, code: "\(error.code)")
        }
        isConnection = error.isOffline
    }
}
