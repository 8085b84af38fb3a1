import Foundation
import SyncPlatform
import TestSupport
import Testing

/// Needs openssl for certificates and nginx for an HTTP/2 peer.
@Suite(.timeLimit(.minutes(10))) struct `TLS and shared connections` {
    private func client(trusting folder: CertificateFolder?) -> HTTPClient {
        HTTPClient(
            configuration: HTTPConfiguration(caFile: folder?.path("ca.pem")))
    }

    @Test func `a private authority is trusted when it is named`() async throws {
        let server = try await SecureServer.running()
        let client = client(trusting: server.folder)
        let request = HTTPRequest(url: try server.url("/small"))
        #expect(try await client.text(request) == "small")
    }

    @Test func `a certificate from an unknown authority is refused`() async throws {
        let server = try await SecureServer.running()
        let client = client(trusting: nil)
        let request = HTTPRequest(url: try server.url("/small"))
        await #expect {
            try await client.data(request)
        } throws: {
            let error = $0 as? HTTPError
            return error?.code == .certificate && error?.isOffline == false
        }
    }

    @Test func `a certificate for another host is refused`() async throws {
        let server = try await SecureServer.running(host: "DNS:elsewhere.example")
        let client = client(trusting: server.folder)
        let request = HTTPRequest(url: try server.url("/small"))
        #expect(await client.failure(of: request) == .certificate)
    }

    @Test func `an expired certificate is refused`() async throws {
        let server = try await SecureServer.running(days: -1)
        let client = client(trusting: server.folder)
        let request = HTTPRequest(url: try server.url("/small"))
        #expect(await client.failure(of: request) == .certificate)
    }

    @Test func `an authority's file that is missing fails as a certificate`() async throws {
        let server = try await SecureServer.running()
        let client = HTTPClient(configuration: HTTPConfiguration(caFile: "/nonexistent.pem"))
        let request = HTTPRequest(url: try server.url("/small"))
        #expect(await client.failure(of: request) == .certificate)
    }

    @Test func `a handshake that is cut or no TLS at all is offline`() async throws {
        for answer in ["", "HTTP/1.1 400 Bad\r\n\r\n"] {
            let server = ScriptedServer { connection in
                connection.send(answer)
                connection.awaitHello()
            }
            let url = try HTTPURL("https://127.0.0.1:\(server.port)/")
            #expect(await HTTPClient().failure(of: HTTPRequest(url: url)) == .connect)
        }
    }

    @Test func `a handshake that hangs ends with the connect timeout, for all who wait`()
        async throws
    {
        let server = ScriptedServer { $0.awaitEnd() }
        var configuration = HTTPConfiguration()
        configuration.connectTimeout = 2
        let client = HTTPClient(configuration: configuration)
        let request = HTTPRequest(url: try HTTPURL("https://127.0.0.1:\(server.port)/"))
        let ended = Gate()
        let ends = Locked<[ContinuousClock.Instant]>([])
        let start = ContinuousClock.now
        for _ in 0..<10 {
            client.start(request, into: TestSink()) { result in
                #expect(throws: HTTPError.self) { try result.get() }
                ends.withLock { $0.append(.now) }
                ended.open()
            }
        }
        for _ in 0..<10 { #expect(await ended.opened()) }
        let last = try #require(ends.withLock { $0.last })
        // One after the other they would need twenty seconds.
        #expect(last - start < .seconds(12))
    }

    @Test func `small bodies share a connection, large ones have their own`() async throws {
        let server = try await SecureServer.running()
        let client = client(trusting: server.folder)
        let small = HTTPRequest(url: try server.url("/small"))
        await withTaskGroup(of: HTTPHead?.self) { group in
            for _ in 0..<100 { group.addTask { try? await client.data(small).0 } }
            for await head in group { #expect(head?.httpVersion == .http2) }
        }
        let large = HTTPRequest(url: try server.url("/large"), bodyLimit: 4 << 20)
        let (head, body) = try await client.data(large)
        #expect(head.httpVersion == .http1_1)
        #expect(body == server.large)
        #expect(Set(try server.connections("/small")).count == 1)
        #expect(Set(try server.connections("/large")).count == 1)
    }

    @Test(arguments: [0, 1 << 20])
    func `parts of a file arrive over either HTTP, many at once and under a limit`(
        rate: Int
    ) async throws {
        let server = try await SecureServer.running()
        let client = HTTPClient(
            configuration: HTTPConfiguration(
                caFile: server.folder.path("ca.pem"), limitRate: rate > 0 ? rate : nil))
        let file = try File(server.folder.path("large"), for: .read)
        let sizes = (0..<16).map { ($0, $0 == 15 ? 1_100_000 : 20_000 + $0) }
        let start = ContinuousClock.now
        try await withThrowingTaskGroup(of: (Int, HTTPHead).self) { group in
            for (number, size) in sizes {
                var request = HTTPRequest(.put, url: try server.url("/put/\(number)"))
                request.body = .file(file, offset: Int64(number * 1000), count: size)
                group.addTask { [request] in (number, try await client.data(request).0) }
            }
            for try await (number, head) in group {
                #expect(head.status == 201)
                #expect(head.httpVersion == (number == 15 ? .http1_1 : .http2))
            }
        }
        let total = sizes.reduce(0) { $0 + $1.1 }
        let least = rate > 0 ? Double(total - rate / 4) / Double(rate) : 0
        #expect(ContinuousClock.now - start >= .seconds(least))
        for (number, size) in sizes {
            let stored = try Data(contentsOf: server.folder.url.appending(path: "put/\(number)"))
            #expect(stored.elementsEqual(server.large[number * 1000..<number * 1000 + size]))
        }
    }

    @Test func `a paused small body holds up nobody on its connection`() async throws {
        let server = try await SecureServer.running()
        let client = client(trusting: server.folder)
        let paused = Gate()
        let ended = Gate()
        let isFirst = Locked(true)
        let sink = TestSink(onReceive: { _ in
            let first = isFirst.withLock { first in
                defer { first = false }
                return first
            }
            if first { paused.open() }
            return first ? .pause : .more
        })
        let medium = HTTPRequest(url: try server.url("/medium"))
        let control = client.start(medium, into: sink) { _ in ended.open() }
        #expect(await paused.opened())
        for _ in 0..<20 {
            let (head, body) = try await client.data(medium)
            #expect(head.httpVersion == .http2)
            #expect(body == server.medium)
        }
        control.resume()
        #expect(await ended.opened())
        #expect(sink.bytes == server.medium)
    }

    @Test func `a cancelled stream leaves its connection to the others`() async throws {
        let server = try await SecureServer.running()
        let client = client(trusting: server.folder)
        let medium = HTTPRequest(url: try server.url("/medium"))
        for _ in 0..<20 {
            let sink = TestSink(onBegin: { _, control in
                control.cancel()
                return .pause
            })
            await #expect(throws: HTTPError.self) {
                try await client.send(medium, into: sink)
            }
        }
        #expect(try await client.data(medium).1 == server.medium)
        #expect(Set(try server.connections("/medium")).count == 1)
    }

    @Test func `a server that dies cuts all who share its connection`() async throws {
        let server = try await SecureServer.running()
        let client = client(trusting: server.folder)
        let begun = Gate()
        let ended = Gate()
        let codes = Locked<[HTTPError.Code?]>([])
        for _ in 0..<5 {
            let sink = TestSink(onBegin: { _, _ in
                begun.open()
                return .more
            })
            client.start(HTTPRequest(url: try server.url("/slow")), into: sink) { result in
                switch result {
                case .success: codes.withLock { $0.append(nil) }
                case .failure(let error): codes.withLock { $0.append(error.code) }
                }
                ended.open()
            }
        }
        for _ in 0..<5 { #expect(await begun.opened()) }
        server.stop()
        for _ in 0..<5 { #expect(await ended.opened()) }
        #expect(codes.withLock { $0 } == Array(repeating: .cut, count: 5))
    }
}

/// Makes an authority and a certificate in a folder of its own.
final class CertificateFolder: Sendable {
    let url: URL

    init(host: String, days: Int) throws {
        url = testsFolder.appending(path: "lazysync-tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
        try openssl("req -x509 \(key) -subj /CN=CA -days 2 -keyout @ca.key -out @ca.pem")
        try openssl("req \(key) -subj /CN=server -keyout @server.key -out @server.csr")
        try Data("subjectAltName=\(host)\n".utf8).write(to: url.appending(path: "ext"))
        try openssl(
            "x509 -req -in @server.csr -CA @ca.pem -CAkey @ca.key -CAcreateserial -extfile @ext "
                + "-days \(days) -out @server.pem")
    }

    deinit { removeFolder(url) }

    func path(_ name: String) -> String { url.appending(path: name).path }

    /// Runs openssl; "@" stands for the folder.
    private func openssl(_ arguments: String) throws {
        let words = arguments.split(separator: " ").map {
            $0.replacingOccurrences(of: "@", with: url.path + "/")
        }
        guard wait(for: try launch("/usr/bin/openssl", words)) == 0 else {
            throw CocoaError(.executableLoad)
        }
    }
}

/// Runs nginx over TLS with HTTP/2 on a free port, as long as these tests live.
final class SecureServer: Sendable {
    let folder: CertificateFolder
    let port: UInt16
    let medium = pattern(300_000)
    let large = pattern(3_000_000)
    private let process: pid_t
    /// Closed, also because these tests were killed, it ends the server.
    private let life: FileHandle

    /// Starts a server on a thread of its own, for that takes a while and tasks' threads are few.
    static func running(host: String = "IP:127.0.0.1", days: Int = 2) async throws -> SecureServer {
        try await withCheckedThrowingContinuation { continuation in
            spawn { continuation.resume(with: Result { try SecureServer(host: host, days: days) }) }
        }
    }

    private init(host: String, days: Int) throws {
        folder = try CertificateFolder(host: host, days: days)
        // Free a moment ago; nobody else binds fixed ports here.
        port = ScriptedServer { _ in }.port
        let url = folder.url
        try Data("small".utf8).write(to: url.appending(path: "small"))
        try Data(medium).write(to: url.appending(path: "medium"))
        try Data(large).write(to: url.appending(path: "large"))
        let configuration = """
            daemon off; master_process off; pid \(url.path)/pid; error_log \(url.path)/errors;
            events { worker_connections 512; }
            http {
                log_format plain '$connection $uri';
                access_log \(url.path)/log plain;
                client_body_temp_path \(url.path)/b; proxy_temp_path \(url.path)/p;
                fastcgi_temp_path \(url.path)/f; uwsgi_temp_path \(url.path)/u;
                scgi_temp_path \(url.path)/s;
                server {
                    listen 127.0.0.1:\(port) ssl http2;
                    ssl_certificate \(url.path)/server.pem;
                    ssl_certificate_key \(url.path)/server.key;
                    root \(url.path);
                    location = /slow { limit_rate 20k; alias \(url.path)/medium; }
                    location /put/ {
                        dav_methods PUT; create_full_put_path on; client_max_body_size 16m;
                    }
                }
            }
            """
        try Data(configuration.utf8).write(to: url.appending(path: "conf"))
        var ends: [CInt] = [0, 0]
        guard pipe(&ends) == 0 else { throw CocoaError(.executableLoad) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        life = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
        process = try launch(
            "/bin/sh",
            [
                "-c", #""$@" & cat >/dev/null; kill -KILL $!"#, "sh",
                "/usr/sbin/nginx", "-p", url.path, "-c", url.path + "/conf",
                "-e", url.path + "/errors",
            ], reading: ends[0])
        try awaitListening()
    }

    deinit {
        stop()
        wait(for: process)
    }

    func stop() { try? life.close() }

    func url(_ path: String) throws -> HTTPURL {
        try HTTPURL("https://127.0.0.1:\(port)\(path)")
    }

    /// The number of the connection of each request for this path.
    func connections(_ path: String) throws -> [String] {
        try String(contentsOf: folder.url.appending(path: "log"), encoding: .utf8)
            .split(separator: "\n").map { $0.split(separator: " ") }
            .filter { $0.last ?? "" == path }.map { String($0[0]) }
    }

    private func awaitListening() throws {
        for _ in 0..<200 {
            let socket = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
            defer { close(socket) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            let isConnected = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
            if isConnected { return }
            Gate().wait(seconds: 0, milliseconds: 20)
        }
        throw CocoaError(.fileReadUnknown)
    }
}

/// Starts a program that says nothing, with all signals unblocked.
///
/// Foundation's Process hands down the blocked signals of the thread that starts it, and waits with
/// a run loop.
private func launch(
    _ program: String, _ arguments: [String], reading input: CInt? = nil
) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for stream: CInt in 0...2 {
        posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0)
    }
    if let input { posix_spawn_file_actions_adddup2(&actions, input, 0) }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var process = pid_t()
    let code = posix_spawn(&process, program, &actions, &attributes, &words, environ)
    guard code == 0 else { throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO) }
    return process
}

/// Waits for a program's end and returns its status.
@discardableResult
private func wait(for process: pid_t) -> CInt {
    var status: CInt = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    return status
}
