import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// What a check finds wrong with the spool and the trash, and what it does about it.
@Suite(.timeLimit(.minutes(5))) struct VerifySpoolTests {
    private static let size = 200_000
    private static let all = VerifyOptions(sample: 100)
    private static let repair = VerifyOptions(sample: 100, repair: true)

    /// A device on which two files were added, which lie in one pack.
    private func withAdded(
        _ body: (TestHome, SyncEngine, [AttachmentKey], _ pack: String) async throws -> Void
    ) async throws {
        try await withHome(TestAccount()) { home in
            home.addsFiles = true
            let engine = try await home.login()
            _ = try await engine.restore()
            let files = try (0..<2).map { index in
                try home.file("\(index).bin", TestHome.bytes(Self.size, seed: UInt64(index + 1)))
            }
            let added = try await engine.add(files: files)
            let packs = try home.packs
            #expect(packs.count == 1)
            let pack = try Spool(home.accountPlaces).path(#require(packs.first))
            try await body(home, engine, added.attachments, pack)
        }
    }

    private func flip(_ path: String, at offset: Int64) throws {
        let file = try File(path, for: .readWrite)
        let byte = try file.read(count: 1, at: offset)[0]
        try file.write([byte ^ 1].span, at: offset)
    }

    private func age(_ path: String) throws {
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -10_000)], ofItemAtPath: path)
    }

    @Test func `what waits to be sent is looked at, and proved if it is chosen`() async throws {
        try await withAdded { home, engine, keys, _ in
            let quick = try await engine.verify()
            #expect(quick.isRight && quick.spooled == 2 && quick.proved == 0)
            let report = try await engine.verify(Self.all)
            #expect(report.isRight && report.spooled == 2 && report.proved == 2)
            #expect(report.bytes == Int64(2 * Self.size) && report.head != false)
            // Also an item that is removed again, and one that is changed.
            try await engine.remove(keys[0].item)
            try await engine.edit(keys[1].item, ItemEdit(title: "changed"))
            #expect(try await engine.verify(Self.repair).isRight)
            _ = try await engine.push()
            let after = try await engine.verify(Self.all)
            #expect(after.isRight && after.head == true)
        }
    }

    @Test func `what cannot be sent is named by its chunks, and is not touched`() async throws {
        try await withAdded { home, engine, keys, pack in
            let sealed = Int64(
                try #require(BlobGeometry(length: UInt64(Self.size))).sealedLength)
            try flip(pack, at: sealed + 40 + 65_552 + 7)
            #expect(try await engine.verify().isRight)
            let report = try await engine.verify(Self.repair)
            #expect(report.found == 1 && report.repaired == 0 && report.proved == 1)
            let problem = try #require(report.problems.first)
            #expect(problem.kind == .spoolDamaged && problem.chunks == [1])
            #expect(problem.key == keys[1] && problem.path == pack)
            try flip(pack, at: sealed + 40 + 65_552 + 7)
            #expect(try await engine.verify(Self.all).isRight)
            try flip(pack, at: 9)
            let header = try await engine.verify(Self.all).problems
            #expect(header.map(\.key) == [keys[0]] && header.first?.detail != nil)
            try flip(pack, at: 9)
            #expect(try await engine.push().isComplete)
        }
    }

    @Test func `a pack that is too short or gone is seen at once`() async throws {
        try await withAdded { home, engine, keys, pack in
            let bytes = try Data(contentsOf: URL(filePath: pack))
            try File(pack, for: .readWrite).truncate(to: Int64(bytes.count - 1))
            let short = try await engine.verify(VerifyOptions(repair: true)).problems
            #expect(short.map(\.kind) == [.spoolDamaged] && short.map(\.key) == [keys[1]])
            try FileSystem.remove(pack)
            let gone = try await engine.verify(VerifyOptions(repair: true)).problems
            #expect(gone.map(\.kind) == [.spoolMissing, .spoolMissing])
            #expect(Set(gone.compactMap(\.key)) == Set(keys))
            // A row of what was removed again has nobody to be named after.
            try await engine.remove(keys[0].item)
            let removed = try await engine.verify().problems
            #expect(removed.contains { $0.kind == .spoolMissing && $0.key == keys[1] })
            try bytes.write(to: URL(filePath: pack))
            #expect(try await engine.verify(Self.all).isRight)
        }
    }

    @Test func `a file that nobody names goes, unless somebody is writing one`() async throws {
        try await withAdded { home, engine, _, pack in
            let spool = Spool(try home.accountPlaces)
            let stray = spool.path("stray")
            try DurableFile.write([1, 2, 3].span, to: stray)
            let found = try await engine.verify()
            #expect(found.problems.map(\.kind) == [.spoolOrphan])
            #expect(found.problems.map(\.path) == [stray] && found.repaired == 0)
            #expect(try FileSystem.facts(stray) != nil)
            var writer: FileLock.Token? = try spool.enter()
            #expect(try await engine.verify(VerifyOptions(repair: true)).isRight)
            #expect(try FileSystem.facts(stray) != nil && writer != nil)
            writer = nil
            let repaired = try await engine.verify(VerifyOptions(repair: true))
            #expect(repaired.found == 1 && repaired.repaired == 1)
            #expect(try home.packs.map(spool.path) == [pack])
            #expect(try await engine.push().isComplete)
        }
    }

    @Test func `in the trash stays what something there names, and nothing else`() async throws {
        try await withAdded { home, engine, keys, _ in
            _ = try await engine.push()
            for key in keys { _ = try await engine.materialize(key) }
            try await engine.remove(keys[0].item)
            let places = try home.accountPlaces
            let parts = try Directory.list(places.trash)
            let part = try #require(parts.first)
            let kept =
                try places.trash + "/\(part)/" + #require(
                    try Directory.list(places.trash + "/" + part).first)
            let stray = BlobPlace(record: "nobody-names-this-here", under: places.trash).folder
            try Directory.make(FileSystem.folder(of: stray))
            try Directory.make(stray)
            for path in [kept, stray] { try age(path) }
            let found = try await engine.verify()
            #expect(found.problems.map(\.kind) == [.trashOrphan])
            #expect(found.problems.map(\.path) == [stray])
            let repaired = try await engine.verify(Self.repair)
            #expect(repaired.found == 1 && repaired.repaired == 1)
            #expect(try FileSystem.facts(stray) == nil && FileSystem.facts(kept) != nil)
            try home.execute("CREATE TABLE kept AS SELECT payload FROM trash")
            try home.execute("UPDATE trash SET payload = x'7b7d'")
            let unreadable = try await engine.verify(Self.repair)
            #expect(unreadable.problems.map(\.kind) == [.trashDamaged])
            try home.execute("UPDATE trash SET payload = (SELECT payload FROM kept)")
            try home.execute("DROP TABLE kept")
            try await engine.untrash(keys[0].item)
            #expect(try await engine.verify(Self.all).isRight)
        }
    }
}
