import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// A store that does not take everything: what it refuses waits, and the rest goes.
@Suite(.timeLimit(.minutes(5))) struct RefusedUploadTests {
    /// What a store says to one blob, and what a person sees of it.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let action: FaultAction
        let reason: UnavailableReason
        /// Whether the rest of that run is not asked for either.
        var isForAll = false
    }

    static let cases = [
        Case(
            testDescription: "507", action: .problem(507, code: "store-full"), reason: .storeFull,
            isForAll: true),
        Case(
            testDescription: "413", action: .problem(413, code: "too-large"), reason: .tooLarge),
        Case(
            testDescription: "403", action: .problem(403, code: "not-entitled"),
            reason: .notEntitled),
    ]

    @Test(arguments: cases)
    func `one blob that is refused waits with its reason, and the others go`(
        _ refusal: Case
    ) async throws {
        try await withTwo { devices in
            let one = devices.one
            let note = try await one.note("a note")
            var keys: [AttachmentKey] = []
            for name in ["a", "b", "c"] {
                keys.append(
                    try await one.add(devices.home.file(name, TestHome.bytes(1_000))))
            }
            let draft = try #require(try await one.draft(keys[2].item))
            let record = try #require(draft.attachments[0].ref.address?.recordName)
            let fault = devices.home.server.faults.add(
                .put("/v1/blobs/\(record)"), refusal.action)
            let push = try await one.push()
            #expect(
                !push.isComplete && push.refused == [.init(key: keys[2], reason: refusal.reason)])
            let served = try ServerSide(devices.home)
            served.expectWhole()
            #expect(served.items[note] != nil && served.items[keys[2].item] == nil)
            if !refusal.isForAll { #expect(push.items == 3 && push.waiting == 1) }
            let listed = try await one.attachments().first { $0.key == keys[2] }
            #expect(listed?.upload == .refused(refusal.reason) && listed?.state == .here)
            // It opens, it can be edited, and a person who asks again is told again.
            #expect(try await one.bytes(keys[2]) == TestHome.bytes(1_000))
            try await one.edit(keys[2].item, ItemEdit(title: "renamed"))
            let again = try await one.push()
            #expect(again.refused == [.init(key: keys[2], reason: refusal.reason)])
            #expect(again.waiting == 1)
            devices.home.server.faults.remove(fault)
            let last = try await one.push()
            #expect(last.isComplete && last.items == 1 && last.blobs == 1)
            let shown = try await devices.settle()
            #expect(shown.titles == ["a", "a note", "b", "renamed"])
            try ServerSide(devices.home).expectWhole()
        }
    }

    @Test func `words go although the store is full, and files as soon as it has room`()
        async throws
    {
        var options = ServerOptions()
        options.limits.total = 250_000
        try await withTwo(options: options) { devices in
            let one = devices.one
            let first = try await one.add(devices.home.file("first", TestHome.bytes(200_000)))
            let note = try await one.note("a note")
            #expect(try await one.push().isComplete)
            try await one.edit(note, ItemEdit(text: "words"))
            let second = try await one.add(devices.home.file("second", TestHome.bytes(190_000)))
            let small = try await one.add(devices.home.file("small", TestHome.bytes(10)))
            let push = try await one.push()
            #expect(push.refused.contains(.init(key: second, reason: .storeFull)))
            #expect(try ServerSide(devices.home).items[note]?.text == "words")
            #expect(try ServerSide(devices.home).items[second.item] == nil)
            // Not asked for by itself before its time, but if a person asks.
            devices.home.server.log.clear()
            _ = try await one.pushHere(asksAgain: false, nil)
            let puts = devices.home.server.log.entries.filter { $0.method == "PUT" }
            let asked = try await one.draft(second.item)?.attachments[0].ref.address?.recordName
            #expect(!puts.contains { $0.path.hasSuffix(asked ?? "") })
            devices.home.clock.advance(by: 901)
            devices.home.served.change { state in
                for name in state.blobs.names() { state.blobs.delete(name) }
            }
            let later = try await one.pushHere(asksAgain: false, nil)
            #expect(later.isComplete)
            let served = try ServerSide(devices.home)
            #expect(served.items[second.item] != nil && served.items[small.item] != nil)
            #expect(served.items[first.item] != nil)
            try await devices.settle()
            #expect(try await devices.two.bytes(second) == TestHome.bytes(190_000))
        }
    }

    @Test func `a store that only answers 500 keeps nothing from going later`() async throws {
        try await withTwo { devices in
            let one = devices.one
            let bytes = TestHome.bytes(80_000)
            let key = try await one.add(devices.home.file("f", bytes))
            let fault = devices.home.server.faults.add(.put("/v1/blobs/"), .html(500))
            let push = try await one.push()
            #expect(push.refused == [.init(key: key, reason: .serverError)] && push.waiting == 1)
            #expect(try await one.status().outbox == 1)
            #expect(try await one.bytes(key) == bytes)
            devices.home.server.faults.remove(fault)
            #expect(try await one.push().isComplete)
            try await devices.settle()
            try ServerSide(devices.home).expectWhole()
        }
    }
}
