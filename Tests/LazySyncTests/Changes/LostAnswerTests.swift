import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Answers that do not come, and devices that push at the same time.
@Suite(.timeLimit(.minutes(10))) struct LostAnswerTests {
    private static let pushes = Fault.Match.post("/v1/manifest")

    /// Pushes; the server does it, and the device never hears of it.
    private static func pushUnheard(_ devices: TwoDevices) async throws {
        let server = devices.home.server
        let fault = server.faults.add(pushes, .drop(.close, handling: true))
        let failure = await #expect(throws: SyncError.self) { try await devices.one.push() }
        #expect(failure?.code == .unavailable(.offline))
        server.faults.remove(fault)
    }

    @Test func `what was added for a push that never arrived, and removed meanwhile, never was`()
        async throws
    {
        try await withTwo { devices in
            let (one, server) = (devices.one, devices.home.server)
            let note = try await one.note("gone", "text")
            let fault = server.faults.add(Self.pushes, .drop(.close, handling: false))
            _ = await #expect(throws: SyncError.self) { try await one.push() }
            server.faults.remove(fault)
            try await one.remove(note)
            // Another device is first: the lost push can never arrive.
            _ = try await devices.two.note("from elsewhere", nil)
            _ = try await devices.two.push()
            _ = try await one.push()
            #expect(try await one.status().outbox == 0)
            #expect(try ServerSide(devices.home).versions[note] == nil)
            #expect(try await one.trash().map(\.item) == [note])
            try await devices.settle()
        }
    }

    @Test(arguments: ["push", "restore"])
    func `a push whose answer was lost is recognised by the next`(_ next: String) async throws {
        try await withTwo { devices in
            let one = devices.one
            let note = try await one.note("a", "text")
            let gone = try await one.note("to be removed")
            let key = try await one.add(devices.home.file("f.bin", TestHome.bytes(100_000)))
            _ = try await one.push()
            try await one.edit(note, ItemEdit(title: "b"))
            try await one.remove(gone)
            let more = try await one.add(devices.home.file("g.bin", TestHome.bytes(70_000)))
            try await Self.pushUnheard(devices)
            #expect(try ServerSide(devices.home).titles == ["b", "f.bin", "g.bin"])
            #expect(try await one.status().outbox == 3)
            if next == "push" {
                let push = try await one.push()
                #expect(push.isComplete && push.head == 2)
            } else {
                _ = try await one.restore()
            }
            #expect(try await one.status().outbox == 0)
            try await devices.settle()
            let served = try ServerSide(devices.home)
            #expect(served.head?.seq == 2)
            #expect(served.versions == [note: 2, gone: 2, key.item: 1, more.item: 1])
            served.expectWhole()
        }
    }

    @Test func `what was edited after a push whose answer was lost is the next version, no copy`()
        async throws
    {
        try await withTwo { devices in
            let one = devices.one
            let old = try await one.note("old")
            _ = try await one.push()
            try await one.edit(old, ItemEdit(title: "older"))
            let new = try await one.note("new")
            let gone = try await one.note("gone")
            try await Self.pushUnheard(devices)
            try await one.edit(old, ItemEdit(text: "more"))
            try await one.edit(new, ItemEdit(title: "newer"))
            try await one.remove(gone)
            let push = try await one.push()
            #expect(push.isComplete && push.items == 3)
            try await devices.settle()
            let served = try ServerSide(devices.home)
            #expect(served.titles == ["newer", "older"] && served.removed == [gone])
            #expect(served.versions == [old: 3, new: 2, gone: 2])
            #expect(served.items[old]?.text == "more")
        }
    }

    @Test(arguments: [false, true])
    func `a lost push that another device overtook is recognised all the same`(
        _ isEdited: Bool
    ) async throws {
        try await withTwo { devices in
            let (one, two) = (devices.one, devices.two)
            let note = try await one.note("a")
            _ = try await one.push()
            try await one.edit(note, ItemEdit(title: "b"))
            let added = try await one.note("added")
            try await Self.pushUnheard(devices)
            _ = try await two.restore()
            try await two.edit(note, ItemEdit(title: "c"))
            try await two.edit(added, ItemEdit(title: "added and named"))
            _ = try await two.push()
            if isEdited {
                try await one.edit(note, ItemEdit(text: "words"))
                try await one.edit(added, ItemEdit(text: "other words"))
            }
            let push = try await one.push()
            #expect(push.isComplete && push.items == (isEdited ? 2 : 0))
            let shown = try await devices.settle()
            #expect(shown.titles == ["added and named", "c"])
            let served = try ServerSide(devices.home)
            #expect(served.versions.values.sorted() == (isEdited ? [3, 4] : [2, 3]))
            #expect(served.items[note]?.text == (isEdited ? "words" : nil))
            #expect(served.items[added]?.text == (isEdited ? "other words" : nil))
        }
    }

    @Test func `a push that never came is sent as it was, or anew under another head`() async throws
    {
        try await withTwo { devices in
            let (one, two) = (devices.one, devices.two)
            let note = try await one.note("a")
            let fault = devices.home.server.faults.add(Self.pushes, .html(502))
            _ = await #expect(throws: SyncError.self) { try await one.push() }
            devices.home.server.faults.remove(fault)
            try await one.edit(note, ItemEdit(title: "b"))
            _ = try await two.note("of another device")
            _ = try await two.push()
            let push = try await one.push()
            #expect(push.isComplete && push.head == 2)
            #expect(try await devices.settle().titles == ["b", "of another device"])
            #expect(try ServerSide(devices.home).versions.values.sorted() == [1, 1])
        }
    }

    @Test func `the very same push again is taken as done`() async throws {
        try await withTwo { devices in
            let fault = devices.home.server.faults.add(
                Self.pushes, times: 1, .drop(.close, handling: true))
            _ = try await devices.one.note("a")
            let push = try await devices.one.push()
            #expect(push.isComplete && push.items == 1 && push.head == 1)
            #expect(devices.home.server.faults.hits(fault) == 1)
            let answers = devices.home.server.log.entries.filter { $0.method == "POST" }
            #expect(answers.last?.status == 200)
            try await devices.settle()
            #expect(try ServerSide(devices.home).versions.values.sorted() == [1])
        }
    }

    @Test(arguments: [Fault.Match.put("/v1/blobs/"), .patch("/v1/uploads/")])
    func `an upload whose answer was lost is sent once`(_ match: Fault.Match) async throws {
        try await withTwo { devices in
            let isLarge = match.method == "PATCH"
            let bytes = TestHome.bytes(isLarge ? 9 << 20 : 100_000)
            let key = try await devices.one.add(devices.home.file("f.bin", bytes))
            // Once, and it looks itself; for good, and the next run finds it there.
            for times in [1, nil] as [Int?] {
                let fault = devices.home.server.faults.add(
                    match, times: times, .drop(.close, handling: true))
                if times == nil {
                    _ = try await devices.one.add(devices.home.file("g.bin", bytes))
                    _ = try? await devices.one.push()
                    devices.home.server.faults.remove(fault)
                }
                let push = try await devices.one.push()
                #expect(push.isComplete)
            }
            try await devices.settle()
            #expect(try await devices.two.bytes(key) == bytes)
            let served = try ServerSide(devices.home)
            served.expectWhole()
            #expect(served.blobs.count == 2 && served.versions.values.allSatisfy { $0 == 1 })
        }
    }

    @Test func `two devices that push at once, twenty times, come to the same`() async throws {
        try await withTwo { devices in
            let shared = try await devices.one.note("shared", "text")
            try await devices.settle()
            let (one, two) = (devices.one, devices.two)
            for round in 0..<20 {
                let path = try devices.beside.file("two \(round)", TestHome.bytes(500))
                async let first = Self.change(one, shared, ItemEdit(title: "title \(round)")) {
                    _ = try await one.note("one \(round)")
                }
                async let second = Self.change(two, shared, ItemEdit(text: "text \(round)")) {
                    _ = try await two.add(files: [path])
                }
                #expect(try await [first, second] == [true, true])
            }
            let shown = try await devices.settle()
            let titles = (0..<20).flatMap { ["one \($0)", "two \($0)"] } + ["title 19"]
            #expect(shown.titles == titles.sorted())
            #expect(shown.items[shared]?.text == "text 19")
            let served = try ServerSide(devices.home)
            served.expectWhole()
            let moved = devices.home.server.log.entries.filter { $0.status == 409 }
            #expect(moved.count > 0 && served.versions.count == 41)
        }
    }
    /// Changes something, edits an item, and pushes both; whether all of it went.
    private static func change(
        _ engine: SyncEngine, _ item: LazySync.EntryID, _ edit: ItemEdit,
        _ body: @Sendable () async throws -> Void
    ) async throws -> Bool {
        try await body()
        try await engine.edit(item, edit)
        return try await engine.push().isComplete
    }
}
