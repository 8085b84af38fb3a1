import LazySync

extension Verb {
    static let recoveryKey = Verb(
        name: "recovery-key",
        summary: "make a new recovery key, and show it once",
        usage: """
            usage: sync recovery-key

            Makes a new recovery key for the account and shows it. The one before opens nothing more.
            Needs the account's key on this device, and the server.

            examples
              sync recovery-key
              sync recovery-key --json | jq -r .recoveryKey
            """,
        usesNetwork: true,
        run: recoveryKey)

    private static func recoveryKey(_ context: Context) async throws -> ExitCode {
        let engine = try await context.openEngine()
        let key = try await engine.newRecoveryKey()
        context.console.print(
            ["account": .string(engine.account), "recoveryKey": .string(key)],
            text: ["recovery key: \(key)"])
        context.console.note("write it down: it is not shown again, and the one before is void")
        return .done
    }
}
