import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// How large an item may be, and how many changes may wait.
@Suite(.timeLimit(.minutes(10))) struct ChangeLimitTests {
    @Test func `an item has a thousand attachments, and not one more`() async throws {
        try await withTwo { devices in
            let one = devices.one
            let path = try devices.home.file("f", [7])
            let added = try await one.add(
                title: "many", files: [String](repeating: path, count: 1_000))
            #expect(added.attachments.count == 1_000)
            let id = added.items[0]
            let failure = await #expect(throws: SyncError.self) {
                try await one.add(files: [path], to: id)
            }
            #expect(failure?.code == .invalidInput)
            let more = await #expect(throws: SyncError.self) {
                try await one.add(title: "more", files: [String](repeating: path, count: 1_001))
            }
            #expect(more?.code == .invalidInput)
            #expect(try await one.items().count == 1)
            let push = try await one.push()
            #expect(push.isComplete && push.blobs == 1_000)
            try await devices.settle()
            #expect(try await devices.two.attachments(AttachmentQuery(limit: 2_000)).count == 1_000)
            try ServerSide(devices.home).expectWhole()
        }
    }

    @Test func `a text is as long as a payload has room for, and not longer`() async throws {
        try await withTwo { devices in
            let one = devices.one
            let failure = await #expect(throws: SyncError.self) {
                try await one.add(title: "t", text: String(repeating: "x", count: 1 << 20))
            }
            #expect(failure?.code == .invalidInput)
            #expect(try await one.items().isEmpty)
            // A little for the title and the time.
            let long = String(repeating: "x", count: (1 << 20) - 200)
            let note = try await one.note("t", long)
            let refused = await #expect(throws: SyncError.self) {
                try await one.edit(note, ItemEdit(text: long + long))
            }
            #expect(refused?.code == .invalidInput)
            let push = try await one.push()
            #expect(push.isComplete)
            #expect(try await devices.settle().items[note]?.text == long)
        }
    }

    @Test func `more changes than a push may have go as several, all of them`() async throws {
        try await withTwo { devices in
            let ids = try await Self.addNotes(5_500, devices.one)
            #expect(ids.count == 5_500)
            let push = try await devices.one.push()
            #expect(push.isComplete && push.items == 5_500 && push.head >= 2)
            let posts = devices.home.server.log.entries.filter {
                $0.method == "POST" && $0.path == "/v1/manifest"
            }
            #expect(posts.count == Int(push.head) && posts.allSatisfy { $0.status == 200 })
            #expect(try ServerSide(devices.home).versions.values.allSatisfy { $0 == 1 })
            _ = try await devices.two.restore()
            #expect(try await devices.two.items(limit: 10_000).count == 5_500)
        }
    }

    @Test func `twenty thousand small edits go, once each`() async throws {
        try await withTwo { devices in
            let one = devices.one
            let ids = try await Self.addNotes(2_000, one)
            _ = try await one.push()
            for round in 0..<10 {
                try await one.change("edit") { store in
                    for id in ids {
                        try store.change(id) { before in
                            var draft = before
                            draft?.text = "round \(round)"
                            return draft
                        }
                    }
                }
                if round % 5 == 4 { #expect(try await one.push().items == 2_000) }
            }
            let served = try ServerSide(devices.home)
            #expect(served.versions.values.allSatisfy { $0 == 3 })
            #expect(served.items.values.allSatisfy { $0.text == "round 9" })
            _ = try await devices.two.restore()
            #expect(try await Shown(devices.two).items.values.allSatisfy { $0.text == "round 9" })
        }
    }

    private static func addNotes(
        _ count: Int, _ engine: SyncEngine
    ) async throws -> [LazySync.EntryID] {
        try await engine.change("add notes") { [random = engine.configuration.random] store in
            try (0..<count).map { number in
                let id = LazySync.EntryID(random: random)
                try store.change(id) { _ in ItemDraft(title: "note \(number)") }
                return id
            }
        }
    }
}
