import LazySync

extension Option {
    static let noThumbnails = flag("no-thumbnails")
}

extension Verb {
    static let restore = Verb(
        name: "restore",
        summary: "bring the catalog up to date, then the thumbnails",
        usage: """
            usage: sync restore [--no-thumbnails]

            Brings the catalog up to date: addresses first, then thumbnails, newest first. Run again,
            it takes up where it was and fetches only what changed. Exits with 5 if something is
            missing; the summary says what.

            options
              --no-thumbnails     addresses only

            examples
              sync restore
              sync restore --no-thumbnails --limit-rate 2M
              sync restore --json | jq .addressesMissing
            """,
        options: [.noThumbnails],
        usesNetwork: true,
        run: restore)

    private static func restore(_ context: Context) async throws -> ExitCode {
        let engine = try await context.openEngine()
        let thumbnails = !context.arguments.has(.noThumbnails)
        let report = try await context.console.withProgress { feed in
            try await engine.restore(thumbnails: thumbnails, progress: feed.ofRestore)
        }
        context.console.print(report.json, text: context.console.output.facts(report.facts))
        if let failure = report.failure { throw failure }
        return .done
    }
}

extension RestoreReport {
    var json: JSON {
        [
            "items": .integer(items),
            "attachments": .integer(attachments),
            "addressesComplete": .integer(addressesComplete),
            "addressesMissing": .integer(addressesMissing),
            "thumbnailsHere": .integer(thumbnailsHere),
            "thumbnailsFailed": .integer(thumbnailsFailed),
            "unreadable": .array(unreadable.map { .string($0.description) }),
            "bytes": .integer(bytes),
            // Milliseconds are as much as the figure is worth.
            "seconds": .number((seconds * 1000).rounded() / 1000),
            "head": .unsigned(head),
            "verified": .bool(verified),
        ]
    }

    var facts: KeyValuePairs<String, String?> {
        [
            "items": "\(items)",
            "attachments": "\(attachments)",
            "addresses": "\(addressesComplete) complete, \(addressesMissing) missing",
            "thumbnails": "\(thumbnailsHere) here, \(thumbnailsFailed) failed",
            "unreadable": unreadable.isEmpty
                ? nil : unreadable.map(\.description).joined(separator: " "),
            "received": "\(Quantity.size(bytes)) in \(Quantity.decimal(seconds, places: 1)) s",
            "head": "\(head), \(verified ? "verified" : "not verified")",
        ]
    }

    /// That something is missing, and what; nil if nothing is.
    var failure: Failure? {
        guard !isComplete else { return nil }
        return Failure(
            partial: "restored, but not all of it: \(missing.joined(separator: ", "))",
            hint: "'sync list --state unavailable' shows the attachments; restore again later")
    }

    /// What is missing, in words.
    private var missing: [String] {
        var parts: [String] = []
        if addressesMissing > 0 { parts.append("addresses missing: \(addressesMissing)") }
        if thumbnailsFailed > 0 { parts.append("thumbnails failed: \(thumbnailsFailed)") }
        if !unreadable.isEmpty { parts.append("entries unreadable: \(unreadable.count)") }
        if !verified { parts.append("head not verified") }
        return parts
    }
}
