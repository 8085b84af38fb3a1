import LazySync

/// What a verb works with: its words, a place to print, and the way to the engine.
struct Context: Sendable {
    let arguments: Arguments
    let console: Console
    let configuration: EngineConfiguration

    /// Reads what the options of every verb say.
    init(arguments: Arguments, console: Console) throws(Failure) {
        self.arguments = arguments
        self.console = console
        var configuration = EngineConfiguration(home: arguments[.home])
        configuration.limitRate = try arguments.rate(.limitRate)
        self.configuration = configuration
    }

    /// Opens the account that is logged in; a line shows how far it is if that takes long.
    func openEngine() async throws -> SyncEngine {
        try await console.withProgress { feed in
            var configuration = configuration
            configuration.migrating = feed.ofMigration
            configuration.waiting = { [console] in console.tell($0) }
            return try await SyncEngine.open(configuration)
        }
    }

    /// Does the same for each operand, reports the failures, and adds them up.
    ///
    /// Of several, each failure says which one it is about, and what to do stands once behind all.
    /// An interruption ends the whole.
    func forEach<Subject>(
        _ subjects: [Subject], named name: (Subject) -> String,
        _ body: (Subject) async throws -> Void
    ) async throws -> ExitCode {
        var tally = Tally()
        var hints: [String] = []
        defer { console.report(hints: hints) }
        for subject in subjects {
            do {
                try await body(subject)
                tally.succeeded()
            } catch {
                if Task.isCancelled { throw Failure.interrupted }
                let failure = Failure(error, verbose: console.verbose)
                tally.failed(failure.exit)
                guard subjects.count > 1 else {
                    console.report(failure)
                    continue
                }
                let one = failure.about(name(subject))
                console.report(console.output.json ? one : one.withoutHint)
                if let hint = failure.hint, !hints.contains(hint) { hints.append(hint) }
            }
        }
        return tally.exit
    }
}
