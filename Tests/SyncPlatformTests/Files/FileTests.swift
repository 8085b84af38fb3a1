import Foundation
import Testing

@testable import SyncPlatform

struct FileTests {
    private let scratch: Scratch
    init() throws { scratch = try Scratch() }

    @Test func `bytes come back from where they were put, and holes are zeros`() throws {
        let file = try File(scratch("a"), for: .create)
        try file.truncate(to: 1 << 20)
        try file.write([1, 2, 3].span, at: 70_000)
        #expect(try file.read(count: 5, at: 69_999) == [0, 1, 2, 3, 0])
        var buffer = [UInt8](repeating: 9, count: 4)
        var span = buffer.mutableSpan
        #expect(try file.read(into: &span, at: (1 << 20) - 2) == 2)
        #expect(buffer == [0, 0, 9, 9])
        #expect(try file.read(count: 5, at: 1 << 20) == [])
        let facts = try file.facts()
        #expect(facts.size == 1 << 20)
        #expect(facts.allocated < 1 << 17)
        #expect(facts.mode == 0o600)
        #expect(facts.kind == .regular && facts.isOwnedByUs && !facts.isOpenToOthers)
    }

    @Test func `a file that is there is not created again`() throws {
        _ = try File(scratch("a"), for: .create)
        let error = #expect(throws: FileError.self) { try File(scratch("a"), for: .create) }
        #expect(error?.code == .exists)
        #expect(error?.path == scratch("a"))
    }

    @Test(.timeLimit(.minutes(10)))
    func `a link, a pipe, a device and a folder are not ours to open`() throws {
        _ = try File(scratch("a"), for: .create)
        symlink(scratch("a"), scratch("link"))
        mkfifo(scratch("pipe"), 0o600)
        mkdir(scratch("folder"), 0o700)
        for path in [scratch("link"), scratch("pipe"), scratch("folder"), "/dev/null"] {
            for access in [File.Access.read, .readWrite] {
                let error = #expect(throws: FileError.self) { try File(path, for: access) }
                #expect(error?.code == .notOurs, "\(path)")
            }
        }
        symlink(scratch("none"), scratch("dangling"))
        #expect(throws: FileError.self) { try File(scratch("dangling"), for: .create) }
        #expect(!scratch.names.contains("none"))
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
    func `somebody else's file is not ours, but the user may choose it`() throws {
        try DurableFile.write([1].span, to: scratch("a"), mode: 0o644)
        chown(scratch("a"), 1, 1)
        let error = #expect(throws: FileError.self) { try File(scratch("a"), for: .read) }
        #expect(error?.code == .notOurs)
        symlink(scratch("a"), scratch("link"))
        #expect(try File(chosenByUser: scratch("link")).readAll(limit: 10) == [1])
    }

    @Test func `a path with a NUL is not cut short`() throws {
        _ = try File(scratch("a"), for: .create)
        #expect(throws: FileError.self) { try File(scratch("a\0b"), for: .read) }
        #expect(throws: FileError.self) { try FileSystem.remove(scratch("a\0b")) }
        #expect(scratch.names == ["a"])
    }

    @Test func `an error's path cannot move the cursor`() throws {
        let error = #expect(throws: FileError.self) {
            try File(scratch("a\u{1b}[2J\n\u{202e}é"), for: .read)
        }
        #expect(error?.code == .notFound)
        #expect(error?.path == scratch(#"a\u{1b}[2J\u{a}\u{202e}é"#))
    }

