import Foundation
import SyncPlatform
@testable import TestSupport
import Testing

@testable import LazySync
@testable import MockServer

@Suite struct AddingTests {
    @Test func `what is added shows at once, opens offline, and reaches another device`()
        async throws
    {
        try await withHome(TestAccount()) { home in
            home.addsFiles = true
            let bytes = TestHome.bytes(200_000)
            let path = try home.file("photo one.jpg", bytes)
            let engine = try await home.login()
            _ = try await engine.restore()
            home.server.log.clear()
            let report = try await engine.add(files: [path])
            let key = try #require(report.attachments.first)
            // Whatever becomes of the source.
            try FileManager.default.removeItem(atPath: path)
            let listed = try await engine.attachments()
            #expect(listed.map(\.name) == ["photo one.jpg"])
            #expect(listed.first?.state == .here && listed.first?.upload == .waiting)
            #expect(try await engine.status().outbox == 1)
            let file = try await engine.materialize(key)
            #expect(try Data(contentsOf: URL(filePath: file.path)) == Data(bytes))
            #expect(home.server.log.entries.isEmpty)

            let push = try await engine.push()
            #expect(push.items == 1 && push.blobs == 1 && push.isComplete && push.head == 1)
            #expect(try home.packs.isEmpty)
            #expect(try await engine.attachments().first?.upload == nil)

            let other = try TestHome(beside: home)
            other.addsFiles = true
            let second = try await other.login()
            let restored = try await second.restore()
            #expect(restored.items == 1 && restored.verified)
            let opened = try await second.materialize(key)
            #expect(try Data(contentsOf: URL(filePath: opened.path)) == Data(bytes))
            #expect(try await Shown(engine) == Shown(second))
            try other.check()
        }
    }

    @Test func `an edit and a removal reach another device`() async throws {
        try await withHome(TestAccount()) { home in
            home.addsFiles = true
            let engine = try await home.login()
            let note = try await engine.add(title: "a note", text: "with words")
            let other = try await engine.add(title: "another")
            _ = try await engine.push()
            let beside = try TestHome(beside: home)
            let second = try await beside.login()
            _ = try await second.restore()
            #expect(try await Shown(second).titles == ["a note", "another"])
            try await engine.edit(try #require(note.items.first), ItemEdit(title: "renamed"))
            try await engine.remove(try #require(other.items.first))
            #expect(try await Shown(engine).titles == ["renamed"])
            #expect(try await engine.trash().map(\.title) == ["another"])
            let push = try await engine.push()
            #expect(push.items == 2 && push.isComplete)
            _ = try await second.restore()
            #expect(try await Shown(second).titles == ["renamed"])
            #expect(try await Shown(engine) == Shown(second))
            try beside.check()
        }
    }

    @Test func `with one that is no file nothing is added, and it is said which`() async throws {
        try await withHome(TestAccount()) { home in
            home.addsFiles = true
            let engine = try await home.login()
            let good = try home.file("good", TestHome.bytes(9))
            for (wrong, why) in [(good + "x", "no such file"), (home.folder.path, "a folder")] {
                let error = await #expect(throws: SyncError.self) {
                    try await engine.add(files: [good, wrong])
                }
                #expect(error?.code == .invalidInput)
                #expect(error?.detail.contains("'\(wrong)'") == true)
                #expect(error?.detail.contains(why) == true)
                await #expect(throws: SyncError.self) {
                    try await engine.add(title: "both", files: [good, wrong])
                }
            }
            #expect(try await engine.items().isEmpty && home.packs.isEmpty)
        }
    }

    @Test func `each part that is durable is told of, also before one that fails`() async throws {
        try await withHome(TestAccount()) { home in
            home.addsFiles = true
            let engine = try await home.login()
            let files = try ["one", "two", "three"].map { try home.file($0, TestHome.bytes(9)) }
            let told = Locked(AddReport())
            let error = await #expect(throws: SyncError.self) {
                try await engine.add(files: files) { progress in
                    // The last one goes away when all were looked at.
                    if progress.done == 2 { try? FileManager.default.removeItem(atPath: files[2]) }
                } added: { part in
                    told.withLock { $0.items += part.items }
                }
            }
            #expect(error?.code == .invalidInput)
            let listed = Set(try await engine.items().map(\.id))
            #expect(listed.count == 2 && listed == Set(told.withLock { $0.items }))
        }
    }
}
