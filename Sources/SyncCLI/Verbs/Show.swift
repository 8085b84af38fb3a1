import LazySync

extension Verb {
    static let show = Verb(
        name: "show",
        summary: "show one item with its text",
        usage: """
            usage: sync show ITEM

            Shows an item: title, times, text, attachments. An id may be cut to a beginning that only
            one item has, four digits or more.

            examples
              sync show 9d41c7e0
              sync show 9d41 --json
            """,
        operands: .one("ITEM"),
        run: show)

    private static func show(_ context: Context) async throws -> ExitCode {
        let engine = try await context.openEngine()
        let item = try await engine.item(engine.resolveItem(context.arguments.operands[0]))
        context.console.print(item.json, text: context.console.output.text(item))
        return .done
    }
}

extension Output {
    /// One item with its text and attachments.
    func text(_ item: Item) -> [String] {
        var lines = facts([
            "id": item.id.description,
            "title": item.title,
            "created": item.created,
            "modified": item.modified,
        ])
        if let text = item.text, !text.isEmpty { lines += ["", text.visibleLines] }
        if !item.attachments.isEmpty { lines += [""] + self.lines(item.attachments, pins: true) }
        return lines
    }
}

extension Item {
    var json: JSON {
        [
            "id": .string(id.description),
            "title": .string(title),
            "text": .string(orNull: text),
            "created": .string(orNull: created),
            "modified": .string(orNull: modified),
            "attachments": .array(attachments.map(\.json)),
        ]
    }
}
