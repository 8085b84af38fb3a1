import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// What was removed and what comes back.
@Suite(.timeLimit(.minutes(5))) struct TrashTests {
    /// When something is pushed while it goes and comes back.
    struct Order: Sendable, CustomTestStringConvertible {
        var isSent = false
        var isRemovalSent = false
        var testDescription: String {
            isRemovalSent ? "a sent removal" : isSent ? "an unsent removal" : "an unsent item"
        }
    }

    static let orders = [
        Order(), Order(isSent: true), Order(isSent: true, isRemovalSent: true),
    ]

    @Test(arguments: orders) func `an item comes back as it was, and opens offline`(
        _ order: Order
    ) async throws {
        try await withTwo { devices in
            let one = devices.one
            let bytes = TestHome.bytes(90_000)
            let key = try await one.add(devices.home.file("f", bytes))
            _ = try await one.note("another")
            if order.isSent {
                try await devices.settle()
                #expect(try await one.bytes(key) == bytes)
            }
            let before = try await Shown(one)
            try await one.remove(key.item)
            #expect(try await Shown(one).titles == ["another"])
            #expect(try await one.trash().map(\.title) == ["f"])
            if order.isRemovalSent {
                try await devices.settle()
                #expect(try ServerSide(devices.home).removed == [key.item])
                #expect(try await devices.two.trash().map(\.item) == [key.item])
            }
            devices.home.server.log.clear()
            try await one.untrash(key.item)
            #expect(try await Shown(one) == before)
            #expect(try await one.trash().isEmpty)
            #expect(try await one.bytes(key) == bytes)
            #expect(devices.home.blobRequests.isEmpty)
            try await devices.settle()
            #expect(try await Shown(devices.two) == before)
            #expect(try await devices.two.trash().isEmpty)
            #expect(try await devices.two.bytes(key) == bytes)
            let versions = try ServerSide(devices.home).versions[key.item]
            #expect(versions == (order.isRemovalSent ? 3 : 1))
        }
    }

    @Test(arguments: orders) func `an attachment comes back into its item`(
        _ order: Order
    ) async throws {
        try await withTwo { devices in
            let one = devices.one
            let paths = try ["x", "y"].map {
                try devices.home.file($0, TestHome.bytes(70_000, seed: $0 == "x" ? 1 : 2))
            }
            let added = try await one.add(title: "two files", files: paths)
            let (first, second) = (added.attachments[0], added.attachments[1])
            if order.isSent {
                try await devices.settle()
                #expect(try await one.bytes(first) == TestHome.bytes(70_000, seed: 1))
            }
            try await one.remove(first)
            #expect(try await one.attachments().map(\.key) == [second])
            #expect(try await one.trash().map(\.attachment) == [first.id])
            #expect(try await one.trash().map(\.title) == ["x"])
            if order.isRemovalSent {
                try await devices.settle()
                #expect(try await devices.two.trash().map(\.attachment) == [first.id])
            }
            devices.home.server.log.clear()
            try await one.untrash(first.item, attachment: first.id)
            #expect(try await one.bytes(first) == TestHome.bytes(70_000, seed: 1))
            #expect(devices.home.blobRequests.isEmpty)
            #expect(try await one.trash().isEmpty)
            try await devices.settle()
            #expect(Set(try await devices.two.attachments().map(\.key)) == [first, second])
            #expect(try await devices.two.bytes(first) == TestHome.bytes(70_000, seed: 1))
            // It is in nobody's trash any more: it is there.
            #expect(try await devices.two.trash().isEmpty)
        }
    }

    @Test func `what another device removed comes back from here, and is live everywhere`()
        async throws
    {
        try await withTwo { devices in
            let bytes = TestHome.bytes(90_000)
            let key = try await devices.one.add(devices.home.file("f", bytes))
            try await devices.settle()
            #expect(try await devices.two.bytes(key) == bytes)
            try await devices.one.remove(key.item)
            try await devices.settle()
            #expect(try await devices.two.items().isEmpty)
            devices.home.server.log.clear()
            try await devices.two.untrash(key.item)
            #expect(try await devices.two.bytes(key) == bytes)
            #expect(devices.home.blobRequests.isEmpty)
            try await devices.settle()
            #expect(try await devices.one.bytes(key) == bytes)
            #expect(try await devices.one.trash().isEmpty)
        }
    }

    @Test func `an edit elsewhere takes what was removed here out of the trash`() async throws {
        try await withTwo { devices in
            let bytes = TestHome.bytes(90_000)
            let key = try await devices.one.add(devices.home.file("f", bytes))
            try await devices.settle()
            #expect(try await devices.one.bytes(key) == bytes)
            try await devices.one.remove(key.item)
            try await devices.two.edit(key.item, ItemEdit(title: "edited"))
            _ = try await devices.two.push()
            let push = try await devices.one.push()
            #expect(push.isComplete && push.items == 0)
            #expect(try await Shown(devices.one).titles == ["edited"])
            #expect(try await devices.one.trash().isEmpty)
            #expect(try await devices.one.bytes(key) == bytes)
            try await devices.settle()
        }
    }

    @Test func `an edit here is stronger than a removal elsewhere`() async throws {
        try await withTwo { devices in
            let note = try await devices.one.note("a")
            try await devices.settle()
            try await devices.one.remove(note)
            _ = try await devices.one.push()
            try await devices.two.edit(note, ItemEdit(title: "b"))
            #expect(try await devices.two.push().items == 1)
            #expect(try await devices.settle().titles == ["b"])
            for engine in [devices.one, devices.two] { #expect(try await engine.trash().isEmpty) }
        }
    }

    @Test func `what lies in the trash takes nothing of the cache's room`() async throws {
        try await withTwo { devices in
            let one = devices.one
            let key = try await one.add(devices.home.file("f", TestHome.bytes(900_000)))
            try await devices.settle()
            _ = try await one.evictAll()
            #expect(try await one.bytes(key) == TestHome.bytes(900_000))
            let before = try await one.status().cache.originals
            #expect(before >= 900_000)
            try await one.remove(key.item)
            #expect(try await one.status().cache.originals == 0)
            try await one.untrash(key.item)
            #expect(try await one.status().cache.originals == before)
            try await devices.settle()
        }
    }

    @Test func `what is not in the trash, or has lost its item, is said`() async throws {
        try await withTwo { devices in
            let one = devices.one
            let added = try await one.add(
                title: "a", files: [devices.home.file("x", [1]), devices.home.file("y", [2])])
            let failure = await #expect(throws: SyncError.self) {
                try await one.untrash(added.items[0])
            }
            #expect(failure?.code == .noSuchID)
            try await one.remove(added.attachments[0])
            try await one.remove(added.items[0])
            let lost = await #expect(throws: SyncError.self) {
                try await one.untrash(added.items[0], attachment: added.attachments[0].id)
            }
            #expect(lost?.code == .invalidInput)
            try await one.untrash(added.items[0])
            try await one.untrash(added.items[0], attachment: added.attachments[0].id)
            #expect(try await one.attachments().count == 2)
            #expect(try await one.bytes(added.attachments[0]) == [1])
            try await devices.settle()
            #expect(try await devices.two.bytes(added.attachments[0]) == [1])
        }
    }
}
