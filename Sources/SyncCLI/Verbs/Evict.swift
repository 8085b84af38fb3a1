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
            come again when they are opened. What is pinned, or in use by another program, stays: one
            that is pinned exits with 4, one in use with 3. With --all, the summary counts both; what
            is pinned is meant to stay and the exit is 0, what is in use is not, and it is 5.

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
            let key = try await engine.resolveAttachment(id)
            do {
                report.bytes = try await engine.evict(key)
                report.files = report.bytes > 0 ? 1 : 0
            } catch {
                throw await context.explain(error, key, sizeFrom: nil)
            }
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
                "removed":
                    "\(Quantity.count(report.files, "file")), \(Quantity.size(report.bytes))",
                "pinned": report.pinned == 0 ? nil : Quantity.stay(report.pinned),
                "in use": report.inUse == 0 ? nil : Quantity.stay(report.inUse),
            ]))
        return report.inUse == 0 ? .done : .partial
    }
}

extension Quantity {
    fileprivate static func stay(_ number: Int) -> String {
        number == 1 ? "1 stays" : "\(number) stay"
    }
}
