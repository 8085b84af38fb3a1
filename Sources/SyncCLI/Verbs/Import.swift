import LazySync

extension Option {
    fileprivate static let replace = flag("replace")
}

extension Verb {
    static let `import` = Verb(
        name: "import",
        summary: "make the catalog out of an exported file",
        usage: """
            usage: sync import FILE [--replace]

            Makes the catalog out of a file that 'sync export' wrote ('-' for standard input). All of
            the file is checked first; if anything is wrong with it, the line is named and nothing is
            imported. Lists work at once; bytes come after 'sync login' to the same account, and the
            next restore puts right whatever in the file is old or was changed. A catalog that is not
            empty is not touched.

            options
              --replace           in the place of a catalog of a newer version or a damaged one, as after
                                  a step back to an older program; a copy of the old file is kept,
                                  and opened files come again

            examples
              sync import catalog.jsonl
              sync import catalog.jsonl --replace
              gunzip < catalog.jsonl.gz | sync import -
            """,
        operands: .one("FILE"),
        options: [.replace],
        run: `import`)

    private static func `import`(_ context: Context) async throws -> ExitCode {
        let path = context.arguments.operands[0]
        let report = try await SyncEngine.importCatalog(
            from: path == "-" ? Host.inputPath : path, replacing: context.arguments.has(.replace),
            context.configuration)
        context.console.print(
            [
                "account": .string(report.account),
                "items": .integer(report.items),
                "attachments": .integer(report.attachments),
                "head": .unsigned(report.head),
                "leftOut": .integer(report.leftOut),
                "kept": .string(orNull: report.kept),
            ],
            text: context.console.output.facts([
                "account": report.account,
                "items": "\(report.items)",
                "attachments": "\(report.attachments)",
                "head": "\(report.head), not verified",
                "left out": report.leftOut == 0
                    ? nil : "\(report.leftOut), which only a newer program knows",
                "kept": report.kept,
            ]))
        context.console.note("'sync restore' checks it against the server, after a login")
        return .done
    }
}
