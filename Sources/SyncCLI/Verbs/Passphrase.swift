import LazySync

extension Verb {
    static let passphrase = Verb(
        name: "passphrase",
        summary: "change the account's passphrase",
        usage: """
            usage: sync passphrase [--passphrase-file FILE|-]

            Changes the passphrase that opens the account; the one before opens nothing more. Devices
            that are logged in stay so, and the recovery key stays what it is. Needs the account's key
            on this device, and the server.

            options
              --passphrase-file FILE|-  read the new passphrase from FILE or standard input instead of
                                        asking for it twice; one newline at its end is not part of it

            examples
              sync passphrase
              pass show notes-new | sync passphrase --passphrase-file -
            """,
        options: [.passphraseFile],
        usesNetwork: true,
        run: passphrase)

    private static func passphrase(_ context: Context) async throws -> ExitCode {
        let engine = try await context.openEngine()
        let new = try Secrets.new("new passphrase", from: context.arguments[.passphraseFile])
        try await engine.changePassphrase(to: new)
        context.console.print(
            ["account": .string(engine.account)],
            text: ["changed the passphrase of \(engine.account.visible)"])
        return .done
    }
}
