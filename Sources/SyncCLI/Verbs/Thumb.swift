import LazySync

extension Verb {
    static let thumb = Verb(
        name: "thumb",
        summary: "print the path of an attachment's thumbnail",
        usage: """
            usage: sync thumb ID

            Brings the thumbnail here if it is not, and prints its path. An id may be cut as for
            'sync open'.

            examples
              sync thumb 4f2a9c01
              sync thumb 4f2a --json
            """,
        operands: .one("ID"),
        usesNetwork: true,
        run: thumb)

    private static func thumb(_ context: Context) async throws -> ExitCode {
        let engine = try await context.openEngine()
        let key = try await engine.resolveAttachment(context.arguments.operands[0])
        return try await context.present(key) { try await engine.thumbnail(key) }
    }
}
