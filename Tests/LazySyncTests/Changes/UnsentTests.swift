import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Case D10: a logout loses no change without a person's word.
@Suite struct UnsentTests {
    @Test func `changes that were not sent stop a logout, which names them and does nothing`()
        async throws
    {
        try await withHome(TestAccount()) { home in
            let engine = try await home.login()
            _ = try await engine.add(title: "a note")
            let sent = try await engine.add(title: "sent")
            _ = try await engine.push()
            _ = try await engine.add(title: "another")
            try await engine.remove(try #require(sent.items.first))
            let error = await #expect(throws: SyncError.self) { try await engine.logout() }
            #expect(error?.code == .unsentChanges(["sent", "another"]))
            #expect(try await Shown(engine).titles == ["a note", "another"])
            // Also for a program that only logs out.
            await #expect(throws: SyncError.self) {
                try await SyncEngine.logout(home.configuration)
            }
            #expect(try await home.open().status().outbox == 2)
            _ = try await engine.push()
            _ = try await engine.logout()
            #expect(try Settings.read(home.places.settings)?.active == nil)
        }
    }

    @Test func `told to lose them, a logout does`() async throws {
        try await withHome(TestAccount()) { home in
            let engine = try await home.login()
            _ = try await engine.add(files: [try home.file("a", [1, 2, 3])])
            let places = try home.accountPlaces
            _ = try await engine.logout(discardingUnsent: true)
            #expect(try FileSystem.facts(places.data) == nil)
        }
    }

    @Test func `a change that a logout overtakes does not count as made`() async throws {
        try await withHome(TestAccount()) { home in
            let engine = try await home.login()
            // Who listens notices.
            let changes = engine.changes()
            _ = try await SyncEngine.logout(home.configuration)
            for await _ in changes {}
            let error = await #expect(throws: SyncError.self) {
                try await engine.add(title: "too late")
            }
            #expect(error?.code == .notLoggedIn)
        }
    }
}
