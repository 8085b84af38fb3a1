import LazySync

extension Option {
    fileprivate static let stdout = flag("stdout")
    fileprivate static let view = flag("view")
}

extension Verb {
    static let open = Verb(
        name: "open",
        summary: "bring an attachment's bytes here, and print the file's path",
        usage: """
            usage: sync open ID [--stdout | --view]

            Brings the bytes here if they are not, and prints the file's path. The file is read only
            and stays where it is; 'sync save' makes a copy. An id may be cut to a beginning that only
            one attachment has, four digits or more; one that stands in two items is written ITEM/ID.

            options
              --stdout            write the bytes to standard output, and nothing else; with --json
                                  the object goes to standard error
              --view              also show the file in the desktop's viewer

            examples
              sync open 4f2a9c01
              sync open 4f2a --view
              sync open 4f2a --stdout | pdftotext - - | grep invoice
            """,
        operands: .one("ID"),
        options: [.stdout, .view],
        usesNetwork: true,
        run: open)

    private static func open(_ context: Context) async throws -> ExitCode {
        if context.arguments.has(.stdout), context.arguments.has(.view) {
            throw context.arguments.wrong("--stdout and --view do not go together")
        }
        let engine = try await context.openEngine()
        let key = try await engine.resolveAttachment(context.arguments.operands[0])
        guard !context.arguments.has(.stdout) else {
            return try await context.present(key, sizeFrom: engine, toOutput: true) {
                try await engine.stream(key) { Host.write($0, to: .output) }
            }
        }
        return try await context.present(key, sizeFrom: engine) {
            let file = try await context.console.withProgress { feed in
                try await engine.materialize(key, progress: feed.ofBytes)
            }
            if context.arguments.has(.view) { try Host.view(file.path) }
            return file
        }
    }
}
