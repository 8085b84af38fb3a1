import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import TestSupport

/// Files as readers have them: a chunk is proved when it is read, and nothing else is.
@Suite struct LazyProofTests {
    private func read(_ test: TestBlob) throws -> BlobFile? {
        try BlobFile.openToRead(test.place, test.blob, test.geometry)
    }

    private func fill(_ test: TestBlob) throws -> BlobFile? {
        try BlobFile.openToFill(test.place, test.blob, test.geometry)
    }

    @Test func `looking makes nothing, and filling makes a part`() throws {
        let test = try TestBlob(size: 200_000)
        #expect(try read(test) == nil && FileSystem.facts(test.place.folder) == nil)
        let file = try #require(try fill(test))
        #expect(try file.proved(0) == nil && file.isWritable)
        #expect(try test.names() == ["part", "tags"])
        #expect(try FileSystem.facts(test.place.part)?.size == 200_000)
        // Again, it is the same one.
        try file.write(test.plain(1), tags: test.tag(1), from: 1)
        #expect(try fill(test)?.proved(1) == test.plain(1))
        #expect(try read(test)?.proved(1) == test.plain(1))
    }

    @Test(arguments: 0..<20)
    func `a chunk is here if and only if its tag is and it gives that tag`(seed: Int) throws {
        let test = try TestBlob(size: 65_536 * 5 + 77, seed: UInt64(seed))
        let random = SeededRandom(seed: UInt64(seed))
        let file = try #require(try fill(test))
        let (part, tags) = (
            try File(test.place.part, for: .readWrite), try File(test.place.tags, for: .readWrite)
        )
        var expected: Set<Int> = []
        for chunk in 0..<test.geometry.chunkCount {
            let (bytes, tag) = (random.number(below: 3), random.number(below: 3))
            let plain = test.plain(chunk)
            try part.write(plain.prefix(plain.count * bytes / 2), at: chunk * 65_536)
            try tags.write(test.tag(chunk).prefix(8 * tag), at: 16 * chunk)
            if bytes == 2, tag == 2 { expected.insert(chunk) }
        }
        for chunk in 0..<test.geometry.chunkCount {
            let isHere = expected.contains(chunk)
            #expect(try file.proved(chunk) == (isHere ? test.plain(chunk) : nil), "seed \(seed)")
        }
    }

    @Test func `a complete file stays where it is, and is not written to`() throws {
        let test = try TestBlob(size: 65_536 * 4)
        let path = try test.publish("jpg").path
        let before = try FileSystem.facts(path)
        for file in [try read(test), try fill(test)] {
            let file = try #require(file)
            #expect(try file.isPublished() && !file.isWritable)
            #expect(try file.proved(3) == test.plain(3))
        }
        #expect(try FileSystem.facts(path) == before)
        #expect(try test.names() == ["content.jpg", "tags"])
        try FileSystem.remove(test.place.tags)
        #expect(try read(test) == nil, "without its tags nothing can be proved")
    }

    @Test func `a part that gets its name is read on, and not a byte is written to it any more`()
        throws
    {
        let test = try TestBlob(size: 65_536 * 4)
        let file = try #require(try fill(test))
        let (path, facts) = try test.publish("bin")
        #expect(try file.proved(2) == test.plain(2), "the same file under its name")
        let (plain, tag) = (test.plain(2), test.tag(2))
        try SharedPart(file: file).write(plain.span, tags: tag.span, from: 2)
        #expect(try FileSystem.facts(path) == facts)
    }

    @Test func `what is missing is told by the tags, at once for a run`() throws {
        let test = try TestBlob(size: 65_536 * 10)
        let file = try #require(try fill(test))
        #expect(try file.missing(2..<9) == 2..<9)
        for chunk in [5, 7] {
            try file.write(test.plain(chunk), tags: test.tag(chunk), from: chunk)
        }
        #expect(try file.missing(2..<9) == 2..<5)
        #expect(try file.missing(5..<9) == 5..<7, "whoever asks knows about the first")
        #expect(try file.missing(8..<10) == 8..<10)
        #expect(try file.hasTag(5) && !file.hasTag(6) && !file.hasTag(9))
    }

