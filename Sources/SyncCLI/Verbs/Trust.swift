import LazySync

extension Option {
    fileprivate static let deletions = flag("deletions")
    fileprivate static let keep = flag("keep")
}

extension Verb {
    static let trust = Verb(
        name: "trust",
        summary: "decide what holds if the server does not add up",
        usage: """
            usage: sync trust [--deletions | --keep]

            When the server's answers do not add up (exit 7), nothing is sent and nothing here is
            deleted until a person decides. Only do so if you know why: a server that was set up from a
            backup shows an old account; so does one that lies.

            Without an option, the server's account is taken as it is now, and read again from the
            beginning: its versions replace those that are here; what only this device has is kept,
            and waits to be sent.

            options
              --deletions         carry out the removals that are held because they are so many; what
                                  goes lies in the trash for 30 days
              --keep              keep what they would remove; the next push writes it live again

            examples
              sync status
              sync trust
              sync trust --keep && sync push
            """,
        options: [.deletions, .keep],
        usesNetwork: true,
        run: trust)

    private static func trust(_ context: Context) async throws -> ExitCode {
        let arguments = context.arguments
        let (deletes, keeps) = (arguments.has(.deletions), arguments.has(.keep))
        guard !(deletes && keeps) else {
            throw arguments.wrong("--deletions and --keep are two answers: give one")
        }
        let engine = try await context.openEngine()
        var failure: Failure?
        let decision: Decision
        if deletes {
            decision = .deletions(try await engine.carryOutDeletions())
        } else if keeps {
            decision = .keep(try await engine.keepDeleted())
        } else {
            let report = try await context.console.withProgress { feed in
                try await engine.trustServer(progress: feed.ofRestore)
            }
            decision = .server(report.items)
            failure = report.failure
        }
        let status = try await engine.status()
        context.console.print(
            decision.json(status), text: context.console.output.facts(decision.facts(status)))
        if let failure { throw failure }
        return .done
    }
}

/// What a person decided, and about how many items.
enum Decision {
    case server(Int)
    case deletions(Int)
    case keep(Int)

    private var word: (name: String, items: Int) {
        switch self {
        case .server(let items): ("server", items)
        case .deletions(let items): ("deletions", items)
        case .keep(let items): ("keep", items)
        }
    }

    /// What is held true now.
    func json(_ status: EngineStatus) -> JSON {
        [
            "decision": .string(word.name),
            "items": .integer(word.items),
            "head": .unsigned(status.head),
            "verified": .bool(status.verified),
            "outbox": .integer(status.outbox),
            "flags": .array(status.flags.map(JSON.string)),
        ]
    }

    func facts(_ status: EngineStatus) -> KeyValuePairs<String, String?> {
        let label =
            switch self {
            case .server: "trusted"
            case .deletions: "removed"
            case .keep: "kept"
            }
        return [
            label: Quantity.count(word.items, "item"),
            "head": "\(status.head), \(status.verified ? "verified" : "not verified")",
            "outbox": status.outbox == 0
                ? "0" : "\(Quantity.count(status.outbox, "item")) to be sent",
            "flags": status.flags.isEmpty ? nil : status.flags.joined(separator: " "),
        ]
    }
}
