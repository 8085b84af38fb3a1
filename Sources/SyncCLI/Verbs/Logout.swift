import LazySync

extension Option {
    fileprivate static let discardUnsent = flag("discard-unsent")
}

extension Verb {
    static let logout = Verb(
        name: "logout",
        summary: "forget the session and everything of the account",
        usage: """
            usage: sync logout [--discard-unsent]

            Forgets the session, the keys, the catalog and the files of the account on this device. The
            account on the server stays as it is. Offline, all of that is done too, and the server's
            session lives on until it ends by itself. If something was changed here and not sent, it
            does nothing, names the items and exits with 4.

            options
              --discard-unsent    also if changes are lost by it

            examples
              sync logout
              sync push && sync logout
              sync logout --home ~/trial
            """,
        options: [.discardUnsent],
        usesNetwork: true,
        run: logout)

    private static func logout(_ context: Context) async throws -> ExitCode {
        let (account, serverKnows) = try await SyncEngine.logout(
            context.configuration, discardingUnsent: context.arguments.has(.discardUnsent))
        context.console.print(
            ["account": .string(account), "serverKnows": .bool(serverKnows)],
            text: ["logged out \(account.visible)"])
        if !serverKnows {
            context.console.note(
                "the server could not be told; its session lives on until it ends by itself")
        }
        return .done
    }
}
