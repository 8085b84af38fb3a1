import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import TestSupport

/// A chunk is here if and only if it verifies, whatever a crash or a person did to the files.
@Suite struct BlobFileTests {
    private func overwrite(_ path: String, _ bytes: [UInt8], at offset: Int) throws {
        try File(path, for: .readWrite).write(bytes, at: offset)
    }

    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 300_000])
    func `what was written is here again, and the rest is not`(size: Int) throws {
        let test = try TestBlob(size: size)
        let last = test.geometry.chunkCount - 1
        do {
            let (file, present) = try test.open()
            #expect(present.present == 0)
            try file.write(test.plain(last), tags: test.tag(last), from: last)
        }
        let (file, present) = try test.open()
        #expect(test.numbers(present) == [last])
        #expect(try file.read(chunk: last) == test.plain(last))
        #expect(try test.names() == ["part", "tags"])
    }

    /// Case B1: a crash lets any of the writes through, in any order, and parts of them.
    @Test(arguments: 0..<40)
    func `after a crash between any two writes a chunk is here only if both of its were`(
        seed: Int
    ) throws {
        let test = try TestBlob(size: 65_536 * 6 + 77, seed: UInt64(seed))
        let random = SeededRandom(seed: UInt64(seed))
        try Directory.make(test.place.folder)
        let part = try File(test.place.part, for: .readWriteOrCreate)
        let tags = try File(test.place.tags, for: .readWriteOrCreate)
        var expected: Set<Int> = []
        for chunk in 0..<test.geometry.chunkCount {
            let start = Int(test.geometry.plainRange(chunk).lowerBound)
            // 0 nothing, 1 half of it, 2 all of it.
            let (bytes, tag) = (random.number(below: 3), random.number(below: 3))
            let plain = test.plain(chunk)
            try part.write(plain.prefix(plain.count * bytes / 2), at: start)
            try tags.write(test.tag(chunk).prefix(8 * tag), at: 16 * chunk)
            if bytes == 2, tag == 2 { expected.insert(chunk) }
        }
        let (file, present) = try test.open()
        #expect(Set(test.numbers(present)) == expected, "seed \(seed)")
        for chunk in expected { #expect(try file.read(chunk: chunk) == test.plain(chunk)) }
        // And what is missing comes without harm to what is here.
        let store = ChunkStore(file, test.blob, test.geometry, present: present) { _ in }
        let problem = store.take(all: test.sealed)
        #expect(store.chunks.isComplete && problem.suspect.isEmpty && problem.fileError == nil)
        let (path, _) = try file.publish(extension: "bin")
        #expect(try Whole(at: path) == Whole(test.content))
    }

    @Test func `a damaged byte, a damaged tag and a chunk's zeros are not here`() throws {
        let test = try TestBlob(size: 65_536 * 5)
        let path = try test.publish().path
        try FileSystem.setMode(path, 0o600)
        try overwrite(path, [test.content[70_000] ^ 1], at: 70_000)
        try overwrite(path, [UInt8](repeating: 0, count: 65_536), at: 65_536 * 2)
        try overwrite(test.place.tags, [test.tag(3)[0] ^ 1], at: 48)
        try overwrite(test.place.tags, [UInt8](repeating: 0, count: 16), at: 64)
        #expect(test.numbers(try test.open().1) == [0])
    }

    @Test func `chunks that lie in each other's place are not here`() throws {
        let test = try TestBlob(size: 65_536 * 3)
        let (file, _) = try test.open()
        try file.write(test.plain(1), tags: test.tag(1), from: 0)
        try file.write(test.plain(0), tags: test.tag(0), from: 1)
        #expect(try test.open().1.present == 0)
    }

    @Test func `a truncated file keeps the chunks before the cut, and gets its length back`() throws
    {
        let test = try TestBlob(size: 65_536 * 4)
        let path = try test.publish("jpg").path
        try FileSystem.setMode(path, 0o600)
        try File(path, for: .readWrite).truncate(to: 65_536 * 2 + 5)
        #expect(test.numbers(try test.open().1) == [0, 1])
        let facts = try #require(try FileSystem.facts(test.place.part))
        #expect(facts.size == Int64(test.content.count))
        #expect(try test.names() == ["part", "tags"])
    }

    @Test func `a list of tags that was cut, or is longer than it should be, harms nothing`() throws
    {
        let test = try TestBlob(size: 65_536 * 4)
        try test.publish()
        let tags = try File(test.place.tags, for: .readWrite)
        try tags.truncate(to: 40)
        #expect(test.numbers(try test.open().1) == [0, 1])
        try tags.truncate(to: 1 << 40)
        #expect(test.numbers(try test.open().1) == [0, 1])
    }

    @Test func `a complete file is a part again until it is proved, and then has its name again`()
        throws
    {
        let test = try TestBlob(size: 200_000)
        let (path, facts) = try test.publish("jpg")
        #expect(path.hasSuffix("/content.jpg") && facts.size == 200_000)
        #expect(try FileSystem.facts(path)?.mode == 0o400)
        let (file, present) = try test.open()
        #expect(present.isComplete)
        #expect(try test.names() == ["part", "tags"])
        let again = try file.publish(extension: "png")
        #expect(again.path.hasSuffix("/content.png"))
        #expect(try test.names() == ["content.png", "tags"])
        #expect(try Whole(at: again.path) == Whole(test.content))
    }

    @Test func `a blob of any length that an item can say costs no memory to begin`() throws {
        let test = try TestBlob(size: 10)
        let large = try #require(BlobGeometry(length: 1 << 43))
        let (_, present) = try BlobFile.open(test.place, test.blob, large)
        #expect(present.present == 0 && present.count == 1 << 27)
    }

    @Test func `a link in the place of a file goes, and its target is untouched`() throws {
        let test = try TestBlob(size: 10)
        let target = test.folder.appending(path: "target")
        try Data("mine".utf8).write(to: target)
        try Directory.make(test.place.folder)
        for name in [test.place.part, test.place.tags, test.place.content("jpg")] {
            try? FileManager.default.removeItem(atPath: name)
            try FileManager.default.createSymbolicLink(
                atPath: name, withDestinationPath: target.path)
            _ = try test.open()
            #expect(try FileSystem.facts(name)?.kind != .symbolicLink)
        }
        #expect(try Data(contentsOf: target) == Data("mine".utf8))
    }

    @Test func `no record's name becomes a path`() {
        for record in ["..", "a/b", "/etc/passwd", "", "\0", String(repeating: "x", count: 5_000)] {
            let place = BlobPlace(record: record, under: "/cache")
            let parts = place.folder.split(separator: "/")
            #expect(parts.count == 3 && parts[1].count == 2 && parts[2].count == 30)
            #expect(parts[1...].allSatisfy { $0.allSatisfy(\.isHexDigit) })
        }
    }

    @Test(arguments: [
        ("a.jpg", "jpg"), ("a.JPG", "jpg"), ("a.tar.gz", "gz"), ("a", ""), ("a.", ""), (".x", "x"),
        ("a.toolongforit", ""), ("a.j/g", ""), ("a.ジ", ""), ("a.j\u{301}g", ""), ("a.mp4", "mp4"),
        ("a. jpg", ""), ("a.7z", "7z"),
    ])
    func `only a plain extension goes to the cache`(name: String, suffix: String) {
        #expect(BlobPlace.suffix(of: name) == suffix)
    }
}

