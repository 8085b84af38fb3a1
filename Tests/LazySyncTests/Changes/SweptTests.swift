import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Blobs that the store let go between their upload and the push that names them.
@Suite(.timeLimit(.minutes(5))) struct SweptTests {
    /// What is uploaded, and not named by anything, since the push itself does not get through.
    private static func uploadAlone(
        _ home: TestHome, _ engine: SyncEngine, before: Fault.Match = .post("/v1/manifest")
    ) async throws -> [String] {
        let fault = home.server.faults.add(before, .html(502))
        _ = await #expect(throws: SyncError.self) { try await engine.push() }
        home.server.faults.remove(fault)
        return try ServerSide(home).blobs
    }

    @Test(arguments: ["original", "thumbnail", "both"])
    func `a blob that the store let go is sealed again under a fresh name`(
        _ which: String
    ) async throws {
        let account = TestAccount()
        try await withHome(account) { home in
            home.addsFiles = true
            let picture = TestHome.bytes(2_000, seed: 3)
            home.configuration.thumbnail = { $0.path.hasSuffix(".jpg") ? picture : nil }
            let engine = try await home.login()
            var bytes: [AttachmentKey: [UInt8]] = [:]
            // All in one file of the spool; the photo is not its first.
            for (number, name) in ["a.bin", "photo.jpg", "c.bin"].enumerated() {
                let content = TestHome.bytes(70_000 + number, seed: UInt64(number))
                bytes[try await engine.add(home.file(name, content))] = content
            }
            let photo = try #require(
                try await engine.attachments().first { $0.name == "photo.jpg" }?.key)
            let before = try await Self.uploadAlone(home, engine)
            #expect(before.count == 4)
            let draft = try #require(try await engine.draft(photo.item))
            let original = draft.attachments[0].ref.address?.recordName
            let thumbnail = draft.attachments[0].thumb?.ref.address?.recordName
            let gone = [
                which == "thumbnail" ? nil : original, which == "original" ? nil : thumbnail,
            ]
            .compactMap { $0 }
            home.served.change { state in for name in gone { state.blobs.delete(name) } }

            let push = try await engine.push()
            #expect(push.isComplete && push.blobs == gone.count && push.refused.isEmpty)
            let served = try ServerSide(home)
            served.expectWhole()
            #expect(served.blobs.count == 4 && Set(served.blobs).isDisjoint(with: gone))
            #expect(Set(served.blobs).isSuperset(of: Set(before).subtracting(gone)))
            #expect(try home.packs.isEmpty)
            let other = try TestHome(beside: home)
            other.addsFiles = true
            let second = try await other.login()
            #expect(try await second.restore().thumbnailsHere == 1)
            for (key, content) in bytes { #expect(try await second.bytes(key) == content) }
            // It is here as well, under its new name.
            #expect(try await engine.bytes(photo) == bytes[photo])
            try other.check()
        }
    }

    @Test func `a push that waits for its answer does not name what the store has let go`()
        async throws
    {
        try await withTwo { devices in
            let bytes = TestHome.bytes(9 << 20)
            let key = try await devices.one.add(devices.home.file("large.bin", bytes))
            let gone = try await Self.uploadAlone(devices.home, devices.one)
            #expect(gone.count == 1)
            #expect(
                try devices.home.number("SELECT count(*) FROM outbox WHERE sent IS NOT NULL") == 1)
            devices.home.served.change { state in state.blobs.delete(gone[0]) }
            var served: ServerSide?
            let push = try await devices.one.push()
            served = try ServerSide(devices.home)
            #expect(push.isComplete && served?.versions.values.sorted() == [1])
            served?.expectWhole()
            try await devices.settle()
            #expect(try await devices.two.bytes(key) == bytes)
        }
    }

    @Test func `a name that is another blob's is as good as taken`() async throws {
        try await withTwo { devices in
            let bytes = TestHome.bytes(1_000)
            let key = try await devices.one.add(devices.home.file("f.bin", bytes))
            let draft = try #require(try await devices.one.draft(key.item))
            let record = try #require(draft.attachments[0].ref.address?.recordName)
            devices.home.served.putBlob(record, [1, 2, 3])
            #expect(try await devices.one.push().isComplete)
            let served = try ServerSide(devices.home)
            served.expectWhole(exactly: false)
            #expect(served.named.isDisjoint(with: [record]))
            try await devices.settle()
            #expect(try await devices.two.bytes(key) == bytes)
        }
    }
}
