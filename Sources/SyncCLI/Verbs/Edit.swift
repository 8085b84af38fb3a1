import LazySync

extension Verb {
    static let edit = Verb(
        name: "edit",
        summary: "change an item's title or text",
        usage: """
            usage: sync edit ITEM [--title T] [--text-file F|-]

            Changes an item's title, its text, or both. An empty text takes it away. It works offline,
            and 'sync push' sends it. Prints the item's id.

            options
              --title T           the new title
              --text-file F|-     the new text, from a file or standard input

            examples
              sync edit 9d41c7e0 --title 'Trip to Jeju, May'
              sync edit 9d41c7e0 --text-file plan.md
              sync show 9d41c7e0 --json | jq -j .text | sed s/May/June/ |
                  sync edit 9d41c7e0 --text-file -
            """,
        operands: .one("ITEM"),
        options: [.title, .textFile],
        run: edit)

    private static func edit(_ context: Context) async throws -> ExitCode {
        let arguments = context.arguments
        guard arguments.has(.title) || arguments.has(.textFile) else {
            throw arguments.wrong("'edit' needs --title or --text-file")
        }
        let edit = ItemEdit(title: arguments[.title], text: try arguments.text())
        let engine = try await context.openEngine()
        let item = try await engine.resolveItem(arguments.operands[0])
        try await engine.edit(item, edit)
        context.console.print(context.console.output.lines([Changed(item: item)]))
        return .done
    }
}