    @Test func `all of a pipe is read, and no more than the limit`() throws {
        let bytes = [UInt8](repeating: 5, count: 200_000)
        try DurableFile.write(bytes.span, to: scratch("a"))
        let exact = try File(scratch("a"), for: .read)
        #expect(try exact.readAll(limit: 200_000) == bytes)
        let error = #expect(throws: FileError.self) {
            try File(scratch("a"), for: .read).readAll(limit: 199_999)
        }
        #expect(error?.code == .tooLarge)
        System.ignoreSIGPIPE()
        for limit in [200_000, 199_999] {
            var ends: [Int32] = [0, 0]
            #expect(pipe(&ends) == 0)
            let output = File(adopting: ends[0], path: "out")
            // The thread's is the only reference, so that the pipe ends with it.
            Thread.detachNewThread { [end = ends[1]] in
                try? File(adopting: end, path: "in").append(bytes.span)
            }
            let read = Result { () throws(FileError) in try output.readAll(limit: limit) }
            if limit == bytes.count {
                #expect(try read.get() == bytes)
            } else {
                #expect(throws: FileError.self) { try read.get() }
            }
        }
    }

    @Test func `writing to a pipe that nobody reads is an error`() throws {
        System.ignoreSIGPIPE()
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        close(ends[0])
        let error = #expect(throws: FileError.self) {
            try File(adopting: ends[1], path: "pipe").append([1].span)
        }
        #expect(error?.code == .closed)
    }

    @Test func `threads read and write one file at once`() throws {
        let file = try File(scratch("a"), for: .create)
        DispatchQueue.concurrentPerform(iterations: 8) { i in
            let bytes = [UInt8](repeating: UInt8(i), count: 100_000)
            for _ in 0..<5 {
                try? file.write(bytes.span, at: Int64(i) * 100_000)
                let back = try? file.read(count: 100_000, at: Int64(i) * 100_000)
                if back != bytes { Issue.record("thread \(i) read something else") }
            }
        }
        #expect(try file.facts().size == 800_000)
    }

    @Test func `facts tell apart what is behind a name`() throws {
        #expect(try FileSystem.facts(scratch("none")) == nil)
        _ = try File(scratch("a"), for: .create, mode: 0o400)
        #expect(try FileSystem.facts(scratch("a") + "/b") == nil)
        symlink("a", scratch("link"))
        #expect(try FileSystem.facts(scratch("link"))?.kind == .symbolicLink)
        #expect(try FileSystem.facts(scratch.path)?.kind == .directory)
        let before = try #require(try FileSystem.facts(scratch("a")))
        #expect(before.mode == 0o400)
        chmod(scratch("a"), 0o600)
        let file = try File(scratch("a"), for: .readWrite)
        try file.write([1].span, at: 0)
        let after = try file.facts()
        #expect(after.inode == before.inode && after.device == before.device)
        #expect(after.size == 1 && after != before)
        #expect(after.mtimeNs > 1_600_000_000_000_000_000)
    }

    @Test func `a copy takes a free name only, and is whole`() throws {
        let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        try DurableFile.write(bytes.span, to: scratch("a"))
        let source = try File(scratch("a"), for: .read)
        try FileSystem.copy(source, to: scratch("b"), mode: 0o640)
        #expect(try DurableFile.read(scratch("b"), limit: 1 << 20) == bytes)
        #expect(try FileSystem.facts(scratch("b"))?.mode == 0o640)
        let named = try NewFile(scratch("c"), mayBeNameless: false)
        try FileSystem.fill(named.file, from: source)
        try named.publish()
        #expect(try DurableFile.read(scratch("c"), limit: 1 << 20) == bytes)
        symlink("none", scratch("d"))
        for taken in ["b", "d"] {
            let error = #expect(throws: FileError.self) {
                try FileSystem.copy(source, to: scratch(taken))
            }
            #expect(error?.code == .exists)
            #expect(throws: FileError.self) {
                try NewFile(scratch(taken), mayBeNameless: false).publish()
            }
        }
        #expect(scratch.names == ["a", "b", "c", "d"])
    }

    @Test(arguments: [true, false])
    func `a new file that is not published is not there`(mayBeNameless: Bool) throws {
        try NewFile(scratch("a"), mayBeNameless: mayBeNameless).file.append([1, 2].span)
        #expect(scratch.names == [])
        let whole = try NewFile(scratch("a"), mayBeNameless: mayBeNameless)
        try whole.file.append([1, 2, 3].span)
        try whole.publish()
        #expect(scratch.names == ["a"])
        let file = try File(chosenByUser: scratch("a"))
        #expect(try file.readNext(upTo: 2) == [1, 2])
        #expect(try file.readNext(upTo: 2) == [3])
        #expect(try file.readNext(upTo: 2) == [])
    }
}
