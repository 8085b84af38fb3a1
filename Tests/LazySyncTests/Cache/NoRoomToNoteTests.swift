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
    func `what can be had again can still be evicted`(way: Way) async throws {
        let account = TestAccount()
        let items = (0..<3).map { account.add("Item \($0)", TestFile("f\($0)", size: 2_000_000)) }
        account.push()
        let server = try Server(serving: [account.serve()])
        try server.start()
        defer { server.stop() }
        let folder = try freshFolder()
        defer { removeFolder(folder) }
        let disk = try #require(try SmallDisk(at: folder.path + "/disk", kilobytes: 12_000))
        var configuration = EngineConfiguration(home: disk.path)
        configuration.clock = TestClock()
        let request = LoginRequest(
            server: "\(server.url)", account: account.name, device: "test",
            secret: .passphrase(Array(TestAccount.passphrase.utf8)), keyStore: .file)
        do {
            let engine = try await SyncEngine.login(request, configuration)
            try await engine.setCacheLimit(8 << 20)
            _ = try await engine.restore()
            for item in items { _ = try await engine.materialize(item.key()) }
            await engine.close()
        }
        Self.fill(disk.path + "/others")
        let engine = try await SyncEngine.open(configuration)
        switch way {
        case .one: #expect(try await engine.evict(items[0].key()) >= 0)
        case .all: #expect(try await engine.evictAll().files > 0)
        case .limit: try await engine.setCacheLimit(1 << 20)
        }
        #expect(try Directory.freeSpace(at: disk.path) > 1_500_000)
        await engine.close()
        // What is left is what it says, or is found out by a look.
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
