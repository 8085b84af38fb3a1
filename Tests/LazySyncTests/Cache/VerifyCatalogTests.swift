import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// What a check finds wrong with the catalog, with thumbnails, and with what no record knows.
@Suite(.timeLimit(.minutes(10))) struct VerifyCatalogTests {
    /// Makes a file or folder some seconds older than it is, or newer.
    private func age(_ path: String, by seconds: Double) throws {
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -seconds)], ofItemAtPath: path)
    }

    private func kinds(_ report: VerifyReport) -> Set<VerifyProblem.Kind> {
        Set(report.problems.map(\.kind))
    }

    // MARK: The catalog

    @Test func `counts that are wrong are named and set right`() async throws {
        try await withSmallCache(files: 2) { cache in
            try await cache.open(0)
            try cache.home.execute(
                """
                UPDATE tally SET value = value + 5 WHERE name IN ('items', 'cacheBytes');
                DELETE FROM tally WHERE name = 'attachments';
                """)
            let report = try await cache.engine.verify()
            #expect(
                Set(report.problems.compactMap(\.detail)) == ["items", "cacheBytes", "attachments"])
            #expect(report.head == true && kinds(report) == [.count])
            #expect(try await cache.engine.verify(VerifyOptions(repair: true)).repaired == 3)
            #expect(try await cache.engine.verify().isRight)
        }
    }

    @Test func `a digest that was kept wrong is set right, and the head still fits`() async throws {
        try await withSmallCache(files: 2) { cache in
            try cache.home.execute("UPDATE account SET set_digest = randomblob(32), entries = 9")
            let report = try await cache.engine.verify(VerifyOptions(repair: true))
            #expect(kinds(report) == [.digest] && report.repaired == 1 && report.head == true)
            #expect(try await cache.engine.verify().isRight)
        }
    }

    @Test func `an entry that is another one does not add up to the head`() async throws {
        try await withSmallCache(files: 2) { cache in
            let leaf = try cache.home.catalog().prepare("SELECT hex(leaf) FROM entry WHERE id = 1")
            #expect(try leaf.step())
            let before = try leaf.text(0)
            try cache.home.execute("UPDATE entry SET leaf = randomblob(32) WHERE id = 1")
            let report = try await cache.engine.verify()
            #expect(report.head == false && kinds(report) == [.digest, .head])
            try cache.home.execute("UPDATE entry SET leaf = x'\(before)' WHERE id = 1")
            #expect(try await cache.engine.verify().isRight)
        }
    }

    @Test func `in the middle of a restore nobody can tell whether the head fits`() async throws {
        try await withSmallCache(files: 1) { cache in
            let path = try cache.home.accountPlaces.locks + "/outbox"
            var held: FileLock.Token? = try FileLock(path: path).lock(.exclusive)
            #expect(try await cache.engine.verify().head == nil && held != nil)
            held = nil
            #expect(try await cache.engine.verify().head == true)
        }
    }

    @Test func `a damaged catalog is named, and nothing else is done`() async throws {
        try await withSmallCache(files: 1) { cache in
            try cache.home.execute(
                """
                PRAGMA foreign_keys = OFF;
                INSERT INTO attachment(entry, position, attachment_id, created_at, name, type,
                    size, address, thumb_state)
                VALUES (999, 0, randomblob(16), 0, '', '', 0, 1, 0);
                """)
            let report = try await cache.engine.verify(VerifyOptions(repair: true))
            #expect(kinds(report) == [.catalog] && report.repaired == 0 && report.checked == 0)
            try cache.home.execute("DELETE FROM attachment WHERE entry = 999")
        }
    }

    // MARK: What no record knows

    @Test func `what no record knows is removed, unless it is new or somebody is at it`()
        async throws
    {
        try await withSmallCache(files: 2) { cache in
            try await cache.open(0)
            let places = try cache.home.accountPlaces
            let names = ["gone", "used", "coming", "new"]
            let folders = names.map { BlobPlace(record: $0, under: places.blobs).folder }
            for folder in folders {
                try Directory.make(folder)
                try Data("x".utf8).write(to: URL(filePath: folder + "/part"))
                try age(folder, by: folder == folders[3] ? -10_000 : 10_000)
            }
            let alien = places.blobs + "/alien"
            try Data("x".utf8).write(to: URL(filePath: alien))
            let thumbnail = ThumbnailStore(folder: places.thumbnails).path(
                "gone", type: "image/png")
            try Directory.make(FileSystem.folder(of: thumbnail))
            try Data("x".utf8).write(to: URL(filePath: thumbnail))
            for path in [alien, thumbnail] { try age(path, by: 10_000) }
            var held: [FileLock.Token?] = [
                try BlobUses(places).share("used"), try TransferLocks(places).tryLock("coming"),
            ]
            let found = try await cache.engine.verify()
            #expect(found.found == 5 && found.repaired == 0)
            let paths = Set(found.problems.compactMap(\.path))
            #expect(paths == Set(folders[..<3] + [alien, thumbnail]))
            let report = try await cache.engine.verify(VerifyOptions(repair: true))
            #expect(report.found == 5 && report.repaired == 3 && held.count == 2)
            held = []
            for path in [folders[0], alien, thumbnail] {
                #expect(FileSystem.isGone(path), "\(path)")
            }
            for path in folders[1...] { #expect(!FileSystem.isGone(path), "\(path)") }
            try await cache.open(0)
            #expect(try await cache.engine.verify(VerifyOptions(repair: true)).repaired == 2)
        }
    }

    @Test func `a part that a record knows stays`() async throws {
        try await withOneFile { file in
            file.server.faults.add(
                file.request, times: 1, .cut(at: file.fraction(chunks: 3), .reset))
            file.server.faults.add(file.request, .problem(403, code: "not-entitled"))
            try await file.openFails(.notEntitled)
            try age(file.place.folder, by: 10_000)
            #expect(try await file.engine.verify(VerifyOptions(repair: true)).isRight)
            #expect(try file.kept() == [0, 1, 2])
            file.server.faults.clear()
        }
    }

    // MARK: Thumbnails

    @Test func `thumbnails that are gone or wrong are due again`() async throws {
        let account = TestAccount()
        let items = (0..<5).map {
            account.add("\($0)", .photo("\($0).jpg", size: 100, thumb: 70_000))
        }
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            #expect(try await engine.restore().isComplete)
            var paths: [String] = []
            for item in items { paths.append(try await engine.thumbnail(item.key()).path) }
            try FileSystem.remove(paths[0])
            try File(paths[1], for: .readWrite).truncate(to: 10)
            try File(paths[2], for: .readWrite).write([1, 2, 3].span, at: 66_000)
            let quick = try await engine.verify()
            #expect(quick.checked == 5 && kinds(quick) == [.thumbnailMissing, .thumbnailDamaged])
            #expect(quick.problems.map(\.key) == items[..<2].map { $0.key() })
            let full = try await engine.verify(VerifyOptions(sample: 100, repair: true))
            #expect(full.found == 3 && full.repaired == 3 && full.proved == 2)
            try CatalogCheck(home.catalog()).run()
            #expect(try await engine.verify().isRight)
            let before = home.blobRequests.count
            #expect(try await engine.restore().isComplete)
            #expect(home.blobRequests.count == before + 3)
        }
    }

    @Test func `a check of a share goes on among the thumbnails too`() async throws {
        let account = TestAccount()
        for index in 0..<4 { account.add("\(index)", .photo("\(index).jpg", thumb: 300)) }
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore()
            let all = VerifyOptions(sample: 100)
            let interrupted = Task {
                try await engine.verify(all) { progress in
                    if progress.done == 3 { withUnsafeCurrentTask { $0?.cancel() } }
                }
            }
            await #expect(throws: SyncError.self) { try await interrupted.value }
            let next = try await engine.verify(all)
            #expect(next.resumed && next.proved == 1 && next.checked == 4)
        }
    }

    @Test func `places of a check are kept and read in their order`() {
        let places: [VerifyPlace] = [
            .blob("-a"), .blob("A"), .blob("zz"), .thumbnail(createdAt: .min, row: 9),
            .thumbnail(createdAt: 5, row: 1), .thumbnail(createdAt: 5, row: 2),
        ]
        #expect(places == places.sorted())
        for place in places { #expect(VerifyPlace(place.bytes) == place) }
        #expect(VerifyPlace(Array("~x".utf8)) == nil)
    }
}
