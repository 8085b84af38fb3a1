import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// The catalog goes to the container once, with all that is its own, whatever comes in between.
@Suite(.timeLimit(.minutes(10))) struct CatalogMoveTests {
    static let points = [
        "settled", "marked", "catalog moved", "log moved", "rest moved", "cache moved",
        "mark removed",
    ]

    /// What is only in the log, put there by the process that dies.
    private static let late = "INSERT INTO dropped(record) VALUES (x'0102')"

    /// Starts in a process of its own, which ends at a point as the kernel would end it.
    private static func start(
        _ home: String, _ container: String, _ account: String, killedAt point: String
    ) throws {
        var places = Places(home: home)
        places.container = container
        var device = Device(places: places, random: SystemRandom())
        let account = known(AccountID(account))
        let catalog = places.account(account).catalog
        device.reached = { reached in
            if reached == "settled" { try write(late, catalog) }
            if reached == point { kill(getpid(), SIGKILL) }
        }
        _ = try device.locate(account, create: false)
    }

    /// Writes to a catalog's log alone, as a writer that dies does.
    private static func write(_ sql: String, _ catalog: String) throws {
        try Connection(path: catalog, mode: .readWrite, checkpointsOnClose: false).execute(sql)
    }

    private func isThere(_ home: TestHome) throws -> Bool {
        try home.number("SELECT count(*) FROM dropped WHERE record = x'0102'") == 1
    }

    /// Everything is in the container, opens without a request, and nothing is at the old place.
    private func expectMoved(
        _ file: OneFile, _ list: [AttachmentKey], _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let requests = file.server.log.entries.count
        let engine = try await file.home.open()
        let status = try await engine.status()
        #expect(status.place == .shared && status.flags == [], sourceLocation: location)
        let now = try await engine.attachments().map(\.key)
        #expect(now == list, sourceLocation: location)
        try await file.open(requests: 0, with: engine, location)
        #expect(file.server.log.entries.count == requests, sourceLocation: location)
        let own = file.home.places.account(file.account.id)
        #expect(try FileSystem.facts(own.data) == nil, sourceLocation: location)
        let names = try Directory.list(file.home.accountPlaces.data)
        let known: Set = ["catalog.sqlite", "catalog.sqlite-wal", "catalog.sqlite-shm", "locks"]
        #expect(Set(names).subtracting(known).isEmpty, "\(names)", sourceLocation: location)
        await engine.close()
    }

    /// A device with one file that is here, and nobody at it.
    private func withSettled(_ body: (OneFile, [AttachmentKey]) async throws -> Void) async throws {
        try await withOneFile { file in
            try await file.open()
            let list = try await file.engine.attachments().map(\.key)
            await file.engine.close()
            try await body(file, list)
        }
    }

    // MARK: The move

    @Test func `a catalog moves to the container at the next start, and what is here stays here`()
        async throws
    {
        try await withSettled { file, list in
            let container = try file.home.useContainer()
            try await expectMoved(file, list)
            let places = try file.home.accountPlaces
            #expect(places.data.hasPrefix(container) && places.cache.hasPrefix(container))
            // Who names no container finds it too.
            file.home.configuration.container = nil
            try await expectMoved(file, list)
        }
    }

    /// Case D5, and every other step.
    @Test(arguments: points)
    func `a move that is killed is finished by the next start, with what was only in the log`(
        point: String
    ) async throws {
        try await withSettled { file, list in
            let (home, id) = (file.home.folder.path, "\(file.account.id)")
            let container = try file.home.useContainer()
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [
                    home = home as String, container = container as String, id = id as String,
                    point = point as String
                ] in
                try Self.start(
                    known(FileSystem.realPath(home)), known(FileSystem.realPath(container)), id,
                    killedAt: point)
            }
            try await expectMoved(file, list)
            #expect(try isThere(file.home))
        }
    }

    @Test(
        .enabled(if: SmallDisk.isAllowed, "mounting is not allowed here"),
        arguments: points + ["copied", ""])
    func `so it is on another volume, where the cache stays behind`(point: String) async throws {
        try await withSettled { file, list in
            let (home, id) = (file.home.folder.path, "\(file.account.id)")
            let path = known(try? FileSystem.realPath(home)) + "/volume ü"
            let disk = try #require(try SmallDisk(at: path, kilobytes: 4_000))
            defer { disk.remove() }
            let container = try file.home.useContainer(at: path)
            try Directory.make(file.home.places.account(file.account.id).data + "/spool")
            let spool = file.home.places.account(file.account.id).data + "/spool/piece"
            try DurableFile.write([1, 2, 3].span, to: spool)
            if !point.isEmpty {
                await #expect(processExitsWith: .signal(SIGKILL)) {
                    [
                        home = home as String, container = container as String, id = id as String,
                        point = point as String
                    ] in
                    try Self.start(known(FileSystem.realPath(home)), container, id, killedAt: point)
                }
            }
            let engine = try await file.home.open()
            let places = try file.home.accountPlaces
            #expect(places.data.hasPrefix(container) && !places.cache.hasPrefix(container))
            let piece = try DurableFile.read(places.data + "/spool/piece", limit: 9)
            #expect(piece == [1, 2, 3])
            try Directory.removeTree(places.data + "/spool")
            await engine.close()
            try await expectMoved(file, list)
            if !point.isEmpty { #expect(try isThere(file.home)) }
            _ = try await file.home.open().logout()
        }
    }

    @Test(
        .enabled(if: SmallDisk.isAllowed, "mounting is not allowed here"),
        arguments: points + ["copied", ""])
    func `what was added and what was removed follow there, open, come back and are sent`(
        point: String
    ) async throws {
        try await withOneFile { file in
            let home = file.home
            home.addsFiles = true
            try await file.open()
            let bytes = TestHome.bytes(150_000)
            let added = try await file.engine.add(files: [home.file("added.bin", bytes)])
            let key = try #require(added.attachments.first)
            try await file.engine.remove(file.item.id)
            let own = try home.accountPlaces
            let (packs, trash) = try (home.packs, Directory.list(own.trash))
            #expect(packs.count == 1 && trash.count == 1)
            await file.engine.close()
            let (root, id) = (home.folder.path, "\(file.account.id)")
            let path = known(try? FileSystem.realPath(root)) + "/volume ü"
            let disk = try #require(try SmallDisk(at: path, kilobytes: 8_000))
            defer { disk.remove() }
            let container = try home.useContainer(at: path)
            if !point.isEmpty {
                await #expect(processExitsWith: .signal(SIGKILL)) {
                    [
                        root = root as String, container = container as String, id = id as String,
                        point = point as String
                    ] in
                    try Self.start(known(FileSystem.realPath(root)), container, id, killedAt: point)
                }
            }
            let engine = try await home.open()
            let places = try home.accountPlaces
            #expect(places.data.hasPrefix(container) && !places.cache.hasPrefix(container))
            #expect(try FileSystem.facts(own.data) == nil)
            #expect(try home.packs == packs && Directory.list(places.trash) == trash)
            #expect(try await engine.verify(VerifyOptions(sample: 100)).isRight)
            // Offline: all of it is here.
            let requests = home.server.log.entries.count
            let opened = try await engine.materialize(key)
            #expect(try Data(contentsOf: URL(filePath: opened.path)) == Data(bytes))
            try await engine.untrash(file.item.id)
            try await file.open(requests: 0, with: engine)
            // From one volume to the other, and back.
            try await engine.remove(file.item.id)
            #expect(try Directory.list(places.trash) == trash)
            try await engine.untrash(file.item.id)
            try await file.open(requests: 0, with: engine)
            #expect(home.server.log.entries.count == requests)
            let push = try await engine.push()
            #expect(push.isComplete && push.blobs == 1)
            #expect(try home.packs.isEmpty)
            #expect(try await engine.verify(VerifyOptions(sample: 100)).isRight)
            let other = try TestHome(beside: home)
            other.addsFiles = true
            let second = try await other.login()
            _ = try await second.restore()
            let there = try await second.materialize(key)
            #expect(try Data(contentsOf: URL(filePath: there.path)) == Data(bytes))
            #expect(try await Shown(engine) == Shown(second))
            _ = try await engine.logout()
        }
    }

    /// Case D5 as another program would have left it: no mark, and only the log at the old place.
    @Test func `a log that was left behind comes along before the catalog is opened`() async throws
    {
        try await withSettled { file, list in
            let own = try file.home.accountPlaces
            try Self.write(Self.late, own.catalog)
            try file.home.moveCatalogAlone()
            #expect(known(try FileSystem.facts(own.catalog + "-wal")).size > 0)
            try await expectMoved(file, list)
            #expect(try isThere(file.home))
        }
    }

    // MARK: What keeps it from moving

    @Test func `while another program is at the catalog the old place goes on being used`()
        async throws
    {
        try await withOneFile { file in
            try await file.open()
            let list = try await file.engine.attachments().map(\.key)
            try file.home.useContainer()
            let other = try await file.home.open()
            for _ in 0..<2 {
                let status = try await other.status()
                #expect(status.place == .private && status.flags == [])
            }
            _ = try await other.restore()
            await other.close()
            await file.engine.close()
            try await expectMoved(file, list)
        }
    }

    @Test func `a program that knows nothing of our locks keeps it from moving too`() async throws {
        try await withSettled { file, list in
            var reader = Optional(try file.home.catalog())
            _ = try reader?.firstInt("SELECT count(*) FROM entry")
            try file.home.useContainer()
            let engine = try await file.home.open()
            let status = try await engine.status()
            #expect(status.place == .private && status.flags == [])
            await engine.close()
            reader = nil
            try await expectMoved(file, list)
        }
    }

    @Test func `a container without a folder is told, and the old place is used until it is there`()
        async throws
    {
        try await withSettled { file, list in
            let container = try file.home.useContainer(exists: false)
            let engine = try await file.home.open()
            let status = try await engine.status()
            #expect(status.place == .private && status.flags == ["containerMissing"])
            #expect(try FileSystem.facts(container) == nil)
            await engine.close()
            try Directory.make(container)
            try await expectMoved(file, list)
        }
    }

    @Test func `a container that is a link, a file or open to others is refused`() async throws {
        try await withSettled { file, _ in
            let container = try file.home.useContainer()
            try FileSystem.rename(container, to: container + " elsewhere")
            try DurableFile.write([1].span, to: container)
            var error = await #expect(throws: SyncError.self) { try await file.home.open() }
            #expect(error?.code == .storage)
            try FileSystem.remove(container)
            try Directory.make(container)
            #expect(chmod(container, 0o777) == 0)
            error = await #expect(throws: SyncError.self) { try await file.home.open() }
            #expect(error?.code == .storage)
            #expect(chmod(container, 0o700) == 0)
            // The folder in it leads out of it.
            try FileManager.default.createSymbolicLink(
                atPath: container + "/lazysync", withDestinationPath: container + " elsewhere")
            error = await #expect(throws: SyncError.self) { try await file.home.open() }
            #expect(error?.code == .storage)
            #expect(try Directory.list(container + " elsewhere").isEmpty)
        }
    }

    @Test(.enabled(if: SmallDisk.isAllowed, "mounting is not allowed here"))
    func `a catalog that finds no room stays where it is, as it was`() async throws {
        try await withSettled { file, list in
            let path = known(try? FileSystem.realPath(file.home.folder.path)) + "/small"
            let disk = try #require(try SmallDisk(at: path, kilobytes: 40))
            defer { disk.remove() }
            try file.home.useContainer(at: path)
            let engine = try await file.home.open()
            let status = try await engine.status()
            #expect(status.place == .private && status.flags == ["moveFailed"])
            let now = try await engine.attachments().map(\.key)
            #expect(now == list)
            _ = try await engine.restore()
            await engine.close()
            disk.resize(kilobytes: 4_000)
            try await expectMoved(file, list)
            _ = try await file.home.open().logout()
        }
    }

    @Test func `a log that cannot follow leaves the catalog readable, until it can`() async throws {
        try await withSettled { file, list in
            let own = try file.home.accountPlaces
            try Self.write(Self.late, own.catalog)
            let new = try file.home.moveCatalogAlone()
            // In the way of the log.
            try DurableFile.write([1, 2, 3].span, to: new.catalog + "-wal")
            let engine = try await file.home.open()
            let status = try await engine.status()
            #expect(status.place == .shared && status.flags == ["moveUnfinished"])
            let now = try await engine.attachments().map(\.key)
            #expect(now == list)
            try await file.open(requests: 0, with: engine)
            let error = await #expect(throws: SyncError.self) {
                try await engine.setAllPinned(true)
            }
            #expect(error?.code == .storage)
            await engine.close()
            #expect(known(try FileSystem.facts(own.catalog + "-wal")).size > 0)
            try FileSystem.remove(new.catalog + "-wal")
            try await expectMoved(file, list)
            #expect(try isThere(file.home))
        }
    }
}
