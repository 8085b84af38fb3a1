import Glibc
import SyncPlatform

/// Answers over real sockets with whatever bytes a test wants, and records what it was sent.
///
/// Each connection runs the script on a thread of its own. When the server goes, so do they.
final class ScriptedServer: Sendable {
    typealias Script = @Sendable (Connection) -> Void

    let port: UInt16
    private let listener: CInt
    private let state = Locked(State())

    private struct State {
        var requests: [String] = []
        var connections: [Connection] = []
        var isClosed = false
    }

    init(_ script: @escaping Script) {
        listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let bound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 128) == 0
                    && getsockname(listener, $0, &length) == 0
            }
        }
        precondition(bound, "no port for the test's server")
        port = UInt16(bigEndian: address.sin_port)
        let state = state
        spawn {
            defer { close(listener) }
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { return }
                let connection = state.withLock { state -> Connection? in
                    guard !state.isClosed else { return nil }
                    let connection = Connection(descriptor, number: state.connections.count)
                    state.connections.append(connection)
                    return connection
                }
                guard let connection else {
                    close(descriptor)
                    return
                }
                connection.record = { request in state.withLock { $0.requests.append(request) } }
                spawn {
                    script(connection)
                    connection.close()
                }
            }
        }
    }

    /// Serves every request on every connection with the same bytes.
    convenience init(answering answer: String) {
        self.init { connection in
            while connection.readRequest() != nil { connection.send(answer) }
        }
    }

    deinit {
        state.withLock { state in
            state.isClosed = true
            for connection in state.connections { connection.close() }
            // Each notes its requests here, and so keeps this.
            state.connections = []
        }
        shutdown(listener, CInt(SHUT_RDWR))
    }

    /// Every request so far, head and body, in the order of arrival.
    var requests: [String] { state.withLock { $0.requests } }
    var connectionCount: Int { state.withLock { $0.connections.count } }

    func url(_ path: String = "/") throws -> HTTPURL {
        try HTTPURL("http://127.0.0.1:\(port)\(path)")
    }

    /// Is one accepted connection; blocking, used by its script's thread.
    final class Connection: @unchecked Sendable {
        // Sendable: the descriptor lives as long as this; the rest is its thread's own.
        let number: Int
        private let descriptor: CInt
        private var buffer: [UInt8] = []
        fileprivate var record: @Sendable (String) -> Void = { _ in }

        fileprivate init(_ descriptor: CInt, number: Int) {
            self.descriptor = descriptor
            self.number = number
        }

        /// Reads a head and as much body as its Content-Length says; nil at the end.
        func readRequest() -> String? {
            guard let head = readHead() else { return nil }
            var length = 0
            for line in head.split(separator: "\r\n") {
                if line.lowercased().hasPrefix("content-length:") {
                    length = Int(line.dropFirst(15).filter { $0 != " " }) ?? 0
                }
            }
            if head.lowercased().contains("expect: 100-continue") {
                send("HTTP/1.1 100 Continue\r\n\r\n")
            }
            while buffer.count < length { guard fill() else { return nil } }
            let request = head + String(decoding: buffer.prefix(length), as: UTF8.self)
            buffer.removeFirst(length)
            record(request)
            return request
        }

        /// Reads up to and with the blank line; nil at the end.
        func readHead() -> String? {
            while true {
                if let end = buffer.indices.first(where: {
                    buffer[$0...].starts(with: "\r\n\r\n".utf8)
                }) {
                    defer { buffer.removeFirst(end + 4) }
                    return String(decoding: buffer.prefix(end + 4), as: UTF8.self)
                }
                guard fill() else { return nil }
            }
        }

        /// Waits for the first bytes, whatever they are.
        func awaitHello() { _ = fill() }

        /// Waits until the other side has gone.
        func awaitEnd() { while fill() { buffer = [] } }

        private func fill() -> Bool {
            var bytes = [UInt8](repeating: 0, count: 65536)
            let count = recv(descriptor, &bytes, bytes.count, 0)
            guard count > 0 else { return false }
            buffer.append(contentsOf: bytes.prefix(count))
            return true
        }

        @discardableResult
        func send(_ text: String) -> Bool { send(Array(text.utf8)) }

        @discardableResult
        func send(_ bytes: [UInt8]) -> Bool {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
                }
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }

        /// Ends the connection in good order; the descriptor stays until no thread can use it.
        func close() { shutdown(descriptor, CInt(SHUT_RDWR)) }

        /// Ends the connection with a reset.
        func reset() {
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(
                descriptor, SOL_SOCKET, SO_LINGER, &linger,
                socklen_t(MemoryLayout.size(ofValue: linger)))
            let null = Glibc.open("/dev/null", O_RDWR)
            dup2(null, descriptor)
            Glibc.close(null)
        }

        deinit { Glibc.close(descriptor) }
    }
}

/// Lets threads wait for one another.
final class Gate: @unchecked Sendable {
    // Sendable: a semaphore is made for threads.
    private let semaphore: UnsafeMutablePointer<sem_t> = .allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func open() { sem_post(semaphore) }

    /// Blocks; false after so much time without being opened.
    @discardableResult
    func wait(seconds: Int = 20, milliseconds: Int = 0) -> Bool {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        time.tv_sec += seconds + (time.tv_nsec / 1_000_000 + milliseconds) / 1000
        time.tv_nsec = (time.tv_nsec + milliseconds % 1000 * 1_000_000) % 1_000_000_000
        while sem_timedwait(semaphore, &time) != 0 { guard errno == EINTR else { return false } }
        return true
    }

    /// Waits on a thread of its own, so that no task's thread is blocked.
    func opened() async -> Bool {
        await withCheckedContinuation { continuation in
            spawn { continuation.resume(returning: self.wait()) }
        }
    }
}

/// Runs something on a new thread.
func spawn(_ body: @escaping @Sendable () -> Void) {
    final class Box: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    var thread = pthread_t()
    let code = pthread_create(
        &thread, nil,
        { box in
            if let box { Unmanaged<Box>.fromOpaque(box).takeRetainedValue().body() }
            return nil
        }, Unmanaged.passRetained(Box(body)).toOpaque())
    precondition(code == 0, "no thread for the test")
    pthread_detach(thread)
}
