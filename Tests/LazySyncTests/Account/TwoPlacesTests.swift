import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Case D6: both places have a catalog; rows decide, and where they do not, a person.
@Suite(.timeLimit(.minutes(10))) struct TwoPlacesTests {
    /// A device with a catalog at its own place, one in the container, and nobody at them.
    private func withTwo(
        new: CatalogLocation.Content, old: CatalogLocation.Content = .rows,
        _ body: (OneFile, _ own: AccountPlaces, _ shared: AccountPlaces) async throws -> Void
    ) async throws {
        try await withOneFile { file in
            await file.engine.close()
            let own = try file.home.accountPlaces
            let container = try file.home.useContainer()
            let shared = file.home.places.account(file.account.id, in: container)
            try Directory.make(shared.locks)
            try FileSystem.copy(File(own.catalog, for: .read), to: shared.catalog)
            for (places, content) in [(own, old), (shared, new)] where content == .empty {
                for suffix in ["", "-wal", "-shm"] {
                    try FileSystem.remove(places.catalog + suffix)
                }
                _ = try Catalog.open(places, create: file.account.id, isExclusive: true)
            }
            try await body(file, own, shared)
        }
    }

    private func bytes(_ path: String) throws -> Whole { try Whole(at: path) }

    @Test func `two catalogs with rows are left alone, and a flag says so`() async throws {
        try await withTwo(new: .rows) { file, own, shared in
            let before = try (bytes(own.catalog), bytes(shared.catalog))
            for _ in 0..<2 {
                let engine = try await file.home.open()
                let status = try await engine.status()
                #expect(status.place == .private && status.flags == ["twoPlaces"])
                await engine.close()
            }
            #expect(try bytes(own.catalog) == before.0)
            #expect(try bytes(shared.catalog) == before.1)
            try Directory.removeTree(shared.data)
        }
    }

    @Test(arguments: [Place.private, .shared])
    func `a person decides which of the two is used, and the other one is kept`(
        place: Place
    ) async throws {
        try await withTwo(new: .rows) { file, own, shared in
            let mark = "INSERT INTO dropped(record) VALUES (x'0102')"
            let marked = place == .private ? own : shared
            try Connection(path: marked.catalog, mode: .readWrite, checkpointsOnClose: false)
                .execute(mark)
            let kept = try #require(try await SyncEngine.adopt(place, file.home.configuration))
            #expect(kept.hasPrefix("catalog-2"))
            let engine = try await file.home.open()
            let status = try await engine.status()
            #expect(status.place == .shared && status.flags == [])
            #expect(try file.home.number("SELECT count(*) FROM dropped") == 1)
            let other = try Connection(path: "\(shared.data)/\(kept)", mode: .immutable)
            #expect(try other.firstInt("SELECT count(*) FROM dropped") == 0)
            #expect(try other.firstInt("SELECT count(*) FROM entry") == 1)
            #expect(try FileSystem.facts(own.data) == nil)
            try await file.open(with: engine)
            await engine.close()
            // Only once there is something to decide.
            let error = await #expect(throws: SyncError.self) {
                try await SyncEngine.adopt(place, file.home.configuration)
            }
            #expect(error?.code == .invalidInput)
            _ = try await file.home.open().logout()
            #expect(try FileSystem.facts(shared.data) == nil)
        }
    }

    @Test(arguments: [Place.private, .shared])
    func `what waits to be sent in the other one is kept beside it`(place: Place) async throws {
        try await withTwo(new: .rows) { file, own, shared in
            for (places, byte) in [(own, 1), (shared, 2)] as [(AccountPlaces, UInt8)] {
                for folder in ["spool", "trash"] {
                    try Directory.make("\(places.data)/\(folder)")
                    try DurableFile.write([byte].span, to: "\(places.data)/\(folder)/piece")
                }
            }
            let kept = try #require(try await SyncEngine.adopt(place, file.home.configuration))
            let engine = try await file.home.open()
            // Whoever adds something sweeps the spool.
            file.home.addsFiles = true
            _ = try await engine.add(files: [file.home.file("new", [1])])
            for folder in ["spool", "trash"] {
                let piece = try DurableFile.read("\(shared.data)/\(kept)-\(folder)/piece", limit: 9)
                #expect(piece == [place == .private ? 2 : 1])
            }
            _ = try await engine.logout(discardingUnsent: true)
            #expect(try FileSystem.facts(shared.data) == nil)
        }
    }

    @Test func `nothing is decided while a program is at either catalog`() async throws {
        try await withTwo(new: .rows) { file, own, shared in
            let engine = try await file.home.open()
            let error = await #expect(throws: SyncError.self) {
                try await SyncEngine.adopt(.shared, file.home.configuration)
            }
            #expect(error?.code == .busy)
            let found = try FileSystem.facts(own.catalog)
            #expect(found != nil)
            await engine.close()
            try Directory.removeTree(shared.data)
        }
    }

    @Test(arguments: [CatalogLocation.Content.empty, .rows])
    func `an empty catalog makes way for one with rows`(old: CatalogLocation.Content) async throws {
        try await withTwo(new: old == .rows ? .empty : .rows, old: old) { file, own, _ in
            let engine = try await file.home.open()
            let status = try await engine.status()
            #expect(status.place == .shared && status.flags == [])
            let list = try await engine.attachments().map(\.key)
            #expect(list == [file.key])
            #expect(try FileSystem.facts(own.data) == nil)
        }
    }

    @Test func `a log that lost its catalog is never taken for another one's`() async throws {
        try await withTwo(new: .rows) { file, own, shared in
            // The container has a log alone: its catalog was removed by hand.
            let connection = try Connection(
                path: shared.catalog, mode: .readWrite, checkpointsOnClose: false)
            try connection.execute("DELETE FROM attachment")
            let log = try Data(contentsOf: URL(filePath: shared.catalog + "-wal"))
            #expect(!log.isEmpty)
            try FileSystem.remove(shared.catalog)
            let engine = try await file.home.open()
            let status = try await engine.status()
            #expect(status.place == .shared && status.flags == [])
            let list = try await engine.attachments().map(\.key)
            #expect(list == [file.key])
            let aside = try Data(contentsOf: URL(filePath: shared.data + "/log-without-catalog"))
            #expect(aside == log)
            _ = connection.changes
        }
    }

    @Test func `a login makes its catalog in the container, and a logout leaves nothing in either`()
        async throws
    {
        let account = TestAccount()
        account.add("An item", TestFile("a", size: 10))
        account.push()
        try await withHome(account) { home in
            let container = try home.useContainer()
            let engine = try await home.login()
            _ = try await engine.restore()
            let status = try await engine.status()
            #expect(status.place == .shared && status.folder.hasPrefix(container))
            #expect(try FileSystem.facts(home.places.account(account.id).data) == nil)
            // The container is remembered: a program that does not name it forgets it too.
            home.configuration.container = nil
            _ = try await engine.logout()
            let shared = home.places.account(account.id, in: container)
            #expect(try FileSystem.facts(shared.data) == nil)
            #expect(try FileSystem.facts(shared.cache) == nil)
            let settings = try #require(try Settings.read(home.places.settings))
            #expect(settings.containers == [])
        }
    }
}
