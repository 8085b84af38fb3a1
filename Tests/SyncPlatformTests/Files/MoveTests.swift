import Foundation
import Testing

@testable import SyncPlatform

struct MoveTests {
    private let scratch: Scratch
    init() throws { scratch = try Scratch() }

    private func write(_ bytes: [UInt8], _ path: String) throws {
        try Directory.make(FileSystem.folder(of: path))
        try DurableFile.write(bytes.span, to: path)
    }

    @Test func `a folder moves with all that is in it`() throws {
        try write([1], scratch("old/a/one"))
        try write([2], scratch("old/two"))
        try FileSystem.move(scratch("old"), to: scratch("new"))
        #expect(try DurableFile.read(scratch("new/a/one"), limit: 9) == [1])
        #expect(try DurableFile.read(scratch("new/two"), limit: 9) == [2])
        #expect(scratch.names == ["new"])
        // What is not there has nothing to move.
        try FileSystem.move(scratch("old"), to: scratch("new"))
    }

    @Test(.enabled(if: SmallDisk.isPossible)) func `so it does to another volume`() throws {
        let disk = try #require(SmallDisk(bytes: 1 << 20))
        try write(Array(repeating: 7, count: 300_000), scratch("old/a/one"))
        try FileSystem.setMode(scratch("old/a/one"), 0o400)
        try FileSystem.move(scratch("old"), to: disk("new"))
        #expect(scratch.names.isEmpty)
        let facts = try #require(try FileSystem.facts(disk("new/a/one")))
        #expect(facts.size == 300_000 && facts.mode == 0o400)
    }

    @Test func `a move that was cut short goes on, and one that would replace a file does not`()
        throws
    {
        try write([1], scratch("old/one"))
        try write([2], scratch("old/two"))
        try write([1], scratch("new/one"))
        try FileSystem.move(scratch("old"), to: scratch("new"))
        #expect(scratch.names == ["new"])
        try write([3], scratch("old/two"))
        let error = #expect(throws: FileError.self) {
            try FileSystem.move(scratch("old"), to: scratch("new"))
        }
        #expect(error?.code == .exists)
        #expect(try DurableFile.read(scratch("old/two"), limit: 9) == [3])
        #expect(try DurableFile.read(scratch("new/two"), limit: 9) == [2])
    }

    @Test(.enabled(if: SmallDisk.isPossible)) func `no link is followed to another volume`() throws
    {
        let disk = try #require(SmallDisk(bytes: 1 << 20))
        try write([1], scratch("target"))
        symlink(scratch("target"), scratch("link"))
        let error = #expect(throws: FileError.self) {
            try FileSystem.move(scratch("link"), to: disk("link"))
        }
        #expect(error?.code == .notOurs)
        #expect(try FileSystem.facts(disk("link")) == nil)
    }

    @Test func `a lock is waited for so long and no longer`() throws {
        let lock = FileLock(path: scratch("lock"))
        let held = try lock.lock(.shared)
        #expect(try lock.lock(.exclusive, within: 30) == nil)
        withExtendedLifetime(held) {}
        #expect(try lock.lock(.shared, within: 0) != nil)
    }
}
