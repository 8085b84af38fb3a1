import LazySync

extension Verb {
    static let run = Verb(
        name: "run",
        summary: "restore, then push",
        usage: """
            usage: sync run [--no-thumbnails]

            Brings the catalog up to date as 'sync restore' does, and sends what was changed here as
            'sync push' does. Prints both summaries; exits with 5 if something is missing or waits.

            options
              --no-thumbnails     brings addresses only

            examples
              sync run
              sync run --no-thumbnails --quiet
              sync run --json | jq .push.waiting
            """,
        options: [.noThumbnails],
        usesNetwork: true,
        run: run)

    private static func run(_ context: Context) async throws -> ExitCode {
        let engine = try await context.openEngine()
        let thumbnails = !context.arguments.has(.noThumbnails)
        let restored = try await context.console.withProgress { feed in
            try await engine.restore(thumbnails: thumbnails, progress: feed.ofRestore)
        }
        let pushed = try await context.push(engine)
        let output = context.console.output
        context.console.print(
            ["restore": restored.json, "push": pushed.json],
            text: output.facts(restored.facts) + output.facts(pushed.facts))
        context.console.report(pushed.failures)
        if let failure = restored.failure {
            context.console.report(failure)
            return .partial
        }
        return pushed.exit
    }
}
