/// Says how a client connects.
package struct HTTPConfiguration: Sendable {
    /// What the client calls itself.
    package var userAgent: String
    /// Certificate authorities to trust besides the system's, as a PEM file.
    package var caFile: String?
    /// The most connections to one origin, for small bodies and for large ones each.
    package var maxConnectionsPerHost = 16
    /// The most transfers under way, small and large ones each; more queue, without a stall clock.
    package var maxConcurrentTransfers = 128
    /// The most seconds for name, connection and handshake.
    package var connectTimeout = 15.0
    /// Whether `https_proxy` and its kin count, as they do for curl; never for this machine itself.
    package var usesProxyFromEnvironment = true
    /// The most bytes of bodies a second, for all transfers and both directions together; nil for
    /// no limit.
    ///
    /// A transfer that must wait for its share pauses, as if its sink did.
    package var limitRate: Int?

    /// Makes the usual configuration; the rest is set afterwards.
    package init(
        userAgent: String = "lazysync", caFile: String? = nil, limitRate: Int? = nil
    ) {
        self.userAgent = userAgent
        self.caFile = caFile
        self.limitRate = limitRate
    }
}

/// Sends requests and hands answers to sinks, over connections that are kept and shared.
///
/// It has two threads, each begun by its first request: one for small bodies, which share HTTP/2
/// connections, and one for large ones, with an HTTP/1.1 connection for each. In libcurl 7.88 a
/// paused stream of HTTP/2 goes on filling memory, up to 32 MiB, while HTTP/1.1 leaves the bytes
/// with the server; and only HTTP/1.1 lets a server refuse an upload before its body.
///
/// When the client goes away, its transfers end as cancelled.
package final class HTTPClient: Sendable {
    private let shared: CurlThread
    private let exclusive: CurlThread
    /// What both threads draw from, if there is a limit.
    private let bucket: Locked<TokenBucket>?

    /// Bodies above this size, sent or expected, travel alone.
    static let sharedBodyLimit = 512 << 10

    /// Makes a client; nothing is loaded or connected before the first request.
    package init(configuration: HTTPConfiguration = HTTPConfiguration()) {
        shared = CurlThread(configuration, .shared)
        exclusive = CurlThread(configuration, .exclusive)
        bucket = configuration.limitRate.map { Locked(TokenBucket(rate: $0, now: .now)) }
    }

    deinit {
        shared.close()
        exclusive.close()
    }

    /// Begins a transfer and returns at once.
    ///
    /// The completion is called once, on the client's thread, after the last call to the sink. It
    /// must not block, but may begin the next transfer.
    @discardableResult
    package func start(
        _ request: HTTPRequest, into sink: any HTTPSink,
        completion: @escaping @Sendable (Result<HTTPHead, HTTPError>) -> Void
    ) -> HTTPTransferControl {
        let control = control(of: request, into: sink)
        control.thread.post(.start(control.transfer, completion))
        return control
    }

    /// Sends a request and waits until the sink has all of the answer.
    ///
    /// An answer that ends with its connection, without Content-Length or chunks, counts as whole:
    /// the caller sees in the head that no length was announced.
    /// - Throws: `HTTPError`; `.cancelled`, soon, when the task is cancelled. An answer with an
    ///   error status is not an error.
    package func send(
        _ request: HTTPRequest, into sink: any HTTPSink
    ) async throws(HTTPError) -> HTTPHead {
        let control = control(of: request, into: sink)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                control.thread.post(
                    .start(control.transfer) { continuation.resume(returning: $0) })
            }
        } onCancel: {
            control.cancel()
        }
        return try result.get()
    }

    /// Sends a request and returns the whole answer.
    package func data(_ request: HTTPRequest) async throws(HTTPError) -> (HTTPHead, [UInt8]) {
        let sink = BufferSink(limit: request.bodyLimit)
        let head = try await send(request, into: sink)
        return (head, sink.take())
    }

    private func control(of request: HTTPRequest, into sink: any HTTPSink) -> HTTPTransferControl {
        let size = max(request.bodyLimit, request.method.hasBody ? request.body?.count ?? 0 : 0)
        return HTTPTransferControl(
            thread: size > Self.sharedBodyLimit ? exclusive : shared,
            transfer: CurlTransfer(request, into: sink, bucket))
    }
}
