/// Is one request on its way, over all its redirects.
///
/// libcurl's callbacks end here; ``CurlLoop`` decides when they can be called at all.
final class CurlTransfer: @unchecked Sendable {
    // Sendable: made on any thread, but everything that changes is touched by the thread of the
    // `CurlThread` it was posted to, and by no other.
    typealias Completion = @Sendable (Result<HTTPHead, HTTPError>) -> Void

    enum Phase {
        case new, waiting, active, done
        /// Cancelled before it was started: the message that starts it is still to come.
        case cancelledEarly
    }

    /// The most bytes of a redirect's body that are read to keep its connection.
    static let discardLimit = 64 << 10

    let request: HTTPRequest
    private(set) var sink: (any HTTPSink)?
    var completion: Completion?
    var phase = Phase.new

    /// Where this hop goes, and how many came before it.
    private(set) var url: HTTPURL
    private(set) var redirects = 0
    /// Once the origin has changed, also a way back to it goes without the token.
    private(set) var isAuthorized = true
    /// Where the answer of this hop points to, if it is a redirect.
    private(set) var nextURL: HTTPURL?

    var easy: CurlEasy?
    var lane: CurlLane?
    var slot = 0
    var stall: StallClock
    private var parser = HeadParser()
    private(set) var head: HTTPHead?
    /// What this client found wrong; libcurl then only says that a callback failed.
    private(set) var failure: HTTPError?
    /// The sink's `begin` asked for a pause: the first bytes are held back.
    private var isHeld = false
    /// libcurl holds the transfer, because of a pause.
    private(set) var isPaused = false
    /// Until then the limit of the rate pauses the transfer; never while its sink does.
    private(set) var due: ContinuousClock.Instant?
    private let bucket: Locked<TokenBucket>?
    /// The most of a body that goes out at once under a limit: its smallest burst.
    private static let limitedPiece = 16 << 10

    /// Bytes drawn from the bucket that have not moved yet.
    private var drawnCount = 0
    private var bodyCount = 0
    private var sentCount = 0
    private var receivedCount = 0

    init(
        _ request: HTTPRequest, into sink: any HTTPSink, _ bucket: Locked<TokenBucket>? = nil
    ) {
        self.request = request
        self.sink = sink
        self.bucket = bucket
        url = request.url
        stall = StallClock(limit: .seconds(request.stallSeconds), now: .now)
    }

    /// Bytes moved in either direction in this hop.
    ///
    /// What libcurl has read of a body says nothing: it may wait in its buffer for minutes.
    var progress: Int { receivedCount + (body == nil ? 0 : easy?.uploadedBytes ?? 0) }

    /// Whether its bytes are counted against a rate.
    var isLimited: Bool { bucket != nil }

    var operation: String { "\(request.method.rawValue) \(url)" }

    var body: HTTPBody? { request.method.hasBody ? request.body ?? .bytes([]) : nil }

    func error(_ code: HTTPError.Code, _ detail: String = "") -> HTTPError {
        HTTPError(code, operation: operation, detail: detail)
    }

    /// Calls the completion, once, and lets go of the sink, which may hold on to this transfer.
    func complete(_ result: Result<HTTPHead, HTTPError>) {
        phase = .done
        let completion = completion.take()
        sink = nil
        lane = nil
        if drawnCount > 0 { bucket?.withLock { [drawnCount] in $0.giveBack(drawnCount) } }
        completion?(result)
    }

    /// Turns to the address the answer pointed to.
    func follow(_ next: HTTPURL) {
        isAuthorized = isAuthorized && next.origin == url.origin
        url = next
        redirects += 1
        nextURL = nil
        parser = HeadParser()
        head = nil
        failure = nil
        receivedCount = 0
        sentCount = 0
    }

    /// Ends the sink's pause or the limit's; true if libcurl must be told to go on.
    func resume() -> Bool {
        isHeld = false
        due = nil
        defer { isPaused = false }
        return isPaused
    }

    // MARK: - What libcurl calls