    @Test func `opening four gibibytes costs no look at them`() throws {
        let test = try TestBlob(size: 10)
        let large = try #require(BlobGeometry(length: 4 << 30))
        let file = try #require(try BlobFile.openToFill(test.place, test.blob, large))
        #expect(try file.proved(60_000) == nil)
        #expect(known(try FileSystem.facts(test.place.part)).allocated < 65_536)
    }

    @Test func `a reader follows no link in the place of a file, and one that fills removes it`()
        throws
    {
        let test = try TestBlob(size: 10)
        let target = test.folder.appending(path: "target")
        try Data("mine".utf8).write(to: target)
        try Directory.make(test.place.folder)
        try FileManager.default.createSymbolicLink(
            atPath: test.place.part, withDestinationPath: target.path)
        #expect(try read(test) == nil)
        _ = try fill(test)
        #expect(try FileSystem.facts(test.place.part)?.kind == .regular)
        #expect(try Data(contentsOf: target) == Data("mine".utf8))
    }
}

/// Where chunks of a part of a blob go.
@Suite struct ChunkRangeTests {
    @Test func `a set of a part knows nothing of the rest`() {
        var set = ChunkSet(100..<164 + 6)
        #expect(set.count == 70 && !set.contains(0) && !set.contains(500))
        for chunk in [100, 101, 163, 164, 169] { set.insert(chunk) }
        #expect(set.present == 5 && set.contains(169) && !set.contains(168))
        #expect(set.firstMissingRun == 102..<163)
        for chunk in 102..<163 { set.insert(chunk) }
        #expect(set.firstMissingRun == 165..<169)
        for chunk in 165..<169 { set.insert(chunk) }
        #expect(set.isComplete && set.firstMissingRun == nil)
    }

    @Test func `only wanted chunks are kept, and only they can be wrong`() throws {
        let test = try TestBlob(size: 65_536 * 6 + 9)
        let window = ChunkWindow(test.geometry)
        let store = ChunkStore(window, test.blob, test.geometry, present: ChunkSet(2..<5)) { _ in }
        var sealed = test.sealed
        for chunk in [1, 3, 6] { sealed[Int(test.geometry.sealedRange(chunk).lowerBound)] ^= 1 }
        #expect(store.take(all: sealed).suspect == [3])
        #expect(store.chunks.firstMissingRun == 3..<4)
        #expect((0..<7).filter { window.chunk($0) != nil } == [2, 4])
        let range = test.geometry.sealedRange(3)
        let right = Array(test.sealed[Int(range.lowerBound)..<Int(range.upperBound)])
        #expect(store.take(all: right, at: range.lowerBound).suspect.isEmpty)
        #expect(store.chunks.isComplete && window.chunk(3) == test.plain(3))
        #expect(window.byteCount == 3 * 65_536)
    }

    @Test(arguments: BlobRequestTests.lengths)
    func `bytes anywhere are in one chunk more than they fill, at the most`(length: UInt64) throws {
        let geometry = try #require(BlobGeometry(length: length))
        let random = SeededRandom(seed: length ^ 3)
        for _ in 0..<200 where length > 0 {
            let first = random.number() % length
            let range = first..<min(first + 65_536, length)
            let chunks = geometry.chunks(holding: range)
            #expect((1...2).contains(chunks.count) && chunks.upperBound <= geometry.chunkCount)
            let request = geometry.request(for: chunks, withHeader: false)
            #expect(request.count <= 2 * 65_552 && request.upperBound < geometry.sealedLength)
            #expect(geometry.plainRange(chunks.lowerBound).lowerBound <= first)
            #expect(geometry.plainRange(chunks.upperBound - 1).upperBound >= range.upperBound)
        }
    }
}
