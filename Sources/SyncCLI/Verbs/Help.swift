extension Verb {
    static let help = Verb(
        name: "help",
        summary: "show the verbs, or one verb with examples",
        usage: """
            usage: sync help [VERB]

            examples
              sync help
              sync help open
              sync open --help
            """,
        operands: .optional("VERB"),
        run: help)

    private static func help(_ context: Context) async throws -> ExitCode {
        guard let name = context.arguments.operands.first else {
            context.console.print([overview])
            return .done
        }
        guard let verb = named(name) else {
            throw Failure(usage: "unknown verb '\(name)'", hint: "'sync help' lists the verbs")
        }
        context.console.print([verb.help])
        return .done
    }

    /// The whole help of a verb.
    var help: String {
        var parts = [usage, Option.commonUsage]
        if usesNetwork { parts[1] += "\n" + Option.limitRateUsage }
        return parts.joined(separator: "\n\n")
    }

    /// What `sync help` prints.
    static var overview: String {
        let verbs = all.map { "  \($0.name.padded(to: 15))\($0.summary)" }
        return """
            usage: sync VERB [ARGUMENTS] [OPTIONS]

            verbs
            \(verbs.joined(separator: "\n"))

            \(Option.commonUsage)

            exit codes
              0    done, all of it
              1    failed, none of the below
              2    the words are wrong; nothing was done
              3    not now; again later can help
              4    not without something else
              5    done, and some of it is missing
              6    nobody is logged in, or the login is not good
              7    the server's answers do not add up, or would delete too much
              8    the catalog was written by a newer version
              130  interrupted; what was verified is kept

            'sync help VERB' shows examples. Results go to standard output, all else to standard error.
            """
    }
}
