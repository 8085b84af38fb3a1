import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// A disk that somebody else has filled, and a person who wants to make room on it.
@Suite(.enabled(if: SmallDisk.isAllowed, "mounting is not allowed here")) struct NoRoomToNoteTests {
    enum Way: CaseIterable { case one, all, limit }

    @Test(arguments: Way.allCases)
    func `what can be had again can still be evicted, and only what was meant goes`(
        way: Way
    ) async throws {
        try await withFullDisk { disk in
            let (engine, items) = (disk.engine, disk.items)
            switch way {
            case .one:
                #expect(try await engine.evict(items[1].key()) > Self.size)
                #expect(disk.areThere == [true, false, true])
            case .all:
                let report = try await engine.evictAll()
                #expect(report.files == 3 && report.bytes > 3 * Self.size)
                #expect(disk.areThere == [false, false, false])
            case .limit:
                disk.clock.advance(by: CacheRoom.safeSeconds)
                try await engine.setCacheLimit(Int64(2 * Self.size))
                #expect(disk.areThere == [false, false, true])
            }
            #expect(try Directory.freeSpace(at: disk.path) > 1_500_000)
        }
    }

    @Test func `a lower limit leaves what was just handed out, also where that cannot be noted`()
        async throws
    {
        try await withFullDisk { disk in
            let failure = await #expect(throws: SyncError.self) {
                try await disk.engine.setCacheLimit(1 << 20)
            }
            #expect(failure?.code == .unavailable(.diskFull))
            #expect(disk.areThere == [true, true, true])
        }
    }

    private static let size = 2_000_000

    private struct FullDisk {
        let path: String
        let clock: TestClock
        let engine: SyncEngine
        let items: [TestItem]
        let files: [String]

        var areThere: [Bool] { files.map { FileManager.default.fileExists(atPath: $0) } }
    }

    /// Three files that were just handed out, on a disk without a byte to spare; and afterwards all
    /// is as it says, or is found out by a look.
    private func withFullDisk(_ body: (FullDisk) async throws -> Void) async throws {
        let account = TestAccount()
        let items = (0..<3).map {
            account.add("Item \($0)", TestFile("f\($0)", size: Self.size))
        }
        account.push()
        let server = try Server(serving: [account.serve()])
        try server.start()
        defer { server.stop() }
        let folder = try freshFolder()
        defer { removeFolder(folder) }
        let disk = try #require(try SmallDisk(at: folder.path + "/disk", kilobytes: 12_000))
        let clock = TestClock()
        var configuration = EngineConfiguration(home: disk.path)
        configuration.clock = clock
        let request = LoginRequest(
            server: "\(server.url)", account: account.name, device: "test",
            secret: .passphrase(Array(TestAccount.passphrase.utf8)), keyStore: .file)
        var files: [String] = []
        do {
            let engine = try await SyncEngine.login(request, configuration)
            try await engine.setCacheLimit(8 << 20)
            _ = try await engine.restore()
            for item in items { files.append(try await engine.materialize(item.key()).path) }
            await engine.close()
        }
        Self.fill(disk.path + "/others")
        let engine = try await SyncEngine.open(configuration)
        try await body(
            FullDisk(path: disk.path, clock: clock, engine: engine, items: items, files: files))
        await engine.close()
        try FileManager.default.removeItem(atPath: disk.path + "/others")
        let next = try await SyncEngine.open(configuration)
        try await next.setCacheLimit(8 << 20)
        _ = try await next.verify(VerifyOptions(repair: true))
        #expect(try await next.verify().isRight)
        for item in items {
            let file = try await next.materialize(item.key())
            #expect(try Whole(at: file.path) == Whole(known(account.content(item.key()))))
        }
        await next.close()
    }

    /// Takes all that is left of a disk.
    private static func fill(_ path: String) {
        let descriptor = open(path, O_CREAT | O_WRONLY, 0o600)
        defer { close(descriptor) }
        for size in [65_536, 4_096, 512, 1] {
            let bytes = [UInt8](repeating: 1, count: size)
            while write(descriptor, bytes, size) == size {}
        }
    }
}
