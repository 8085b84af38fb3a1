import LazySync

extension Option {
    fileprivate static let all = flag("all")
}

extension Verb {
    static let pin = Verb(
        name: "pin",
        summary: "keep an attachment's bytes on this device",
        usage: """
            usage: sync pin ID | --all

            Brings the bytes here if they are not, and keeps them: what is pinned never makes room for
            anything else. It stays pinned if its bytes do not come; pin it again to ask for them.

            options
              --all               every attachment, also those to come: everything offline; run again,
                                  it brings what is new

            examples
              sync pin 4f2a9c01
              sync pin --all
            """,
        operands: .optional("ID"),
        options: [.all],
        usesNetwork: true,
        run: pin)

    static let unpin = Verb(
        name: "unpin",
        summary: "let an attachment's bytes go when room is needed",
        usage: """
            usage: sync unpin ID | --all

            Lets bytes that were pinned go when room is needed. Nothing is removed now: 'sync evict'
            does that.

            options
              --all               everything that is pinned, and what comes is not pinned any more

            examples
              sync unpin 4f2a9c01
              sync unpin --all
            """,
        operands: .optional("ID"),
        options: [.all],
        run: unpin)

    private static func pin(_ context: Context) async throws -> ExitCode {
        let id = try context.arguments.oneOrAll(.all)
        let engine = try await context.openEngine()
        guard let id else { return try await pinAll(context, engine) }
        let key = try await engine.resolveAttachment(id)
        return try await context.present(key, sizeFrom: engine) {
            try await context.console.withProgress { feed in
                try await engine.pin(key, progress: feed.ofBytes)
            }
        }
    }

    private static func pinAll(_ context: Context, _ engine: SyncEngine) async throws -> ExitCode {
        try await engine.setAllPinned(true)
        let report = try await context.console.withProgress { feed in
            try await engine.keepPinned(feed.counting("pinned"))
        }
        context.console.print(
            [
                "fetched": .integer(report.fetched),
                "missing": .integer(report.missing.count),
                "bytes": .integer(report.bytes),
            ],
            text: context.console.output.facts([
                "fetched": "\(report.fetched), \(Quantity.size(report.bytes))",
                "missing": report.missing.isEmpty ? nil : "\(report.missing.count)",
            ]))
        for (key, reason) in report.missing {
            context.console.report(Failure(unavailable: reason).about(key.id.description))
        }
        return report.missing.isEmpty ? .done : .partial
    }

    private static func unpin(_ context: Context) async throws -> ExitCode {
        let id = try context.arguments.oneOrAll(.all)
        let engine = try await context.openEngine()
        if let id {
            try await engine.unpin(try await engine.resolveAttachment(id))
        } else {
            try await engine.setAllPinned(false)
        }
        return .done
    }
}