/// What comes is let in chunk by chunk, each one verified.
@Suite struct ChunkStoreTests {
    private func store(_ test: TestBlob) throws -> ChunkStore {
        let (file, present) = try test.open()
        return ChunkStore(file, test.blob, test.geometry, present: present) { _ in }
    }

    @Test func `behind a wrong header nothing is taken`() throws {
        let test = try TestBlob(size: 100_000)
        let store = try store(test)
        for index in [0, 4, 7, 8, 39] {
            var sealed = test.sealed
            sealed[index] ^= 1
            #expect(store.take(all: sealed).headerIsWrong)
        }
        #expect(store.take(all: Array(test.sealed.prefix(39))).headerIsWrong)
        #expect(store.chunks.present == 0)
    }

    @Test func `a wrong chunk is named, and those around it are kept`() throws {
        let test = try TestBlob(size: 65_536 * 6)
        let store = try store(test)
        var sealed = test.sealed
        sealed[Int(test.geometry.sealedRange(2).lowerBound)] ^= 1
        sealed[Int(test.geometry.sealedRange(5).upperBound) - 1] ^= 1
        let problem = store.take(all: sealed)
        #expect(problem.suspect == [2, 5])
        #expect(test.numbers(store.chunks) == [0, 1, 3, 4])
        let range = test.geometry.sealedRange(2)
        let right = Array(test.sealed[Int(range.lowerBound)..<Int(range.upperBound)])
        #expect(store.take(all: right, at: range.lowerBound).suspect.isEmpty)
        #expect(test.numbers(try test.open().1) == [0, 1, 2, 3, 4])
    }

