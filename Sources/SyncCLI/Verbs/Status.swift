import LazySync

extension Verb {
    static let status = Verb(
        name: "status",
        summary: "show the account, the head, the states and the cache",
        usage: """
            usage: sync status

            Shows the account, the server, the last head and whether it was verified, the session,
            attachments by state, and what the cache takes. Nothing is sent.

            examples
              sync status
              sync status --json | jq .states
            """,
        run: status)

    private static func status(_ context: Context) async throws -> ExitCode {
        let status = try await context.openEngine().status()
        context.console.print(status.json, text: context.console.output.facts(status.facts))
        return .done
    }
}

extension EngineStatus {
    var json: JSON {
        [
            "account": .string(account),
            "server": .string(server),
            "head": .unsigned(head),
            "verified": .bool(verified),
            "session": .string(session),
            "scope": .string(scope.description),
            "schema": .integer(schema),
            "states": .object(counts.map { .init(key: $0.state, value: .integer($0.count)) }),
            "cache": cache.json,
            "outbox": .integer(0),
            "flags": .array(flags.map(JSON.string)),
        ]
    }

    fileprivate var facts: KeyValuePairs<String, String?> {
        [
            "account": account,
            "server": server,
            "head": "\(head), \(verified ? "verified" : "not verified")",
            "session": session,
            "scope": scope.description,
            "schema": "\(schema)",
            "states": counts.map { "\($0.count) \($0.state)" }.joined(separator: ", "),
            "cache": cache.text,
            "outbox": "0",
            "flags": flags.isEmpty ? nil : flags.joined(separator: " "),
        ]
    }

    /// All four states in their order, also those that no attachment has.
    private var counts: [(state: String, count: Int)] {
        BlobState.names.map { ($0, states[$0] ?? 0) }
    }
}
