import Foundation
import Testing

@testable import SyncPlatform

struct DurableFileTests {
    private let scratch: Scratch
    init() throws { scratch = try Scratch() }

    @Test func `a file is replaced as a whole, for us alone`() throws {
        try DurableFile.write([1, 2].span, to: scratch("a"))
        let before = try FileSystem.facts(scratch("a"))
        try DurableFile.write([3].span, to: scratch("a"))
        #expect(try DurableFile.read(scratch("a"), limit: 1) == [3])
        let after = try FileSystem.facts(scratch("a"))
        #expect(after?.mode == 0o600)
        #expect(after?.inode != before?.inode)
        #expect(scratch.names == ["a"])
    }

    @Test func `an empty file is a file`() throws {
        let nothing: [UInt8] = []
        try DurableFile.write(nothing.span, to: scratch("a"))
        #expect(try DurableFile.read(scratch("a"), limit: 0) == [])
    }

    @Test func `a longer file than allowed is not read`() throws {
        try DurableFile.write([1, 2, 3].span, to: scratch("a"))
        let error = #expect(throws: FileError.self) {
            try DurableFile.read(scratch("a"), limit: 2)
        }
        #expect(error?.code == .tooLarge)
    }

    @Test func `a link in the way is refused and its target untouched`() throws {
        try DurableFile.write([1].span, to: scratch("target"))
        symlink(scratch("target"), scratch("link"))
        let error = #expect(throws: FileError.self) {
            try DurableFile.write([2].span, to: scratch("link"))
        }
        #expect(error?.code == .notOurs)
        #expect(throws: FileError.self) { try DurableFile.read(scratch("link"), limit: 9) }
        #expect(try DurableFile.read(scratch("target"), limit: 9) == [1])
        #expect(scratch.names == ["link", "target"])
    }

    @Test func `a writer that fails leaves the old file and nothing else`() throws {
        struct Stop: Error {}
        try DurableFile.write([1].span, to: scratch("a"))
        #expect(throws: Stop.self) {
            try DurableFile.write(to: scratch("a")) { file in
                try file.append([2].span)
                throw Stop()
            }
        }
        #expect(try DurableFile.read(scratch("a"), limit: 9) == [1])
        #expect(scratch.names == ["a"])
        try DurableFile.write(to: scratch("a"), mode: 0o640) { file in
            for i in 0..<3 { try file.append([UInt8(i)].span) }
        }
        #expect(try DurableFile.read(scratch("a"), limit: 9) == [0, 1, 2])
        #expect(try FileSystem.facts(scratch("a"))?.mode == 0o640)
    }

    @Test(.enabled(if: SmallDisk.isPossible))
    func `a full disk leaves the old file and nothing else`() throws {
        let disk = try #require(SmallDisk(bytes: 1 << 16))
        try DurableFile.write([1].span, to: disk("a"))
        let large = [UInt8](repeating: 2, count: 1 << 17)
        let error = #expect(throws: FileError.self) {
            try DurableFile.write(large.span, to: disk("a"))
        }
        #expect(error?.code == .noSpace)
        #expect(try DurableFile.read(disk("a"), limit: 9) == [1])
        try DurableFile.write(large.span, to: scratch("large"))
        let source = try File(scratch("large"), for: .read)
        let failure = #expect(throws: FileError.self) {
            try FileSystem.copy(source, to: disk("b"))
        }
        #expect(failure?.code == .noSpace)
        #expect(try Directory.list(disk.path) == ["a"])
    }

    @Test func `removing says whether there was something`() throws {
        try DurableFile.write([1].span, to: scratch("a"))
        #expect(try DurableFile.remove(scratch("a")))
        #expect(try !DurableFile.remove(scratch("a")))
    }

    @Test func `a folder that is not there is said to be missing`() throws {
        let error = #expect(throws: FileError.self) {
            try DurableFile.write([1].span, to: scratch("none/a"))
        }
        #expect(error?.code == .notFound)
    }
}
