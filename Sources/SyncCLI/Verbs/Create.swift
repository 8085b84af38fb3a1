import LazySync

extension Verb {
    static let create = Verb(
        name: "create",
        summary: "make a new account, and log in to it",
        usage: """
            usage: sync create --server URL --account NAME [OPTIONS]

            Makes a new account on the server and logs in. Its key is made on this device; the server
            never sees it, nor the passphrase. The recovery key is shown once: write it down, it is
            the only way in without the passphrase.

            options
              --server URL              the server: https://…, or http:// to this machine
              --account NAME            the account's name
              --device NAME             what the account calls this device; its host name if left out
              --passphrase-file FILE|-  read the passphrase from FILE or standard input instead of
                                        asking for it twice; one newline at its end is not part of it
              --key-store secret-service|file
                                        where the keys lie: the desktop's Secret Service (default),
                                        or a file that only you can read
              --ca-file F               trust the certificates of F for this server; kept

            examples
              sync create --server https://notes.example --account mina
              sync create --server http://127.0.0.1:8080 --account demo --passphrase-file pass.txt \\
                  --key-store file
            """,
        options: [.server, .account, .device, .passphraseFile, .keyStore, .caFile],
        usesNetwork: true,
        run: create)

    private static func create(_ context: Context) async throws -> ExitCode {
        let arguments = context.arguments
        let request = try arguments.loginRequest { () throws(Failure) in
            .passphrase(try Secrets.new("passphrase", from: arguments[.passphraseFile]))
        }
        let recoveryKey = try await SyncEngine.createAccount(request, context.configuration)
        // Before the login, which can fail: it is not to be had again.
        context.console.print(
            [
                "account": .string(request.account), "server": .string(request.server),
                "recoveryKey": .string(recoveryKey),
            ],
            text: [
                "made the account \(request.account.visible) at \(request.server.visible)",
                "recovery key: \(recoveryKey)",
            ])
        context.console.note("write the recovery key down: it is not shown again")
        let engine = try await SyncEngine.login(request, context.configuration)
        context.console.note("logged in as \(engine.account)")
        return .done
    }
}
