import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Where an import puts the catalog, and what it leaves alone.
@Suite(.timeLimit(.minutes(10))) struct ImportPlaceTests {
    /// A device that is logged in and at rest, its export, and a device without anything.
    private func exported(
        inContainer: Bool = false,
        _ body: (_ home: TestHome, _ export: ExportText, _ other: TestHome) async throws -> Void
    ) async throws {
        let account = TestAccount()
        account.add("one", .photo("a.jpg"), TestFile("b", size: 70_000))
        account.add("two", TestFile("c", "c"), text: "text")
        account.push()
        try await withHome(account) { home in
            if inContainer { try home.useContainer() }
            let engine = try await home.login()
            _ = try await engine.restore(thumbnails: false)
            await engine.close()
            let export = try await home.export()
            let other = try TestHome(beside: home)
            try await body(home, export, other)
            try other.check()
        }
    }

    private func refused(
        _ home: TestHome, _ export: ExportText, replacing: Bool = false
    ) async -> SyncError? {
        await #expect(throws: SyncError.self) {
            try await home.importing(export.bytes, replacing: replacing)
        }
    }

    @Test func `on a new device it is the container, if one is named`() async throws {
        try await exported { _, export, other in
            let container = try other.useContainer()
            try await other.importing(export.bytes)
            #expect(try other.accountPlaces.data.hasPrefix(container))
            // Who does not name it finds it too.
            other.configuration.container = nil
            var engine = try await other.open()
            var status = try await engine.status()
            #expect(status.place == .shared && status.flags == ["imported"])
            engine = try await other.login()
            #expect(try await engine.restore().isComplete)
            status = try await engine.status()
            #expect(status.place == .shared && status.flags == [] && status.verified)
            let own = other.places.account(known(other.account).id)
            #expect(try FileSystem.facts(own.data) == nil)
            _ = try await engine.logout()
            try other.expectNothingLeft()
        }
    }

    @Test func `a catalog in the container is replaced there, and the copy goes at logout`()
        async throws
    {
        try await exported(inContainer: true) { home, export, _ in
            let places = try home.accountPlaces
            try home.execute("PRAGMA user_version = 99")
            #expect(await refused(home, export)?.code == .newerCatalog)
            let report = try await home.importing(export.bytes, replacing: true)
            #expect(report.kept?.hasPrefix(places.data) == true)
            let engine = try await home.open()
            let status = try await engine.status()
            #expect(status.place == .shared && status.flags == ["imported"])
            #expect(try await engine.restore().isComplete)
            _ = try await engine.logout()
            try home.expectNothingLeft()
        }
    }

    @Test func `a catalog that cannot move is replaced where it is, and then moves`() async throws {
        try await exported { home, export, _ in
            let own = try home.accountPlaces
            try home.execute("PRAGMA user_version = 99")
            try home.useContainer()
            let report = try await home.importing(export.bytes, replacing: true)
            #expect(report.kept?.hasPrefix(own.data) == true)
            let engine = try await home.open()
            let status = try await engine.status()
            #expect(status.place == .shared && status.flags == ["imported"])
            // With the copy, which goes with the account.
            #expect(try home.dataFiles().contains { $0.hasPrefix("catalog-") })
            #expect(try FileSystem.facts(own.data) == nil)
            _ = try await engine.logout()
            try home.expectNothingLeft()
        }
    }

    @Test func `while another program is at it in the container, nothing is imported`()
        async throws
    {
        try await exported(inContainer: true) { home, export, _ in
            let engine = try await home.open()
            #expect(await refused(home, export)?.code == .busy)
            #expect(try await engine.items().count == 2)
        }
    }

    @Test func `where part of a catalog is missing, nothing is put in its place`() async throws {
        try await exported { home, export, _ in
            let catalog = try home.accountPlaces.catalog
            try Connection(path: catalog, mode: .readWrite, checkpointsOnClose: false)
                .execute("INSERT INTO dropped(record) VALUES (x'0102')")
            let new = try home.moveCatalogAlone()
            // In the way of the log.
            try DurableFile.write([1, 2, 3].span, to: new.catalog + "-wal")
            #expect(await refused(home, export, replacing: true)?.code == .storage)
            try FileSystem.remove(new.catalog + "-wal")
            #expect(await refused(home, export, replacing: true)?.code == .invalidInput)
            #expect(try home.number("SELECT count(*) FROM dropped WHERE record = x'0102'") == 1)
        }
    }

    @Test(arguments: [false, true])
    func `what was left behind by removing the settings is not touched`(
        inContainer: Bool
    ) async throws {
        try await exported(inContainer: inContainer) { home, export, _ in
            let places = try home.accountPlaces
            let before = try sha256(ofFile: places.catalog)
            try FileSystem.remove(home.places.settings)
            for replacing in [false, true] {
                let error = await refused(home, export, replacing: replacing)
                #expect(error?.code == .invalidInput && error?.hint?.contains("log in") == true)
            }
            #expect(try sha256(ofFile: places.catalog) == before)
            let engine = try await home.login()
            #expect(try await engine.items().count == 2)
        }
    }

    @Test func `what a killed import left does not move`() async throws {
        try await exported { home, _, _ in
            let places = try home.accountPlaces
            for suffix in ["", "-journal", "-wal", "-shm"] {
                try DurableFile.write([1].span, to: places.importing + suffix)
            }
            try home.useContainer()
            let engine = try await home.open()
            #expect(try await engine.status().place == .shared)
            #expect(try home.dataFiles().filter { $0.contains("importing") } == [])
        }
    }

    @Test func `a file that is wrong leaves nothing on a new device, in the container neither`()
        async throws
    {
        try await exported { _, export, other in
            try other.useContainer()
            var wrong = export
            wrong.lines.removeLast()
            #expect(await refused(other, wrong)?.code == .invalidInput)
            try other.expectNothingLeft()
            let error = await #expect(throws: SyncError.self) { try await other.open() }
            #expect(error?.code == .notLoggedIn)
        }
    }
}