    @Test func `a chunk that is here is passed over, also if what comes in its place is wrong`()
        throws
    {
        let test = try TestBlob(size: 65_536 * 3)
        let store = try store(test)
        _ = store.take(all: test.sealed)
        var sealed = test.sealed
        sealed[100] ^= 1
        #expect(store.take(all: sealed).suspect.isEmpty)
        #expect(try test.open().1.isComplete)
    }

    @Test func `bytes beyond the end of the blob, and less than a chunk, are nothing`() throws {
        let test = try TestBlob(size: 70_000)
        let store = try store(test)
        let problem = store.take(all: test.sealed + [1, 2, 3])
        #expect(problem.suspect.isEmpty && store.chunks.isComplete)
        let other = try TestBlob(size: 70_000, seed: 2)
        let empty = try self.store(other)
        #expect(empty.take(all: Array(other.sealed.prefix(65_000))).suspect.isEmpty)
        #expect(empty.chunks.present == 0)
    }
}

/// Thumbnails lie under their final name and are proved by their tags.
@Suite struct ThumbnailStoreTests {
    @Test func `a thumbnail is proved by its tags, and nothing else is`() throws {
        let test = try TestBlob(size: 70_000)
        let store = ThumbnailStore(folder: test.folder.path)
        let path = store.path(test.record, type: "image/jpeg")
        #expect(path.hasSuffix(".jpg"))
        let tags = ThumbnailStore.tags(of: test)
        func proves(_ tags: [UInt8]) -> Bool {
            store.proves(path, test.blob, test.geometry, tags: tags)
        }
        #expect(!proves(tags), "not there yet")
        try store.write(test.content, to: path)
        #expect(proves(tags))
        #expect(!proves([]) && !proves(Array(tags.dropLast())) && !proves(tags + tags))
        var other = tags
        other[20] ^= 1
        #expect(!proves(other))
        try store.write(test.content.dropLast(), to: path)
        #expect(!proves(tags), "a byte short")
        try store.write((test.content + [0]), to: path)
        #expect(!proves(tags), "a byte long")
        var changed = test.content
        changed[69_999] ^= 1
        try store.write(changed, to: path)
        #expect(!proves(tags))
    }

    @Test func `many that write the same one at once, before there is a folder, all succeed`()
        async throws
    {
        let test = try TestBlob(size: 1_000)
        let content = test.content
        for round in 0..<100 {
            let store = ThumbnailStore(folder: test.folder.path + "/\(round)")
            let path = store.path(test.record, type: "image/jpeg")
            try await withThrowingTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask {
                        try await Blocking.run { try store.write(content, to: path) }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try DurableFile.read(path, limit: 10_000) == test.content)
            let folder = FileSystem.folder(of: path)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
        }
    }

    @Test func `a file that a crash left makes way, a link does not lead anywhere`() throws {
        let test = try TestBlob(size: 1_000)
        let store = ThumbnailStore(folder: test.folder.path + "/thumbnails")
        let path = store.path(test.record, type: "image/png")
        try store.write([1, 2], to: path)
        try store.write(test.content, to: path)
        #expect(try DurableFile.read(path, limit: 10_000) == test.content)
        let target = test.folder.appending(path: "target")
        try Data("mine".utf8).write(to: target)
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target.path)
        try store.write(test.content, to: path)
        #expect(try Data(contentsOf: target) == Data("mine".utf8))
        #expect(try DurableFile.read(path, limit: 10_000) == test.content)
        try store.remove(test.record)
        #expect(try FileSystem.facts(path) == nil)
    }

    @Test func `only known types have an extension`() {
        let store = ThumbnailStore(folder: "/t")
        for type in ["", "image/svg+xml", "../x", "text/html", "IMAGE/JPEG"] {
            #expect(!(store.path("r", type: type).contains(".")))
        }
    }
}
