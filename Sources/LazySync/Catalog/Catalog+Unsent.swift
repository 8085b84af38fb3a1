internal import SyncPlatform

extension Catalog? {
    /// Does something, unless a change waits that would be lost by it; without a catalog in any case.
    ///
    /// Nobody can change anything in between: whoever does it afterwards finds out that it was done.
    /// - Throws: `unsentChanges`; what `body` throws.
    func unlessUnsent<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws(SyncError) -> Result {
        guard let catalog = self else { return try SyncError.mapping("log out", body) }
        do throws(SyncError) {
            return try await catalog.write("log out") { connection in
                try connection.refuseUnsent()
                return try body()
            }
        } catch  where error.code == .storage || error.code == .unavailable(.diskFull) {
            // A catalog that cannot be written to is not changed by anybody.
            try await catalog.read("log out") { try $0.refuseUnsent() }
            return try SyncError.mapping("log out", body)
        }
    }
}

extension Connection {
    /// How many names an error has.
    private static let mostNames = 10

    /// Stops if any change waits, and says of which items.
    fileprivate func refuseUnsent() throws {
        let count = try countWaiting()
        if count == 0 { return }
        let query = try prepare(.waitingAfter)
        query.bind(0, at: 1)
        query.bind(Int64(Self.mostNames), at: 2)
        let decoder = EntryDecoder()
        var names: [String] = []
        while try query.step() {
            let row = query.int(0)
            let shown = try draft(row: row)?.draft.title
            let base = try waiting(row)?.base
            let removed = base.flatMap { try? ItemDraft($0, using: decoder).title }
            names.append(shown ?? removed ?? "")
        }
        let listed = names.joined(separator: ", ") + (count > names.count ? ", …" : "")
        throw SyncError(
            .unsentChanges(names), "log out",
            "\(count) \(count == 1 ? "item has" : "items have") changes that were not sent: \(listed)"
        )
    }
}
