import LazySync

extension Option {
    fileprivate static let limit = value("limit", "N")
}

extension Verb {
    static let trash = Verb(
        name: "trash",
        summary: "list what was removed and may come back",
        usage: """
            usage: sync trash [--limit N]

            Lists what was removed, here or on another device, the latest first: id, when, number of
            attachments, title. It is kept for 30 days.

            options
              --limit N           at most N lines, from 1 to 100000; 100 if left out

            examples
              sync trash
              sync trash --json
            """,
        options: [.limit],
        run: trash)

    static let untrash = Verb(
        name: "untrash",
        summary: "bring back what was removed",
        usage: """
            usage: sync untrash ID

            Brings an item back as it was, or an attachment into its item. The ids are those of 'sync
            trash'. It works offline, and 'sync push' sends it. Prints the id.

            examples
              sync untrash 9d41c7e0
              sync untrash 9d41c7e0/4f2a9c01
            """,
        operands: .one("ID"),
        run: untrash)

    private static func trash(_ context: Context) async throws -> ExitCode {
        let limit = try context.arguments.integer(.limit, in: 1...100_000) ?? 100
        let engine = try await context.openEngine()
        let trashed = try await engine.trash(limit: limit)
        context.console.print(context.console.output.lines(trashed))
        if trashed.count == limit, context.console.output.columns != nil {
            context.console.note("there may be more: --limit N")
        }
        return .done
    }

    private static func untrash(_ context: Context) async throws -> ExitCode {
        let engine = try await context.openEngine()
        let changed = try Changed(
            trashed: context.arguments.operands[0], in: await engine.trash(limit: 100_000))
        try await engine.untrash(changed.item, attachment: changed.attachment)
        context.console.print(context.console.output.lines([changed]))
        return .done
    }
}

extension Output {
    /// What lies in the trash.
    func lines(_ trashed: [TrashedItem]) -> [String] {
        guard !json else { return trashed.map(\.json.text) }
        return table(
            [.init(), .init(), .init(alignment: .right), .init(isFlexible: true)],
            trashed.map {
                [
                    short($0.item, $0.attachment), "\($0.removed)", "\($0.attachmentCount)",
                    $0.title.visible,
                ]
            })
    }
}

extension TrashedItem {
    var json: JSON {
        [
            "item": .string(item.description),
            "id": .string(orNull: attachment?.description),
            "title": .string(title),
            "attachments": .integer(attachmentCount),
            "removed": .string(removed.description),
        ]
    }
}

extension Changed {
    /// What a word names in the trash: an item, an attachment, or `ITEM/ID`, each maybe cut.
    ///
    /// - Throws: a failure with exit 2 for what is no id, is not there, or could be several.
    init(trashed text: String, in trash: [TrashedItem]) throws(Failure) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let isWord =
            (1...2).contains(parts.count)
            && parts.allSatisfy { part in
                (4...32).contains(part.utf8.count) && part.allSatisfy(\.isHexDigit)
            }
        guard isWord, let last = parts.last?.lowercased() else {
            throw Failure(
                .usage, code: "invalidInput", "\(text.prefix(80)) is not an id",
                hint: "give 4 to 32 hex digits, as trash prints them")
        }
        let first = parts[0].lowercased()
        let found = trash.filter { trashed in
            guard let id = trashed.attachment else {
                return parts.count == 1 && "\(trashed.item)".hasPrefix(first)
            }
            return "\(id)".hasPrefix(last)
                && (parts.count == 1 || "\(trashed.item)".hasPrefix(first))
        }.map { Changed(item: $0.item, attachment: $0.attachment) }
        guard let one = found.first else {
            throw Failure(
                .usage, code: "noSuchID", "there is no \(text) in the trash",
                hint: "'sync trash' shows the ids")
        }
        guard found.count == 1 else {
            throw Failure(
                .usage, code: "ambiguousID", "\(text) could be \(found.count) in the trash",
                hint: "write one of: \(found.prefix(4).map(\.word).joined(separator: " "))")
        }
        self = one
    }
}
