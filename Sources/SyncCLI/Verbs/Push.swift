import LazySync

extension Verb {
    static let push = Verb(
        name: "push",
        summary: "send what was changed here",
        usage: """
            usage: sync push

            Sends every change that waits; first what others sent is brought here and merged. What was
            sent halfway goes on from there. The summary says what went and what still waits; for a
            file that the server does not take, why. Bytes that went leave this device, unless they
            are pinned or somebody has opened them; they come again when they are opened. Exits with
            5 if something still waits, or with 3 or 4 if nothing went, for the one reason.

            examples
              sync push
              sync push --limit-rate 500k
              sync push --json | jq .waiting
            """,
        usesNetwork: true,
        run: push)

    private static func push(_ context: Context) async throws -> ExitCode {
        let engine = try await context.openEngine()
        let report = try await context.pushing {
            try await context.console.withProgress { feed in
                try await engine.push(progress: feed.ofPush)
            }
        }
        context.console.print(report.json, text: context.console.output.facts(report.facts))
        context.console.report(report.failures)
        return report.exit
    }
}

extension Context {
    /// Does what pushes; an error that ends it says that the changes wait.
    func pushing<Report>(_ work: () async throws -> Report) async throws -> Report {
        do {
            return try await work()
        } catch let error as SyncError {
            guard case .unavailable = error.code else { throw error }
            var failure = Failure(error, verbose: console.verbose)
            failure.hint = (failure.hint.map { $0 + "; " } ?? "") + "what was not sent waits"
            throw failure
        }
    }
}

extension PushReport {
    var json: JSON {
        [
            "items": .integer(items),
            "blobs": .integer(blobs),
            "bytes": .integer(bytes),
            "refused": .array(
                refusals.map {
                    [
                        "id": .string($0.key.id.description),
                        "item": .string($0.key.item.description),
                        "reason": .string($0.reason.rawValue),
                    ]
                }),
            "waiting": .integer(waiting),
            "head": .unsigned(head),
            "seconds": .number((seconds * 1000).rounded() / 1000),
        ]
    }

    var facts: KeyValuePairs<String, String?> {
        let sent =
            "\(Quantity.count(items, "item")), \(Quantity.count(blobs, "blob")), "
            + "\(Quantity.size(bytes)) in \(Quantity.decimal(seconds, places: 1)) s"
        return [
            "sent": sent,
            "refused": refusals.isEmpty ? nil : Quantity.count(refusals.count, "attachment"),
            "waiting": waiting == 0 ? nil : Quantity.count(waiting, "item"),
            "head": "\(head)",
        ]
    }

    /// How a push ends: partial if something went and something did not; if nothing went, as the
    /// one reason says.
    var exit: ExitCode {
        guard !isComplete else { return .done }
        let reasons = Set(refused.map { ExitCode($0.reason) })
        guard items == 0, reasons.count == 1, let reason = reasons.first else { return .partial }
        return reason
    }

    /// Why each attachment was refused; if none was, that something waits.
    var failures: [Failure] {
        guard !isComplete else { return [] }
        guard !refused.isEmpty else {
            return [
                Failure(
                    partial: "sent, but not all of it: \(Quantity.count(waiting, "item")) to go",
                    hint: "push again")
            ]
        }
        return refusals.map { refusal in
            var failure = Failure(
                refusal.key, unavailable: refusal.reason, "the server did not take it")
            if let hint = refusal.reason.uploadHint { failure.hint = hint }
            var about = failure.about("\(refusal.key)")
            about.id = refusal.key.id.description
            return about
        }
    }

    /// Each attachment once, also if its thumbnail was refused too.
    private var refusals: [Refused] {
        var seen: Set<AttachmentKey> = []
        return refused.filter { seen.insert($0.key).inserted }
    }
}

extension UnavailableReason {
    /// What would help an upload, if it is not what helps a download.
    var uploadHint: String? {
        switch self {
        case .tooLarge: "the server takes no file that large; remove it, or split it"
        case .notEntitled: "the account may not send this; ask its provider"
        default: nil
        }
    }
}
