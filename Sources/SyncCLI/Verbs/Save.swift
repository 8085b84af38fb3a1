import LazySync

extension Option {
    fileprivate static let to = value("to", "DIR|FILE")
}

extension Verb {
    static let save = Verb(
        name: "save",
        summary: "copy attachments to a folder under their own names",
        usage: """
            usage: sync save ID… --to DIR|FILE

            Brings the bytes here and copies them: into a folder under the attachment's own name, made
            safe and unique, or to a file that does not exist yet. Nothing is ever written over. One
            id that fails does not stop the others.

            options
              --to DIR|FILE       where to; needed

            examples
              sync save 4f2a9c01 --to ~/Documents
              sync save 4f2a --to invoice.pdf
              sync list --type image --json | jq -r .id | xargs sync save --to photos
            """,
        operands: .some("ID"),
        options: [.to],
        usesNetwork: true,
        keepsBytes: true,
        run: save)

    private static func save(_ context: Context) async throws -> ExitCode {
        let destination = try context.arguments.required(.to)
        guard context.arguments.operands.count == 1 || Host.isFolder(destination) else {
            throw Failure(
                usage: "'\(destination)' is not a folder, and several ids need one",
                hint: "make it first: mkdir '\(destination)'")
        }
        let engine = try await context.openEngine()
        return try await context.forEach(context.arguments.operands, named: \.self) { id in
            let key = try await engine.resolveAttachment(id)
            do {
                let path = try await context.console.withProgress { _ in
                    try await engine.save(key, to: destination)
                }
                context.console.print(
                    ["id": .string(key.id.description), "path": .string(path)], text: [path])
            } catch let error as SyncError {
                throw await context.explain(error, key, sizeFrom: engine)
            }
        }
    }
}
