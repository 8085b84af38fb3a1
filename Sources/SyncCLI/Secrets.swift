/// Reads what must not stand on a command line.
enum Secrets {
    /// More than this is no passphrase, but the wrong file.
    static let limit = 64 << 10

    /// Reads a secret from a file or standard input (`-`), or asks for it on the terminal.
    ///
    /// One newline at the end is taken off. A terminal does not show what is typed.
    static func read(_ what: String, from path: String?) throws(Failure) -> [UInt8] {
        let secret: [UInt8]
        if path == nil || path == "-", Host.inputIsTerminal {
            secret = try Host.askSecretly(what)
        } else if let path {
            secret = withoutNewline(try Host.read(path, limit: limit))
        } else {
            throw Failure(
                usage: "there is no terminal to ask for the \(what)",
                hint: "use --passphrase-file FILE, or - for standard input")
        }
        guard !secret.isEmpty else { throw Failure(usage: "the \(what) is empty") }
        return secret
    }

    /// Reads a secret that is new: on a terminal it is asked for twice.
    static func new(_ what: String, from path: String?) throws(Failure) -> [UInt8] {
        let secret = try read(what, from: path)
        guard path == nil || path == "-", Host.inputIsTerminal else { return secret }
        guard try Host.askSecretly("the same again") == secret else {
            throw Failure(usage: "the two are not the same")
        }
        return secret
    }

    static func withoutNewline(_ bytes: [UInt8]) -> [UInt8] {
        bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes
    }
}
