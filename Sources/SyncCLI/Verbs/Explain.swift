import LazySync

extension Verb {
    static let explain = Verb(
        name: "explain",
        summary: "say all that is known about an attachment's bytes",
        usage: """
            usage: sync explain ID

            Prints the attachment's address, its state with the reason and the evidence for it, the
            attempts, and the file; of one that was added here, also how far it is on its way out.

            examples
              sync explain 4f2a9c01
              sync explain 4f2a --json
            """,
        operands: .one("ID"),
        run: explain)

    private static func explain(_ context: Context) async throws -> ExitCode {
        let engine = try await context.openEngine()
        let key = try await engine.resolveAttachment(context.arguments.operands[0])
        let explanation = try await engine.explain(key)
        context.console.print(
            explanation.json, text: context.console.output.facts(explanation.facts))
        return .done
    }
}

extension Explanation {
    /// The object of `explain` and `retry`.
    var json: JSON {
        [
            "id": .string(attachment.key.id.description),
            "state": .string(attachment.state.name),
            "reason": attachment.state.reason.map { .string($0.rawValue) },
            "address": .string(orNull: recordName),
            "evidence": [
                "status": .integer(orNull: evidence.status),
                "bytes": .integer(evidence.bytes),
                "attempts": .integer(evidence.attempts),
                "lastAttempt": .string(orNull: evidence.lastAttempt?.description),
                "nextAttempt": .string(orNull: evidence.nextAttempt?.description),
                "code": .string(orNull: evidence.code),
                "chunk": .integer(orNull: evidence.chunk),
            ],
            "path": .string(orNull: path),
            "item": .string(attachment.key.item.description),
            "title": .string(attachment.itemTitle),
            "name": .string(attachment.name),
            "type": .string(attachment.type),
            "size": .integer(attachment.size),
            "pinned": .bool(attachment.isPinned),
            "thumb": .string(orNull: attachment.thumbnail?.name),
            "upload": .string(orNull: attachment.upload?.name),
            "uploadReason": attachment.upload?.reason.map { .string($0.rawValue) },
            "help": .string(orNull: hint),
        ]
    }

    fileprivate var facts: KeyValuePairs<String, String?> {
        [
            "id": attachment.key.id.description,
            "item": "\(attachment.key.item) \(attachment.itemTitle)",
            "name": attachment.name,
            "type": attachment.type,
            "size": "\(attachment.size)",
            "state": attachment.state.text,
            "help": hint,
            "pinned": attachment.isPinned ? "yes" : nil,
            "thumbnail": attachment.thumbnail?.text,
            "upload": attachment.upload?.text,
            "address": recordName ?? "none",
            "status": evidence.status.map { "\($0)" },
            "code": evidence.code,
            "bad chunk": evidence.chunk.map { "\($0)" },
            "verified": "\(evidence.bytes) bytes",
            "attempts": "\(evidence.attempts)",
            "last attempt": evidence.lastAttempt?.description,
            "next attempt": evidence.nextAttempt?.description,
            "file": path,
        ]
    }
}
