import LazySync

extension Option {
    fileprivate static let all = flag("all")
}

extension Verb {
    static let evict = Verb(
        name: "evict",
        summary: "remove an attachment's bytes from this device",
        usage: """
            usage: sync evict ID | --all

            Removes bytes from this device and prints how many files went and what that freed. The
            addresses and the thumbnails stay (a small photo without one is its own), and the bytes
            come again when they are opened. What is pinned, or in use by another program, stays.

            options
              --all               everything that is not pinned and not in use

            examples
              sync evict 4f2a9c01
              sync evict --all --json
            """,
        operands: .optional("ID"),
        options: [.all],
        run: evict)

    private static func evict(_ context: Context) async throws -> ExitCode {
        let id = try context.arguments.oneOrAll(.all)
        let engine = try await context.openEngine()
        var report = EvictionReport()
        if let id {
            report.bytes = try await engine.evict(try await engine.resolveAttachment(id))
            report.files = report.bytes > 0 ? 1 : 0
        } else {
            report = try await engine.evictAll()
        }
        context.console.print(
            [
                "files": .integer(report.files),
                "bytes": .integer(report.bytes),
                "pinned": .integer(report.pinned),
                "inUse": .integer(report.inUse),
            ],
            text: context.console.output.facts([
                "removed": "\(report.files) files, \(Quantity.size(report.bytes))",
                "pinned": report.pinned == 0 ? nil : "\(report.pinned) stay",
                "in use": report.inUse == 0 ? nil : "\(report.inUse) stay",
            ]))
        return report.inUse == 0 ? .done : .partial
    }
}
