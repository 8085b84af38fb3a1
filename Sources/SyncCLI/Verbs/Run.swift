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
        let report = try await context.pushing {
            try await context.console.withProgress { feed in
                try await engine.run(
                    thumbnails: thumbnails, restoring: feed.ofRestore, pushing: feed.ofPush)
            }
        }
        let output = context.console.output
        context.console.print(
            report.json, text: output.facts(report.restore.facts) + output.facts(report.push.facts))
        context.console.report(report.push.failures)
        if let failure = report.restore.failure {
            context.console.report(failure)
            return .partial
        }
        return report.push.exit
    }
}

extension RunReport {
    /// The object of `run` and `watch`.
    var json: JSON { ["restore": restore.json, "push": push.json] }
}
