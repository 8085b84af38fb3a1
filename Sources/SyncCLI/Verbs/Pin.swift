import LazySync
import SyncPlatform

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
            anything else. It stays pinned if its bytes do not come, and they come with --all or when
            it is opened. Exits with 5 if some of all is missing; the summary says how many and why.

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
        keepsBytes: true,
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
        let afterwards = "it stays pinned, and comes with 'sync pin --all' or when it is opened"
        return try await context.present(key, sizeFrom: engine, afterwards: afterwards) {
            try await context.console.withProgress { feed in
                try await engine.pin(key, progress: feed.ofBytes)
            }
        }
    }

    private static func pinAll(_ context: Context, _ engine: SyncEngine) async throws -> ExitCode {
        try await engine.setAllPinned(true)
        let last = Locked(PinProgress?.none)
        do {
            let report = try await context.console.withProgress { feed in
                let draw = feed.ofPins
                let note: @Sendable (PinProgress) -> Void = { progress in
                    last.withLock { $0 = progress }
                    draw?(progress)
                }
                // To count all costs a walk over what is pinned.
                let isOfUse = draw != nil || context.console.output.json
                return try await engine.keepPinned(isOfUse ? note : nil)
            }
            context.console.print(report.json, text: context.console.output.facts(report.facts))
            context.console.report(report.failures)
            return report.missing.isEmpty ? .done : .partial
        } catch let error as SyncError {
            guard case .unavailable(let reason) = error.code else { throw error }
            if context.console.output.json {
                let progress = last.withLock { $0 }
                let fetched = progress?.fetched ?? 0
                let missing = (progress?.total ?? 0) - fetched
                context.console.print(
                    [
                        "fetched": .integer(fetched), "missing": .integer(missing),
                        "bytes": .integer(progress?.bytes ?? 0),
                        "reasons": [reason.rawValue: .integer(missing)],
                    ], text: [])
            }
            var failure = Failure(error, verbose: context.console.verbose)
            let afterwards = "everything stays pinned, and comes with 'sync pin --all'"
            failure.hint = (failure.hint.map { $0 + "; " } ?? "") + afterwards
            throw failure
        }
    }

    private static func unpin(_ context: Context) async throws -> ExitCode {
        let id = try context.arguments.oneOrAll(.all)
        let engine = try await context.openEngine()
        if let id {
            let key = try await engine.resolveAttachment(id)
            try await engine.unpin(key)
            context.console.print(
                ["id": .string(key.id.description), "pinned": .bool(false)], text: [])
        } else {
            try await engine.setAllPinned(false)
            context.console.print(["pinsAll": .bool(false), "pinned": .bool(false)], text: [])
        }
        return .done
    }
}

extension PinReport {
    /// The object of `pin --all`.
    fileprivate var json: JSON {
        [
            "fetched": .integer(fetched),
            "missing": .integer(missing.count),
            "bytes": .integer(bytes),
            "reasons": .object(reasons.map { .init(key: $0.rawValue, value: .integer($1)) }),
        ]
    }

    fileprivate var facts: KeyValuePairs<String, String?> {
        let why = reasons.map { "\($1) \($0.rawValue)" }.joined(separator: ", ")
        return [
            "fetched": "\(fetched), \(Quantity.size(bytes))",
            "missing": missing.isEmpty ? nil : "\(missing.count): \(why)",
        ]
    }

    /// How many are missing for each reason, in the order of the reasons.
    private var reasons: [(UnavailableReason, Int)] {
        UnavailableReason.allCases.compactMap { reason in
            let count = missing.values.count { $0 == reason }
            return count == 0 ? nil : (reason, count)
        }
    }

    /// Why each is missing: those of one reason together, by their ids.
    fileprivate var failures: [Failure] {
        reasons.flatMap { reason, _ in
            missing.filter { $0.value == reason }.keys.map { ("\($0.id)", $0) }
                .sorted { ($0.0, "\($0.1)") < ($1.0, "\($1.1)") }
                .map { id, key in
                    let isBare = reason == .addressMissing || reason == .addressInvalid
                    let detail = isBare ? "it has no usable address" : "it did not come"
                    return Failure(key, unavailable: reason, detail).about(id)
                }
        }
    }
}
