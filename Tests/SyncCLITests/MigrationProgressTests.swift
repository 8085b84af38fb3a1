import LazySync
import Testing

@testable import SyncCLI

/// What a person sees while the first start of a newer version changes the catalog.
@Suite struct MigrationProgressTests {
    private func line(_ phase: MigrationProgress.Phase, _ done: Int, of total: Int?) -> String? {
        let told = Told()
        let feed = ProgressFeed { told.sample = $0 }
        feed.ofMigration?(
            MigrationProgress(phase: phase, done: done, total: total))
        var meter = ProgressMeter()
        return told.sample.map { meter.line(for: $0, at: .zero, columns: 80) }
    }

    /// Filled on the same thread.
    private final class Told: @unchecked Sendable {
        var sample: ProgressSample?
    }

    @Test func `a line says what is being done, and how far it is where that is known`() {
        #expect(
            line(.copying, 30, of: 120)
                == "catalog: keeping a copy  [###---------]   25%  30 of 120")
        #expect(
            line(.changing(2, "the cache's limit"), 4, of: nil)
                == "catalog: version 2, the cache's limit  4")
        #expect(line(.checking(2), 0, of: nil) == "catalog: checking version 2  0")
    }

    @Test func `without anybody who looks nothing is told`() {
        #expect(ProgressFeed().ofMigration == nil)
    }
}
