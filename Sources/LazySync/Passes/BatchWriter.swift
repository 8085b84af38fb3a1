/// Stores decoded pages, a few a transaction, while the next ones are decoded.
struct BatchWriter {
    private let catalog: Catalog
    private let tools: MergeTools
    private var waiting: [EntryBatch] = []
    private var count = 0
    private var next = ManifestPlace(after: 0)
    private var storing: Task<Void, any Error>?

    init(catalog: Catalog, with tools: MergeTools) {
        self.catalog = catalog
        self.tools = tools
    }

    /// Takes a page; begins to store when `limit` entries have come together.
    ///
    /// `next` is where the run goes on after it. Waits for the transaction before, so that two sets
    /// of pages are in memory at the most.
    mutating func add(_ batch: EntryBatch, next: ManifestPlace, limit: Int) async throws {
        waiting.append(batch)
        count += batch.changes.count
        self.next = next
        if count >= limit { try await store() }
    }

    /// Stores what is left.
    mutating func finish() async throws {
        if !waiting.isEmpty { try await store() }
        try await settle()
    }

    private mutating func store() async throws {
        try await settle()
        let (batches, next) = (waiting, next)
        waiting = []
        count = 0
        storing = Task { [catalog, tools] in
            try await catalog.apply(batches, next: next, with: tools)
        }
    }

    private mutating func settle() async throws {
        guard let storing else { return }
        self.storing = nil
        do {
            try await storing.value
        } catch {
            // Pages that came after the one that failed must not be stored over the gap: with them
            // the cursor would move past rows that are not here.
            waiting = []
            throw error
        }
    }
}
