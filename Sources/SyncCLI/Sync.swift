/// The command `sync`: words in, one verb, an exit code out.
@main
enum Sync {
    static func main() async {
        await Host.exit(run(Array(CommandLine.arguments.dropFirst())))
    }

    /// Runs the command line and answers for every failure in it.
    ///
    /// Concurrent, because `main` stands on the main actor and each hop from there costs 20 µs:
    /// this is the only one.
    @concurrent
    static func run(_ words: [String]) async -> ExitCode {
        Host.prepare()
        let console = Console(words)
        do {
            let (verb, arguments) = try Verb.choose(from: words)
            let context = try Context(arguments: arguments, console: console)
            do {
                return try await Interrupt.cancelling { try await verb.run(context) }
            } catch  where verb.keepsBytes && error as? Failure == .interrupted {
                throw Failure.interruptedKeeping
            }
        } catch {
            let failure = Failure(error, verbose: console.verbose)
            console.report(failure)
            return failure.exit
        }
    }
}
