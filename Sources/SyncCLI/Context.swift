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
            return try await SyncEngine.open(configuration)
        }
    }

    /// Does the same for each operand, reports the failures, and adds them up.
    ///
    /// An interruption ends the whole.
    func forEach(
        _ words: [String], _ body: (String) async throws -> Void
    ) async throws -> ExitCode {
        var tally = Tally()
        for word in words {
            do {
                try await body(word)
                tally.succeeded()
            } catch {
                if Task.isCancelled { throw Failure.interrupted }
                let failure = Failure(error, verbose: console.verbose)
                console.report(words.count > 1 ? failure.about(word) : failure)
                tally.failed(failure.exit)
            }
        }
        return tally.exit
    }
}
