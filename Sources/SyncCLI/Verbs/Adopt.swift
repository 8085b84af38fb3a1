import LazySync

extension Verb {
    static let adopt = Verb(
        name: "adopt",
        summary: "decide which of two places holds the catalog",
        usage: """
            usage: sync adopt private|shared

            When the user's own place and the container both have a catalog with rows, nothing is
            touched, and 'sync status' shows the flag twoPlaces. This decides which one is used; the
            other is kept beside it under a name with its date. After moveUnfinished, 'shared' goes on
            without what could not follow.

            examples
              sync status
              sync adopt shared
            """,
        operands: .one("private or shared"),
        run: adopt)

    private static func adopt(_ context: Context) async throws -> ExitCode {
        let word = context.arguments.operands[0]
        guard let place = Place(rawValue: word) else {
            throw context.arguments.wrong("'\(word)' is neither private nor shared")
        }
        let kept = try await SyncEngine.adopt(place, context.configuration)
        // The next start moves it, so that is done at once.
        let status = try await context.openEngine().status()
        context.console.print(
            [
                "adopted": .string(word), "place": .string(status.place.rawValue),
                "folder": .string(status.folder), "kept": kept.map(JSON.string) ?? .null,
            ],
            text: ["the catalog is in \(status.folder.visible)"]
                + (kept.map { ["the other one is kept as \($0.visible)"] } ?? []))
        return .done
    }
}
