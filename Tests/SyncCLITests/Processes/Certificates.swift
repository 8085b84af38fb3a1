import Foundation

/// Certificates as a person with a server of their own makes them, by openssl.
enum Certificates {
    /// Makes an authority, `ca.pem`, and under it `server.pem`: a server's certificate and its key.
    ///
    /// `name` is what it is for, such as `IP:127.0.0.1` or `DNS:notes.example`.
    static func make(in folder: URL, for name: String) async throws {
        func openssl(_ words: String...) async throws {
            try await run("/usr/bin/openssl", words, in: folder)
        }
        try Data("subjectAltName=\(name)\n".utf8).write(to: folder.appendingPathComponent("names"))
        try await openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-days", "2", "-subj", "/CN=Test authority", "-keyout", "ca.key", "-out", "ca.pem")
        try await openssl(
            "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-subj", "/CN=server", "-keyout", "server.key", "-out", "server.csr")
        try await openssl(
            "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-days", "1", "-extfile", "names", "-out", "server.crt")
        let pem = try ["server.crt", "server.key"].map {
            try String(contentsOf: folder.appendingPathComponent($0), encoding: .utf8)
        }
        try Data(pem.joined().utf8).write(to: folder.appendingPathComponent("server.pem"))
    }
}
