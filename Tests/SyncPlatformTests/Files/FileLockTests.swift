import Foundation
import Testing

@testable import SyncPlatform

struct FileLockTests {
    private let scratch: Scratch
    private let lock: FileLock

    init() throws {
        scratch = try Scratch()
        lock = FileLock(path: scratch("lock"))
    }

    /// Another process that holds a lock until it is killed or its input ends.
    private func holder(_ kind: FileLock.Kind, _ range: Range<Int64>) throws -> Child {
        let script = """
            import fcntl, struct, sys, os
            fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
            lock = struct.pack('hhqqi4x', int(sys.argv[2]), 0, int(sys.argv[3]), int(sys.argv[4]), 0)
            fcntl.fcntl(fd, 37, lock)
            print('held', flush=True)
            sys.stdin.read()
            """
        let type = kind == .shared ? F_RDLCK : F_WRLCK
        let child = try Child([
            "/usr/bin/python3", "-c", script, lock.path, "\(type)", "\(range.lowerBound)",
            "\(range.count)",
        ])
        #expect(child.line() == "held")
        return child
    }

    @Test func `an exclusive lock keeps everybody out, also in this process`() throws {
        let token = try #require(try lock.tryLock(.exclusive))
        #expect(try lock.tryLock(.exclusive) == nil)
        #expect(try lock.tryLock(.shared, 5..<6) == nil)
        #expect(try lock.isLocked())
        withExtendedLifetime(token) {}
    }

    @Test func `a lock ends with its token`() throws {
        do {
            let token = try #require(try lock.tryLock(.exclusive))
            withExtendedLifetime(token) {}
        }
        #expect(try !lock.isLocked())
        #expect(try lock.tryLock(.exclusive) != nil)
    }

    @Test func `sharers share, and keep out who wants it alone`() throws {
        let first = try #require(try lock.tryLock(.shared))
        let second = try #require(try lock.tryLock(.shared))
        #expect(try lock.tryLock(.exclusive) == nil)
        withExtendedLifetime((first, second)) {}
    }

    @Test func `ranges that do not touch do not matter to each other`() throws {
        let first = try #require(try lock.tryLock(.exclusive, 10..<20))
        let second = try #require(try lock.tryLock(.exclusive, 20..<21))
        let last = try #require(try lock.tryLock(.shared, (Int64.max - 5)..<Int64.max))
        #expect(try lock.tryLock(.exclusive, 19..<20) == nil)
        #expect(try lock.isLocked(0..<11))
        #expect(try !lock.isLocked(0..<10))
        #expect(try !lock.isLocked(21..<1_000_000))
        let all: [Range<Int64>] = [10..<20, 20..<21, (Int64.max - 5)..<Int64.max]
        #expect(try lock.lockedRanges() == all)
        #expect(try lock.lockedRanges(within: 15..<300) == [15..<20, 20..<21])
        withExtendedLifetime((first, second, last)) {}
    }

    @Test func `asking makes no file`() throws {
        #expect(try !lock.isLocked())
        #expect(try lock.lockedRanges() == [])
        #expect(scratch.names == [])
    }

    @Test func `a lock dies with the process that was killed`() throws {
        let other = try holder(.exclusive, 100..<200)
        #expect(try lock.tryLock(.shared, 150..<151) == nil)
        #expect(try lock.isLocked(150..<151))
        #expect(try lock.lockedRanges() == [100..<200])
        #expect(try lock.tryLock(.exclusive, 0..<100) != nil)
        other.killAndWait()
        #expect(try !lock.isLocked())
        #expect(try lock.tryLock(.exclusive) != nil)
    }

    @Test(.timeLimit(.minutes(10)))
    func `who waits gets the lock when its holder is killed`() async throws {
        let other = try holder(.shared, 0..<1)
        let waiting = onThread { [lock] in try lock.lock(.exclusive) }
        other.killAndWait()
        let token = try await waiting.value
        #expect(try lock.tryLock(.shared) == nil)
        withExtendedLifetime(token) {}
    }

    @Test func `a child does not inherit a lock`() throws {
        var token = try lock.tryLock(.exclusive)
        let child = try Child(["/bin/cat"])
        #expect(token != nil)
        token = nil
        #expect(try lock.tryLock(.exclusive) != nil)
        child.killAndWait()
    }

    @Test(.timeLimit(.minutes(10)))
    func `who waited on a file that was removed holds the one that is there`() async throws {
        var first: FileLock.Token? = try lock.lock(.exclusive)
        let waiting = onThread { [lock] in try lock.lock(.exclusive) }
        #expect(first != nil)
        try FileSystem.remove(lock.path)
        first = nil
        let token = try await waiting.value
        #expect(try lock.tryLock(.shared) == nil)
        withExtendedLifetime(token) {}
    }

    @Test(.timeLimit(.minutes(10)))
    func `a link or a pipe is no lock`() throws {
        symlink(scratch("target"), scratch("link"))
        mkfifo(scratch("pipe"), 0o600)
        for name in ["link", "pipe"] {
            let error = #expect(throws: FileError.self) {
                try FileLock(path: scratch(name)).tryLock(.exclusive)
            }
            #expect(error?.code == .notOurs)
        }
        #expect(scratch.names == ["link", "pipe"])
    }

    @Test func `fifty takers of one lock hold it one after the other`() throws {
        let counter = scratch("counter")
        try DurableFile.write([0].span, to: counter)
        DispatchQueue.concurrentPerform(iterations: 50) { [lock] _ in
            do {
                try lock.holding(.exclusive) {
                    let count = try DurableFile.read(counter, limit: 1)[0]
                    try DurableFile.write([count + 1].span, to: counter)
                }
            } catch {
                Issue.record(error)
            }
        }
        #expect(try DurableFile.read(counter, limit: 1) == [50])
    }
}