    /// Takes a line of the head, or of the trailer; false ends the transfer.
    func receiveHeader(_ line: UnsafeBufferPointer<UInt8>, _ control: HTTPTransferControl) -> Bool {
        receivedCount += line.count
        do throws(HeadParser.Violation) {
            if head != nil {
                guard !line.starts(with: "HTTP/".utf8) else {
                    throw HeadParser.Violation(detail: "a second answer")
                }
                // A trailer: nobody asked for one, but its length counts.
                try parser.skip(line)
                return true
            }
            switch try parser.read(line) {
            case .more, .interim: return true
            case .done: return begin(try parser.contentLength(), control)
            }
        } catch {
            failure = self.error(.protocolViolation, error.detail)
            return false
        }
    }

    private func begin(_ contentLength: UInt64?, _ control: HTTPTransferControl) -> Bool {
        let head = HTTPHead(
            status: parser.status, httpVersion: parser.version, headers: parser.headers,
            contentLength: contentLength, url: url, redirects: redirects)
        self.head = head
        lane?.multiplexes = head.httpVersion >= .http2
        do throws(RedirectRule.Refusal) {
            nextURL = try RedirectRule.next(
                after: head.status, locations: head.headers.values("location"), to: request,
                at: url, count: redirects)
        } catch {
            failure = self.error(.redirect, error.detail)
            return false
        }
        guard nextURL == nil else { return true }
        switch sink?.begin(head, control) ?? .stop {
        case .more: return true
        case .pause:
            isHeld = true
            return true
        case .stop:
            failure = error(.refused, "status \(head.status)")
            return false
        }
    }

    /// What a failure says of itself may be longer than the content that was asked for.
    private var bodyLimit: Int {
        let isContent = head.map { (200..<300).contains($0.status) } ?? true
        return isContent ? request.bodyLimit : max(request.bodyLimit, HTTPRequest.errorLimit)
    }

    enum BodyStep { case taken, pause, fail }

    func receiveBody(_ bytes: UnsafeBufferPointer<UInt8>) -> BodyStep {
        guard nextURL == nil else {
            receivedCount += bytes.count
            return receivedCount <= Self.discardLimit ? .taken : .fail
        }
        guard !isHeld else {
            isPaused = true
            return .pause
        }
        guard bytes.count <= bodyLimit - bodyCount else {
            failure = error(.tooLarge, "more than \(bodyLimit) bytes")
            return .fail
        }
        guard draw(bytes.count) else {
            isPaused = true
            return .pause
        }
        switch sink?.receive(bytes.span) ?? .stop {
        case .more:
            if bucket != nil { drawnCount -= bytes.count }
            bodyCount += bytes.count
            receivedCount += bytes.count
            return .taken
        case .pause:
            isPaused = true
            return .pause
        case .stop:
            failure = error(.refused, "after \(bodyCount) bytes")
            return .fail
        }
    }

    /// Whether so many bytes may move now; they are drawn once, however often they come.
    private func draw(_ count: Int) -> Bool {
        guard let bucket, count > drawnCount else { return true }
        let missing = count - drawnCount
        drawnCount = count
        guard let time = bucket.withLock({ $0.draw(missing, now: .now) }) else { return true }
        due = time
        return false
    }

    enum BodyRead {
        /// So many bytes; none at the body's end.
        case bytes(Int)
        case pause, fail
    }

    /// Copies the next bytes of the request's body.
    func sendBody(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead {
        guard let body else { return .bytes(0) }
        let most = isLimited ? Self.limitedPiece : buffer.count
        let wanted = min(buffer.count, most, body.count - sentCount)
        guard wanted > 0 else { return .bytes(0) }
        guard draw(wanted) else {
            isPaused = true
            return .pause
        }
        let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
        do throws(FileError) {
            // Not fewer: the length was promised, and nothing may stand in for what is missing.
            guard try body.copy(into: piece, at: sentCount) == wanted else {
                failure = error(.source, "it ends before its length")
                return .fail
            }
        } catch {
            failure = self.error(.source, "\(error)")
            return .fail
        }
        if bucket != nil { drawnCount -= wanted }
        sentCount += wanted
        request.onSent?(sentCount)
        return .bytes(wanted)
    }

    /// Goes back, because libcurl repeats a request whose reused connection turned out dead.
    func rewindBody(to offset: Int) -> Bool {
        guard let body, (0...body.count).contains(offset) else { return false }
        sentCount = offset
        request.onSent?(sentCount)
        return true
    }
}
