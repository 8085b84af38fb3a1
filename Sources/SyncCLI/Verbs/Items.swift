import LazySync

extension Option {
    fileprivate static let limit = value("limit", "N")
    fileprivate static let after = value("after", "ID")
}

extension Verb {
    static let items = Verb(
        name: "items",
        summary: "list items, also those without attachments",
        usage: """
            usage: sync items [--limit N] [--after ID]

            Lists items, newest first: id, number of attachments, title.

            options
              --limit N           at most N lines, from 1 to 100000; 100 if left out
              --after ID          go on after this item

            examples
              sync items
              sync items --limit 1000 --json
              sync items --after 9d41c7e0
            """,
        options: [.limit, .after],
        run: items)

    private static func items(_ context: Context) async throws -> ExitCode {
        let limit = try context.arguments.integer(.limit, in: 1...100_000) ?? 100
        let engine = try await context.openEngine()
        var after: EntryID?
        if let id = context.arguments[.after] { after = try await engine.resolveItem(id) }
        let items = try await engine.items(limit: limit, after: after)
        context.console.print(context.console.output.lines(items))
        context.console.noteMore(after: items.count == limit ? items.last?.id : nil)
        return .done
    }
}

extension Output {
    /// A list of items.
    func lines(_ items: [ItemSummary]) -> [String] {
        guard !json else { return items.map(\.json.text) }
        return table(
            [.init(), .init(alignment: .right), .init(isFlexible: true)],
            items.map { [id($0.id), String($0.attachmentCount), $0.title.visible] })
    }
}

extension ItemSummary {
    var json: JSON {
        [
            "id": .string(id.description),
            "title": .string(title),
            "created": .string(orNull: created),
            "modified": .string(orNull: modified),
            "attachments": .integer(attachmentCount),
        ]
    }
}
