import Foundation

@testable import MockServer

/// A second server that is not ours: nginx, which serves an account's blobs itself, as static files,
/// and passes everything else on to the test server.
///
/// It does not look at tokens: whether a device may read is the test server's to say, and tested
/// there. It needs no root. Its files go with its owner, and so does its process, also when the
/// tests are killed.
final class NginxFront: Sendable {
    /// What it speaks.
    enum Speech: String, Sendable, CaseIterable {
        /// HTTP/1.1, on this machine alone.
        case plain
        /// HTTP/2 and HTTP/1.1 over TLS, with a certificate of a private authority.
        case secure
    }

    /// One request for a blob, as nginx logged it when its answer ended.
    struct Request: Sendable {
        let status: Int
        let version: String
        let range: String?
        let ifRange: String?
        let etag: String?
        let bytes: Int
        let path: String
    }

    static let program = "/usr/sbin/nginx"
    static let isPossible = FileManager.default.isExecutableFile(atPath: program)

    let url: String
    private let scratch: Scratch
    private let supervisor: Program

    /// Stands in front of a device's server; `rate` limits the bytes a second of each answer.
    init(before device: Device, _ speech: Speech, rate: Int = 0) async throws {
        scratch = try Scratch()
        try FileManager.default.copyItem(
            at: device.account.folder.appendingPathComponent("blobs"), to: scratch["blobs"])
        if speech == .secure { try await Certificates.make(in: scratch.url, for: "IP:127.0.0.1") }
        let text = Self.configuration(in: scratch, before: device.server.port, speech, rate: rate)
        try Data(text.utf8).write(to: scratch["conf"])
        supervisor = try Program(
            "/usr/bin/python3", ["-c", Self.supervision, Self.program, scratch.path])
        let port = try await supervisor.line()
        url = (speech == .plain ? "http" : "https") + "://127.0.0.1:\(port)"
    }

    /// The authority that signed the certificate.
    var authority: String { scratch["ca.pem"].path }

    /// A blob's file, to be changed behind everybody's back.
    func blob(_ record: String) -> URL { scratch["blobs/\(record)"] }

    /// Cuts all connections: the process ends, and another takes its place at the same port.
    func cut() throws { try supervisor.write("again\n") }

    /// The requests for a blob whose answers have ended.
    func requests(for record: String) throws -> [Request] {
        let log = try String(contentsOf: scratch["log"], encoding: .utf8)
        return log.split(separator: "\n").compactMap { line in
            let words = line.split(separator: "|", omittingEmptySubsequences: false)
                .map(String.init)
            guard words.count == 7, words[6] == "/v1/blobs/" + record, let status = Int(words[0]),
                let bytes = Int(words[5])
            else { return nil }
            func word(_ index: Int) -> String? { words[index].isEmpty ? nil : words[index] }
            return Request(
                status: status, version: words[1], range: word(2), ifRange: word(3),
                etag: word(4), bytes: bytes, path: words[6])
        }
    }

    /// `LISTENER` is what the supervisor puts in.
    private static func configuration(
        in scratch: Scratch, before port: UInt16, _ speech: Speech, rate: Int
    ) -> String {
        let folder = scratch.path
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
            "\($0)_temp_path \(folder)/\($0);"
        }
        let tls = """
            ssl_certificate \(folder)/server.pem; ssl_certificate_key \(folder)/server.pem;
            """
        return """
            daemon off; user root; worker_processes 1; pid \(folder)/pid;
            events { worker_connections 512; }
            http {
                \(temporary.joined(separator: " "))
                log_format told escape=none
                    '$status|$server_protocol|$http_range|$http_if_range|$sent_http_etag|$body_bytes_sent|$uri';
                access_log \(folder)/log told;
                types {} default_type application/octet-stream;
                server {
                    listen LISTENER\(speech == .secure ? " ssl http2" : "");
                    \(speech == .secure ? tls : "")
                    location /v1/blobs/ { alias \(folder)/blobs/; limit_rate \(rate); }
                    location / {
                        proxy_pass http://127.0.0.1:\(port);
                        proxy_http_version 1.1;
                        proxy_set_header Host $http_host;
                    }
                }
            }
            """
    }

    /// It binds a port and hands it to nginx, as nginx's own older process would.
    ///
    /// It ends with the pipe that it reads, and nginx with it. Each line has nginx begin again.
    private static let supervision = """
        import ctypes, os, signal, socket, subprocess, sys
        program, folder = sys.argv[1:]
        listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        number, port = listener.fileno(), listener.getsockname()[1]
        with open(folder + "/conf") as file:
            text = file.read().replace("LISTENER", f"127.0.0.1:{port}")
        with open(folder + "/conf", "w") as file:
            file.write(text)
        libc = ctypes.CDLL(None)

        def start():
            return subprocess.Popen(
                [program, "-p", folder, "-c", folder + "/conf", "-e", folder + "/errors"],
                env=dict(os.environ, NGINX=f"{number};"), pass_fds=[number],
                preexec_fn=lambda: libc.prctl(1, signal.SIGTERM))

        nginx = start()
        print(port, flush=True)
        for line in sys.stdin:
            nginx.terminate()
            nginx.wait()
            nginx = start()
        nginx.terminate()
        nginx.wait()
        """
}
