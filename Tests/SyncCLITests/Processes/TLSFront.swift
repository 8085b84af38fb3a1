import Foundation

/// TLS in front of a server: a program that takes connections with a certificate of its own making
/// and passes their bytes on.
final class TLSFront: Sendable {
    private let scratch: Scratch
    private let program: Program
    let url: String

    /// The authority that signed the certificate.
    var authority: String { scratch["ca.pem"].path }

    /// Stands in front of a port of this machine; `name` is what the certificate is for.
    init(before port: UInt16, name: String = "IP:127.0.0.1") async throws {
        scratch = try Scratch()
        try await Certificates.make(in: scratch.url, for: name)
        program = try Program(
            "/usr/bin/python3", ["-c", Self.text, scratch["server.pem"].path, "\(port)"])
        url = "https://127.0.0.1:\(try await program.line())"
    }

    /// It ends with the pipe that it reads.
    private static let text = """
        import os, socket, ssl, sys, threading
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1])
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)

        def pump(source, target):
            try:
                while data := source.recv(65536):
                    target.sendall(data)
            except OSError:
                pass
            try:
                target.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

        def serve(raw):
            try:
                front = context.wrap_socket(raw, server_side=True)
                back = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
            except OSError:
                return
            threading.Thread(target=pump, args=(back, front), daemon=True).start()
            pump(front, back)

        def accept():
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        sys.stdin.read()
        """
}
