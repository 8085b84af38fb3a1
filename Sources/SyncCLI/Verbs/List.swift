import LazySync

extension Option {
    fileprivate static let state = value("state", "S")
    fileprivate static let type = value("type", "T")
    fileprivate static let limit = value("limit", "N")
    fileprivate static let after = value("after", "ID")
}

extension Verb {
    static let list = Verb(
        name: "list",
        summary: "list attachments, newest first",
        usage: """
            usage: sync list [--state S] [--type T] [--limit N] [--after ID]

            Lists attachments, newest first: id, state, size, type, name, item; for what has still to
            be sent also waiting, sending or refused, with the reason. On a terminal the columns are
            aligned and cut to fit; otherwise they are whole, between tabs.

            options
              --state S           only those that are remote, pending, here or unavailable
              --type T            only a media type (image/jpeg), or its first half (image)
              --limit N           at most N lines, from 1 to 100000; 100 if left out
              --after ID          go on after this attachment

            examples
              sync list
              sync list --state unavailable
              sync list --type image --limit 1000 --json
              sync list --after 4f2a9c01
            """,
        options: [.state, .type, .limit, .after],
        run: list)

    private static func list(_ context: Context) async throws -> ExitCode {
        let arguments = context.arguments
        var query = AttachmentQuery(
            state: try arguments.word(.state, of: BlobState.names),
            type: arguments[.type])
        query.limit = try arguments.integer(.limit, in: 1...100_000) ?? 100
        let engine = try await context.openEngine()
        if let id = arguments[.after] { query.after = try await engine.resolveAttachment(id) }
        let attachments = try await engine.attachments(query)
        context.console.print(context.console.output.lines(attachments))
        context.console.noteMore(
            after: attachments.count == query.limit ? attachments.last?.key : nil)
        return .done
    }
}
