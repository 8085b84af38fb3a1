import LazySync

extension Option {
    fileprivate static let stdout = flag("stdout")
    fileprivate static let range = value("range", "A-B")
    fileprivate static let view = flag("view")
}

extension Verb {
    static let open = Verb(
        name: "open",
        summary: "bring an attachment's bytes here, and print the file's path",
        usage: """
            usage: sync open ID [--stdout | --range A-B | --view]

            Brings the bytes here if they are not, and prints the file's path. The file is read only
            and stays where it is; 'sync save' makes a copy. An id may be cut to a beginning that only
            one attachment has, four digits or more; one that stands in two items is written ITEM/ID.

            options
              --stdout            write the bytes to standard output, and nothing else; with --json
                                  the object goes to standard error
              --range A-B         the same for the bytes A to B alone, counted from 0: A- goes to
                                  the end, -N is the last N; fetches no more than it must
              --view              also show the file in the desktop's viewer

            examples
              sync open 4f2a9c01
              sync open 4f2a --view
              sync open 4f2a --stdout | pdftotext - - | grep invoice
              sync open 4f2a --range 0-65535 | file -
            """,
        operands: .one("ID"),
        options: [.stdout, .range, .view],
        usesNetwork: true,
        keepsBytes: true,
        run: open)

    private static func open(_ context: Context) async throws -> ExitCode {
        let range = try context.arguments.byteRange(.range)
        if context.arguments.has(.view), context.arguments.has(.stdout) || range != nil {
            let other = range == nil ? "--stdout" : "--range"
            throw context.arguments.wrong("\(other) and --view do not go together")
        }
        let engine = try await context.openEngine()
        let key = try await engine.resolveAttachment(context.arguments.operands[0])
        if let range {
            let bytes = try await bytes(of: key, range, engine, context)
            return try await context.present(key, sizeFrom: engine, toOutput: true) {
                try await engine.stream(key, bytes) { Host.write($0, to: .output) }
            }
        }
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

    /// The bytes that a range names of an attachment, of which nothing has to be here.
    private static func bytes(
        of key: AttachmentKey, _ range: ByteRange, _ engine: SyncEngine, _ context: Context
    ) async throws -> Range<Int64> {
        let size = try await engine.explain(key).attachment.size
        guard let bytes = range.bytes(of: size) else {
            throw context.arguments.wrong(
                "the range begins beyond the end: \(key.id) has \(size) bytes")
        }
        return bytes
    }
}
