import LazySync

extension Option {
    fileprivate static let limit = value("limit", "SIZE")
}

extension Verb {
    static let cache = Verb(
        name: "cache",
        summary: "show or set what opened files may take on this device",
        usage: """
            usage: sync cache [--limit SIZE]

            Shows what opened files (originals) and thumbnails take on the disk, what is pinned, and the
            limit. What was opened least recently makes room for what is opened; a path that was
            printed is safe for ten minutes.

            options
              --limit SIZE        the limit: 512, 500k, 2M, 1G (powers of 1024), or 'usual': 2 GiB or
                                  a tenth of the disk, whichever is smaller

            examples
              sync cache
              sync cache --limit 500M
              sync cache --limit usual
            """,
        options: [.limit],
        run: cache)

    private static func cache(_ context: Context) async throws -> ExitCode {
        let arguments = context.arguments
        var limit: Int?
        let text = arguments[.limit]
        if let text, text != "usual" {
            guard let size = Quantity.parse(text) else {
                throw arguments.wrong("--limit takes a size such as 500M, or 'usual'")
            }
            limit = size
        }
        let engine = try await context.openEngine()
        if text != nil { try await engine.setCacheLimit(limit.map(Int64.init)) }
        let use = try await engine.cacheUse()
        context.console.print(use.json, text: context.console.output.facts(use.facts))
        if text != nil, let excess = use.excess { context.console.note(excess) }
        return .done
    }
}

extension CacheUse {
    /// The object of `cache`, and of `status`.
    var json: JSON {
        [
            "bytes": .integer(bytes),
            "limit": .integer(limit),
            "pinned": .integer(pinned),
            "pinsAll": .bool(pinsAll),
            "isLimitChosen": .bool(isLimitChosen),
            "originals": .integer(originals),
            "thumbnails": .integer(thumbnails),
        ]
    }

    /// In one line.
    var text: String { "\(Quantity.size(bytes)) of \(Quantity.size(limit))" }

    fileprivate var facts: KeyValuePairs<String, String?> {
        [
            "cache": text,
            "originals": Quantity.size(originals),
            "thumbnails": Quantity.size(thumbnails),
            "pinned": pinned == 0 && !pinsAll
                ? nil : Quantity.size(pinned) + (pinsAll ? "; \(CacheUse.everything)" : ""),
            "limit": Quantity.size(limit) + (isLimitChosen ? "" : ", the usual one"),
        ]
    }

    /// What is pinned if all of it is.
    static let everything = "all attachments, also those to come"

    /// How much is over the limit for now, and why; nil if nothing is.
    fileprivate var excess: String? {
        guard bytes > limit else { return nil }
        let pins = pinned == 0 ? "" : "is pinned (\(Quantity.size(pinned))), "
        return
            "\(Quantity.size(bytes)) stay for now, \(Quantity.size(bytes - limit)) over the limit: "
            + "what was opened in the last ten minutes, \(pins)or is in use"
    }
}
