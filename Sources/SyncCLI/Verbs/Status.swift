import LazySync

extension Verb {
    static let status = Verb(
        name: "status",
        summary: "show the account, the head, the states and the cache",
        usage: """
            usage: sync status

            Shows the account, the server, the last head and whether it was verified, the session,
            whose catalog is open and where it is, attachments by state, what the cache takes, how
            many items wait to be sent, and flags for what needs a person's attention. Nothing is
            sent.

            flags
              headMismatch        the server's answers do not add up: decide with 'sync trust'
              imported            a file brought the catalog: 'sync restore' checks it
              trusting            'sync trust' did not come to its end: 'sync restore' goes on
              heldDeletions       the head removes more than one would expect: decide with 'sync trust'
              containerMissing    SYNC_CONTAINER names a folder that is not there
              twoPlaces           both places have a catalog: decide with 'sync adopt'
              moveFailed          the catalog could not move to the container; it is where it was
              moveUnfinished      something could not follow yet: the catalog is only read
              leftBehind          files of an account that nobody is logged in to

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
            "place": .string(place.rawValue),
            "folder": .string(folder),
            "schema": .integer(schema),
            "states": .object(counts.map { .init(key: $0.state, value: .integer($0.count)) }),
            "cache": cache.json,
            "outbox": .integer(outbox),
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
            "place": "\(place.rawValue), \(folder.visible)",
            "schema": "\(schema)",
            "states": counts.map { "\($0.count) \($0.state)" }.joined(separator: ", "),
            "cache": cache.text,
            "pinned": cache.pinsAll ? CacheUse.everything : nil,
            "outbox": outbox == 0 ? "0" : "\(Quantity.count(outbox, "item")) to be sent",
            "flags": flags.isEmpty ? nil : flags.joined(separator: " "),
        ]
    }

    /// All four states in their order, also those that no attachment has.
    private var counts: [(state: String, count: Int)] {
        BlobState.names.map { ($0, states[$0] ?? 0) }
    }
}
