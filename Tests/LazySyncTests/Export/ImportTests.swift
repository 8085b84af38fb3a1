import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// A file as the catalog.
@Suite struct ImportTests {
    /// An account, a device that has it, and its export.
    private static func exported(
        _ body: (TestHome, TestItem, ExportText) async throws -> Void
    ) async throws {
        let account = TestAccount()
        let item = account.add("one", .photo("a.jpg"), TestFile("b", size: 70_000))
        account.add("two", TestFile("c", "c"), text: "text")
        account.push()
        try await withHome(account) { home in
            _ = try await home.login().restore(thumbnails: false)
            try await body(home, item, try await home.export())
        }
    }

    private static func code(
        _ body: () async throws -> ImportReport, location: SourceLocation = #_sourceLocation
    ) async -> SyncError? {
        await #expect(throws: SyncError.self, sourceLocation: location) { _ = try await body() }
    }

    // MARK: The device

    @Test func `lists work without keys, and bytes come after a login that keeps the catalog`()
        async throws
    {
        try await Self.exported { home, item, export in
            let other = try TestHome(beside: home)
            try await other.importing(export.bytes)
            var engine = try await other.open()
            #expect(try await engine.items().map(\.title) == ["two", "one"])
            #expect(try await engine.status().session == "keyMissing")
            for action in ["open", "restore"] {
                let failure = await #expect(throws: SyncError.self) {
                    if action == "open" {
                        _ = try await engine.materialize(item.key())
                    } else {
                        _ = try await engine.restore()
                    }
                }
                #expect(failure?.code == .unavailable(.keyMissing), "\(action)")
            }
            let requests = home.manifestRequests.count
            engine = try await other.login()
            // Before any restore: the address proves itself.
            #expect(try await engine.materialize(item.key()).size == 300_000)
            #expect(home.manifestRequests.count == requests)
            let report = try await engine.restore()
            #expect(report.isComplete && report.items == 2 && report.head == 1)
            let status = try await engine.status()
            #expect(status.verified && status.flags == [])
            // What was opened meanwhile is still here.
            #expect(try await engine.materialize(item.key()).requests == 0)
            #expect(try await other.export().bytes == export.bytes)
            try other.check()
        }
    }

    @Test func `a check finds nothing wrong with what a file brought, and sets no count`()
        async throws
    {
        try await Self.exported { home, _, export in
            let other = try TestHome(beside: home)
            try await other.importing(export.bytes)
            let counts = try other.number("SELECT sum(value) FROM tally")
            let report = try await other.open().verify(VerifyOptions(repair: true))
            #expect(report.isRight && report.head == nil, "\(report)")
            #expect(try other.number("SELECT sum(value) FROM tally") == counts)
            let engine = try await other.login()
            #expect(try await engine.restore().isComplete)
            let after = try await engine.verify()
            #expect(after.isRight && after.head == true, "\(after)")
            try other.check()
        }
    }

    @Test func `a catalog with rows is not touched, an empty one of the same account is filled`()
        async throws
    {
        try await Self.exported { home, _, export in
            for replacing in [false, true] {
                let failure = await Self.code {
                    try await home.importing(export.bytes, replacing: replacing)
                }
                #expect(failure?.code == .invalidInput)
                #expect(failure?.detail == "the catalog on this device is not empty")
            }
            let other = try TestHome(beside: home)
            _ = try await other.login()
            #expect(try await other.importing(export.bytes).kept == nil)
            // The keys are here already.
            let engine = try await other.open()
            #expect(try await engine.status().flags == ["imported"])
            #expect(try await engine.restore().isComplete)
            try other.check()
        }
    }

    @Test func `a file of another account is refused where one is open`() async throws {
        try await Self.exported { _, _, export in
            let stranger = TestAccount("stranger", seed: 9)
            stranger.push()
            let home = try TestHome(stranger)
            _ = try await home.login()
            let failure = await Self.code { try await home.importing(export.bytes) }
            #expect(failure?.code == .anotherAccount)
            try home.check()
        }
    }

    @Test func `while another program is at the account, nothing is imported`() async throws {
        try await Self.exported { home, _, export in
            let engine = try await home.open()
            let failure = await Self.code { try await home.importing(export.bytes) }
            #expect(failure?.code == .busy)
            _ = engine
        }
    }

    @Test func `what a killed import left is gone at the next start`() async throws {
        try await Self.exported { home, _, export in
            let places = try home.accountPlaces
            for suffix in ["", "-journal", "-wal", "-shm"] {
                try DurableFile.write([1].span, to: places.importing + suffix)
            }
            _ = try await home.open().items()
            #expect(try home.dataFiles().filter { $0.contains("importing") } == [])

            // Killed before its last step on a new device: as if nothing had been.
            let other = try TestHome(beside: home)
            try await other.importing(export.bytes)
            var settings = try #require(try Settings.read(other.places.settings))
            let active = try #require(settings.active)
            settings.active = nil
            settings.forgetting[active.account] = .file
            try settings.write(other.places.settings)
            let failure = await #expect(throws: SyncError.self) { try await other.open() }
            #expect(failure?.code == .notLoggedIn)
            let data = other.places.account(active.account).data
            #expect(try FileSystem.facts(data) == nil)
        }
    }

    // MARK: The way back

    @Test func `a catalog of a newer version is replaced on the person's word, and kept`()
        async throws
    {
        try await Self.exported { home, item, export in
            let places = try home.accountPlaces
            _ = try await home.open().materialize(item.key())
            let newer = try home.catalog()
            // Only in the log, as a program leaves it that was killed.
            try newer.execute("UPDATE entry SET title = 'newest'; PRAGMA user_version = 99")
            let before = try sha256(ofFile: places.catalog)
            let refused = await Self.code { try await home.importing(export.bytes) }
            #expect(refused?.code == .newerCatalog)
            #expect(refused?.hint?.contains("--replace") == true)
            #expect(try sha256(ofFile: places.catalog) == before)

            let report = try await home.importing(export.bytes, replacing: true)
            let kept = try Connection(path: try #require(report.kept), mode: .readWrite)
            #expect(try kept.userVersion() == 99)
            #expect(
                try kept.firstInt("SELECT count(*) FROM entry WHERE title = 'newest'") == 2)
            let engine = try await home.open()
            #expect(try await engine.items().map(\.title) == ["two", "one"])
            // Nothing lies in the cache that no catalog keeps account of.
            let cached = FileManager.default.enumerator(atPath: places.blobs)?.allObjects ?? []
            #expect(cached.isEmpty, "\(cached)")
            #expect(try await engine.restore().isComplete)
            #expect(try await engine.materialize(item.key()).requests == 1)
            withExtendedLifetime(newer) {}
        }
    }

    @Test(arguments: ["header", "middle", "gone"])
    func `a damaged catalog is replaced on the person's word`(damage: String) async throws {
        try await Self.exported { home, _, export in
            let places = try home.accountPlaces
            for suffix in ["-wal", "-shm"] { try FileSystem.remove(places.catalog + suffix) }
            if damage == "gone" {
                try FileSystem.remove(places.catalog)
            } else {
                let file = try File(places.catalog, for: .readWrite)
                let size = damage == "header" ? 100 : 3 * 8_192
                let start: Int64 = damage == "header" ? 0 : 8_192
                try file.write([UInt8](repeating: 0x5A, count: size).span, at: start)
                #expect(await Self.code { try await home.importing(export.bytes) } != nil)
            }
            let report = try await home.importing(export.bytes, replacing: damage != "gone")
            #expect((report.kept == nil) == (damage == "gone"))
            #expect(try await home.open().restore().isComplete)
        }
    }

    @Test func `two copies of one second have two names`() async throws {
        try await Self.exported { home, _, export in
            var names: Set<String> = []
            for _ in 0..<2 {
                try home.execute("PRAGMA user_version = 99")
                let report = try await home.importing(export.bytes, replacing: true)
                names.insert(try #require(report.kept))
            }
            #expect(names.count == 2)
        }
    }
}
