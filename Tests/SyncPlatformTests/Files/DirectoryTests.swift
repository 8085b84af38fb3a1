import Foundation
import Testing

@testable import SyncPlatform

struct DirectoryTests {
    private let scratch: Scratch
    init() throws { scratch = try Scratch() }

    @Test(arguments: [false, true])
    func `a folder is made with its parents, for us alone`(durably: Bool) throws {
        try Directory.make(scratch("a/b/c"), durably: durably)
        try Directory.make(scratch("a/b/c"), durably: durably)
        for path in ["a", "a/b", "a/b/c"] {
            #expect(try FileSystem.facts(scratch(path))?.mode == 0o700)
        }
    }

    @Test func `a link, a file or a folder open to others is not ours`() throws {
        mkdir(scratch("real"), 0o700)
        symlink(scratch("real"), scratch("link"))
        symlink(scratch("none"), scratch("dangling"))
        try DurableFile.write([1].span, to: scratch("file"))
        mkdir(scratch("open"), 0o700)
        chmod(scratch("open"), 0o770)
        for name in ["link", "dangling", "file", "open"] {
            let error = #expect(throws: FileError.self) { try Directory.make(scratch(name)) }
            #expect(error?.code == .notOurs, "\(name)")
        }
        #expect(scratch.names.count == 5)
        #expect(throws: FileError.self) { try Directory.make(scratch("file/below")) }
        #expect(throws: FileError.self) { try Directory.make(scratch("dangling/below")) }
        try Directory.make(scratch("link/below"))
        #expect(try Directory.list(scratch("real")) == ["below"])
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a folder away"))
    func `somebody else's folder is not ours`() throws {
        mkdir(scratch("a"), 0o700)
        chown(scratch("a"), 1, 1)
        let error = #expect(throws: FileError.self) { try Directory.make(scratch("a")) }
        #expect(error?.code == .notOurs)
    }

    @Test func `a tree goes, and what its links lead to stays`() throws {
        try Directory.make(scratch("kept"))
        try DurableFile.write([1].span, to: scratch("kept/file"))
        try Directory.make(scratch("tree/a/b"))
        for i in 0..<500 {
            try DurableFile.write([1].span, to: scratch("tree/a/\(i)"), mode: 0o400)
        }
        symlink(scratch("kept"), scratch("tree/link"))
        symlink(scratch("kept/file"), scratch("tree/a/b/link"))
        mkfifo(scratch("tree/pipe"), 0o600)
        #expect(try Directory.list(scratch("tree")).sorted() == ["a", "link", "pipe"])
        try Directory.removeTree(scratch("tree"))
        #expect(scratch.names == ["kept"])
        #expect(try Directory.list(scratch("kept")) == ["file"])
        try Directory.removeTree(scratch("tree"))
        symlink(scratch("kept"), scratch("link"))
        try Directory.removeTree(scratch("link"))
        #expect(try Directory.list(scratch("kept")) == ["file"])
    }

    @Test func `a tree that several remove at once is gone and nobody fails`() throws {
        for folder in 0..<20 {
            try Directory.make(scratch("tree/\(folder)"))
            for i in 0..<50 { _ = try File(scratch("tree/\(folder)/\(i)"), for: .create) }
        }
        let tree = scratch("tree")
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            do {
                try Directory.removeTree(tree)
            } catch {
                Issue.record(error)
            }
        }
        #expect(scratch.names == [])
    }

    @Test func `only an empty folder is removed by itself`() throws {
        try Directory.make(scratch("a/b"))
        let error = #expect(throws: FileError.self) { try Directory.remove(scratch("a")) }
        #expect(error?.code == .exists)
        try Directory.remove(scratch("a/b"))
        try Directory.remove(scratch("a"))
        #expect(scratch.names == [])
    }

    @Test func `left over temporary files go, others stay`() throws {
        _ = try File(FileSystem.temporaryPath(in: scratch.path), for: .create)
        _ = try File(scratch("a"), for: .create)
        try Directory.removeTemporaries(in: scratch.path)
        #expect(scratch.names == ["a"])
    }

    @Test func `free space is known and a folder that is not there has none`() throws {
        #expect(try Directory.freeSpace(at: scratch.path) > 0)
        let error = #expect(throws: FileError.self) {
            try Directory.freeSpace(at: scratch("none"))
        }
        #expect(error?.code == .notFound)
    }
}
