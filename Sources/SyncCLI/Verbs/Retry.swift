import LazySync

extension Option {
    fileprivate static let all = flag("all")
}

extension Verb {
    static let retry = Verb(
        name: "retry",
        summary: "ask again for what is unavailable",
        usage: """
            usage: sync retry ID | --all

            Sends a new request for bytes that are unavailable, whatever time was still to wait, and
            prints the new states: id, state, name.

            options
              --all               everything that was asked for and is unavailable

            examples
              sync retry 4f2a9c01
              sync retry --all --json
            """,
        operands: .optional("ID"),
        options: [.all],
        usesNetwork: true,
        keepsBytes: true,
        run: retry)

    private static func retry(_ context: Context) async throws -> ExitCode {
        let one = try context.arguments.oneOrAll(.all)
        let engine = try await context.openEngine()
        let keys =
            if let one {
                [try await engine.resolveAttachment(one)]
            } else { try await engine.unavailable() }
        return try await context.forEach(keys, named: { "\($0.id)" }) { key in
            let explanation = try await context.console.withProgress { feed in
                try await engine.retry(key, progress: feed.ofBytes)
            }
            let output = context.console.output
            let attachment = explanation.attachment
            context.console.print(
                explanation.json,
                text: [
                    [output.id(key.id), attachment.state.text, attachment.name.visible]
                        .joined(separator: output.columns == nil ? "\t" : "  ")
                ])
            if let reason = attachment.state.reason {
                var failure = Failure(key, unavailable: reason, "still unavailable")
                failure.nextAttempt = explanation.evidence.nextAttempt
                failure.hint = explanation.hint
                throw failure
            }
        }
    }
}
