import LazySync

extension Verb {
    static let export = Verb(
        name: "export",
        summary: "write the catalog to a file",
        usage: """
            usage: sync export FILE

            Writes the catalog as JSON, an object a line: every item with title, text and times, every
            attachment with name, size and address. It has no keys and no tokens, and no bytes of
            attachments; but names, titles and texts stand in it in plain, so keep it as you would keep
            them. The same content gives the same file, on whatever device: what was changed here and
            was not sent yet is not in it. Nothing is ever written over. For '-' the file goes to
            standard output, and nothing else does.

            examples
              sync export catalog.jsonl
              sync export - | gzip > catalog.jsonl.gz
              sync export - --quiet | sha256sum
            """,
        operands: .one("FILE"),
        run: export)

    private static func export(_ context: Context) async throws -> ExitCode {
        let engine = try await context.openEngine()
        let path = context.arguments.operands[0]
        guard path != "-" else {
            let report = try await engine.export { Host.write($0, to: .output) }
            context.console.note("exported \(report.items) items")
            noteUnsent(report, context)
            return .done
        }
        let report = try await engine.export(to: path)
        context.console.print(
            [
                "path": .string(path),
                "items": .integer(report.items),
                "attachments": .integer(report.attachments),
                "waiting": .integer(report.waiting),
                "unsent": .integer(report.unsent),
                "bytes": .integer(report.bytes),
            ],
            text: context.console.output.facts([
                "items": "\(report.items)",
                "attachments": "\(report.attachments)",
                "waiting": report.waiting == 0 ? nil : "\(report.waiting)",
                "written": Quantity.size(report.bytes),
            ]))
        noteUnsent(report, context)
        return .done
    }

    private static func noteUnsent(_ report: ExportReport, _ context: Context) {
        switch report.unsent {
        case 0: return
        case 1: context.console.note("1 item has changes that are not in the file: push first")
        case let count:
            context.console.note("\(count) items have changes that are not in the file: push first")
        }
    }
}
