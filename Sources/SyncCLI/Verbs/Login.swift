import LazySync

extension Option {
    fileprivate static let recoveryKeyFile = value("recovery-key-file", "FILE|-")
}

extension Verb {
    static let login = Verb(
        name: "login",
        summary: "log in, and put the account's key into the key store",
        usage: """
            usage: sync login --server URL --account NAME [OPTIONS]

            Logs in and unwraps the account's key into this device's key store. The passphrase is
            asked for on the terminal, or read from a file; it never comes from the command line or
            the environment.

            options
              --server URL              the server: https://…, or http:// to this machine
              --account NAME            the account's name
              --device NAME             what the account calls this device; its host name if left out
              --passphrase-file FILE|-  read the passphrase from FILE or standard input; one newline
                                        at its end is not part of it
              --recovery-key-file FILE|-
                                        log in with the recovery key instead of the passphrase
              --key-store secret-service|file
                                        where the keys lie: the desktop's Secret Service (default),
                                        or a file that only you can read
              --ca-file F               trust the certificates of F for this server; kept

            examples
              sync login --server https://notes.example --account mina
              pass show notes | sync login --server https://notes.example --account mina \\
                  --passphrase-file - --key-store file
              sync login --server http://127.0.0.1:8080 --account demo --passphrase-file pass.txt
              sync login --server https://notes.example --account mina --recovery-key-file key.txt
            """,
        options: [
            .server, .account, .device, .passphraseFile, .recoveryKeyFile, .keyStore, .caFile,
        ],
        usesNetwork: true,
        run: login)

    private static func login(_ context: Context) async throws -> ExitCode {
        let arguments = context.arguments
        let request = try arguments.loginRequest { () throws(Failure) in
            try secret(arguments)
        }
        let engine = try await SyncEngine.login(request, context.configuration)
        context.console.print(
            ["account": .string(engine.account), "server": .string(engine.server)],
            text: ["logged in as \(engine.account.visible) at \(engine.server.visible)"])
        context.console.note("'sync restore' brings the account here")
        return .done
    }

    /// The passphrase or the recovery key, from where the options say.
    private static func secret(_ arguments: Arguments) throws(Failure) -> LoginRequest.Secret {
        switch (arguments[.passphraseFile], arguments[.recoveryKeyFile]) {
        case (_?, _?):
            throw arguments.wrong("give the passphrase or the recovery key, not both")
        case (nil, let file?):
            .recoveryKey(try Secrets.read("recovery key", from: file))
        case (let file, nil):
            .passphrase(try Secrets.read("passphrase", from: file))
        }
    }
}
