import Glibc

/// Is what the world sees of a thread that runs transfers: a box for messages.
///
/// The thread holds this, not the client; so the client can go, and by that end the thread.
final class CurlThread: Sendable {
    enum Style {
        /// Many transfers over one HTTP/2 connection.
        case shared
        /// A connection for each transfer.
        case exclusive
    }

    enum Message {
        case start(CurlTransfer, CurlTransfer.Completion)
        case resume(CurlTransfer)
        case cancel(CurlTransfer)
    }

    private struct Inbox {
        var messages: [Message] = []
        /// The multi handle, as long as the thread runs; only ever used to wake it.
        var multi: UInt?
        /// The thread sleeps in `curl_multi_poll`, or is about to: a message must wake it.
        var isPolling = false
        var isClosed = false
    }

    let style: Style
    let configuration: HTTPConfiguration
    private let inbox = Locked(Inbox())

    init(_ configuration: HTTPConfiguration, _ style: Style) {
        self.configuration = configuration
        self.style = style
    }

    /// Puts a message into the box, and begins the thread if this is the first one to start.
    func post(_ message: Message) {
        let curl: Curl
        do throws(HTTPError) {
            curl = try Curl.loaded.get()
        } catch {
            return Self.fail(message, error)
        }
        let isTaken = inbox.withLock { inbox in
            if inbox.multi == nil, !inbox.isClosed {
                guard let multi = curl.multiInit() else { return false }
                guard begin(curl, multi) else {
                    _ = curl.multiCleanup(multi)
                    return false
                }
                inbox.multi = UInt(bitPattern: multi)
            }
            guard !inbox.isClosed else { return false }
            inbox.messages.append(message)
            Self.wake(&inbox, curl)
            return true
        }
        if !isTaken {
            Self.fail(message, HTTPError(.unavailable, operation: "begin a transfer"))
        }
    }

    /// Ends the thread; transfers that are under way fail as cancelled.
    func close() {
        inbox.withLock { inbox in
            inbox.isClosed = true
            if case .success(let curl) = Curl.loaded, inbox.multi != nil { Self.wake(&inbox, curl) }
        }
    }

    // MARK: - For the thread

    /// Exchanges the box's content for an empty array; false once the client is gone.
    func take(_ messages: inout [Message]) -> Bool {
        inbox.withLock { inbox in
            inbox.isPolling = false
            swap(&inbox.messages, &messages)
            return !inbox.isClosed
        }
    }

    /// Whether the thread may sleep; from here on a message wakes it.
    func mayPoll() -> Bool {
        inbox.withLock { inbox in
            inbox.isPolling = inbox.messages.isEmpty && !inbox.isClosed
            return inbox.isPolling
        }
    }

    /// Takes the last messages and forgets the handle, which nobody wakes any more.
    func retire() -> [Message] {
        inbox.withLock { inbox in
            inbox.multi = nil
            defer { inbox.messages = [] }
            return inbox.messages
        }
    }

    private static func wake(_ inbox: inout Inbox, _ curl: Curl) {
        guard inbox.isPolling else { return }
        inbox.isPolling = false
        _ = curl.multiWakeup(inbox.multi.flatMap { UnsafeMutableRawPointer(bitPattern: $0) })
    }

    private static func fail(_ message: Message, _ error: HTTPError) {
        if case .start(_, let completion) = message { completion(.failure(error)) }
    }

    private func begin(_ curl: Curl, _ multi: UnsafeMutableRawPointer) -> Bool {
        final class Start {
            let loop: CurlLoop
            init(_ loop: CurlLoop) { self.loop = loop }
        }
        let start = Unmanaged.passRetained(Start(CurlLoop(self, curl, multi)))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { start in
                guard let start else { return nil }
                // No handler runs here, and a write to a closed connection is an error, not
                // SIGPIPE.
                var all = sigset_t()
                sigfillset(&all)
                pthread_sigmask(SIG_BLOCK, &all, nil)
                Unmanaged<Start>.fromOpaque(start).takeRetainedValue().loop.run()
                return nil
            }, start.toOpaque())
        guard code == 0 else {
            start.release()
            return false
        }
        pthread_detach(thread)
        return true
    }
}
