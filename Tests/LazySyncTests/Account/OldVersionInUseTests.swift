import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import TestSupport

/// A program that is new here, while another one has the catalog open at its old version.
@Suite struct OldVersionInUseTests {
    @Test func `it says so after a while, and the other one goes on`() async throws {
        try await withOldCatalog { home, places in
            let held = try FileLock(path: places.locks + "/account").lock(.shared)
            home.configuration.patience = 300
            let error = await #expect(throws: SyncError.self) { try await home.open() }
            #expect(error?.code == .busy && error?.hint != nil)
            let catalog = try Connection(path: places.catalog, mode: .readOnly)
            #expect(try catalog.userVersion() == 1)
            withExtendedLifetime(held) {}
        }
    }

    @Test func `it waits for the other one to close, and tells what it does`() async throws {
        try await withOldCatalog { home, places in
            let held = Locked(try FileLock(path: places.locks + "/account").lock(.shared) as Any?)
            let told = Locked<[MigrationProgress.Phase]>([])
            home.configuration.migrating = { progress in
                told.withLock { if $0.last != progress.phase { $0.append(progress.phase) } }
            }
            let opening = Task { [configuration = home.configuration] in
                try await SyncEngine.open(configuration)
            }
            held.withLock { $0 = nil }
            let rows = try await opening.value.attachments()
            #expect(rows.count == 8)
            #expect(
                told.withLock { $0 } == [
                    .copying, .changing(2, "the cache's limit"),
                    .changing(3, "changes made here"), .checking(3),
                ])
        }
    }

    @Test func `of several that start at once one migrates, and all of them open`() async throws {
        try await withOldCatalog { home, places in
            let count = Locked(0)
            home.configuration.migrating = { progress in
                if progress.phase == .checking(3) { count.withLock { $0 += 1 } }
            }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<6 {
                    group.addTask { [configuration = home.configuration] in
                        try await SyncEngine.open(configuration).attachments().count
                    }
                }
                for try await rows in group { #expect(rows == 8) }
            }
            #expect(count.withLock { $0 } == 1)
        }
    }

    /// A device that logged in once, with the catalog that version 1 left in the fixtures.
    private func withOldCatalog(
        _ body: (TestHome, AccountPlaces) async throws -> Void
    ) async throws {
        let home = try TestHome(TestAccount())
        await (try home.login()).close()
        let places = try home.accountPlaces
        for suffix in ["-wal", "-shm"] { try FileSystem.remove(places.catalog + suffix) }
        try FileSystem.remove(places.catalog)
        try FileManager.default.copyItem(
            atPath: Fixtures.folder.appending(path: "stores/v1.sqlite").path,
            toPath: places.catalog)
        #expect(chmod(places.catalog, 0o600) == 0)
        try await body(home, places)
    }
}
