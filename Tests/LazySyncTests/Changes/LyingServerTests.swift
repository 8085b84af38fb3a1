import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// A server that lies to a device that has changes of its own: it says so, loses nothing and sends
/// nothing, until a person decides.
@Suite(.timeLimit(.minutes(10))) struct LyingServerTests {
    /// Both devices know three notes and a file; then one has an unsent edit and an unsent note.
    private final class Scene {
        let devices: TwoDevices
        let notes: [LazySync.EntryID]
        let key: AttachmentKey
        let own: LazySync.EntryID

        init(_ devices: TwoDevices) async throws {
            self.devices = devices
            let one = devices.one
            var notes = [try await one.note("note 0")]
            _ = try await one.push()
            notes.append(try await one.note("note 1"))
            key = try await one.add(devices.home.file("file", TestHome.bytes(5_000)))
            _ = try await one.push()
            notes.append(try await one.note("note 2"))
            _ = try await one.push()
            try await devices.settle()
            try await one.edit(notes[0], ItemEdit(title: "note 0, edited here"))
            own = try await one.note("added here")
            self.notes = notes
        }

        static let titles = ["added here", "file", "note 0, edited here", "note 1", "note 2"]

        /// The device believes nothing, shows everything, and sends nothing.
        func expectRefused(_ location: SourceLocation = #_sourceLocation) async throws {
            let one = devices.one
            let before = try ServerSide(devices.home)
            let head = try await one.status().head
            for isPush in [false, true] {
                let failure = await #expect(throws: SyncError.self, sourceLocation: location) {
                    if isPush { _ = try await one.push() } else { _ = try await one.restore() }
                }
                #expect(
                    failure?.code == .mismatch, "\(failure?.detail ?? "")",
                    sourceLocation: location)
            }
            let status = try await one.status()
            #expect(
                status.flags == ["headMismatch"] && !status.verified && status.head == head
                    && status.outbox == 2, sourceLocation: location)
            // What is authentic by itself may have come.
            let titles = try await Shown(one).titles.filter { $0 != "new" }
            #expect(titles == Self.titles, sourceLocation: location)
            #expect(
                try await one.bytes(key) == TestHome.bytes(5_000), sourceLocation: location)
            // Not even a blob has gone.
            let after = try ServerSide(devices.home)
            #expect(
                after.head == before.head && after.blobs == before.blobs, sourceLocation: location)
            // What is changed meanwhile is kept too.
            try await one.edit(own, ItemEdit(text: "\(status.outbox)"))
            #expect(try await one.trash().isEmpty, sourceLocation: location)
        }
    }

    // MARK: Each lie

    @Test(arguments: ["old head", "withheld", "foreign", "none", "never used", "rolled back"])
    func `a lie is told, loses nothing, and is over when the truth comes back`(
        _ kind: String
    ) async throws {
        try await withTwo { devices in
            let scene = try await Scene(devices)
            let served = devices.home.served
            switch kind {
            case "old head": try served.tell(.oldHead(2))
            case "rolled back": try served.tell(.rolledBack(1))
            case "none": try served.tell(.noEntries)
            case "never used": try served.tell(.neverUsed)
            case "withheld":
                // Something new, of which a part is kept back.
                _ = try await devices.two.note("new")
                let hidden = try await devices.two.note("hidden")
                _ = try await devices.two.push()
                try served.tell(.withheld([known(MockServer.EntryID("\(hidden)"))]))
            default:
                _ = try await devices.two.note("new")
                _ = try await devices.two.push()
                let other = TestAccount("other", seed: 42)
                let id = other.put(Array(#"{"title":"foreign","attachments":[]}"#.utf8))
                other.push()
                try served.tell(.foreign(other.wire(try #require(other.entries[id]))))
            }
            if kind == "none" {
                // Nothing has changed, so nothing is missing: the head is the one that was verified.
                let push = try await devices.one.push()
                #expect(push.isComplete)
            } else {
                try await scene.expectRefused()
            }
            served.tellTheTruth()
            #expect(try await devices.one.push().isComplete)
            #expect(try await devices.one.status().flags.isEmpty)
            let titles = try await devices.settle().titles
            #expect(Set(titles).isSuperset(of: Scene.titles))
            #expect(!titles.contains("foreign"))
        }
    }

    @Test func `two truths for two devices are a fork as soon as one sees the other's`()
        async throws
    {
        try await withTwo { devices in
            let scene = try await Scene(devices)
            let served = devices.home.served
            try served.tell(.fork, to: .session(2))
            _ = try await devices.two.note("in another truth")
            _ = try await devices.two.push()
            _ = try await devices.one.push()
            // Each is content with its own; now one is shown the other's.
            let branch = served.read { $0.lies.branches[0].manifest }
            served.change { state in
                state.lies = Lies()
                state.truth = branch
            }
            let failure = await #expect(throws: SyncError.self) { try await devices.one.restore() }
            #expect(failure?.code == .mismatch && failure?.detail.contains("fork") == true)
            #expect(try await Shown(devices.one).titles == Scene.titles)
            _ = try await devices.one.note("written meanwhile")
            _ = await #expect(throws: SyncError.self) { try await devices.one.push() }
            #expect(try await devices.one.status().flags == ["headMismatch"])
            #expect(try ServerSide(devices.home).titles.contains("in another truth"))

            // The person decides for what the server has now: what only this device has is sent.
            let report = try await devices.one.trustServer()
            #expect(report.verified)
            let push = try await devices.one.push()
            #expect(push.isComplete)
            let titles = try await devices.settle().titles
            // An edit that the former truth had verified gives way to the server's version.
            let wanted = [
                "added here", "file", "in another truth", "note 0", "note 1", "note 2",
                "written meanwhile",
            ]
            #expect(titles == wanted)
            #expect(try await devices.one.bytes(scene.key) == TestHome.bytes(5_000))
        }
    }

    // MARK: Trusting

    @Test(arguments: [UInt64(1), 2])
    func `trusting a rolled back server keeps what only this device has, and sends it`(
        _ seq: UInt64
    ) async throws {
        try await withTwo { devices in
            let scene = try await Scene(devices)
            try devices.home.served.tell(.rolledBack(seq))
            try await scene.expectRefused()
            let report = try await devices.one.trustServer()
            #expect(report.verified && report.head == seq)
            let status = try await devices.one.status()
            #expect(status.flags.isEmpty && status.verified && status.head == seq)
            // The server's version of what it has; the rest is unsent.
            let titles = try await Shown(devices.one).titles
            #expect(Set(titles).isSuperset(of: Scene.titles), "\(titles)")
            #expect(try await devices.one.bytes(scene.key) == TestHome.bytes(5_000))
            let push = try await devices.one.push()
            #expect(push.isComplete && push.head == seq + 1)
            // Another device that trusts it too comes to the same.
            _ = await #expect(throws: SyncError.self) { try await devices.two.restore() }
            _ = try await devices.two.trustServer()
            _ = try await devices.two.push()
            _ = try await devices.one.restore()
            #expect(try await Shown(devices.one) == Shown(devices.two))
            #expect(try await devices.two.bytes(scene.key) == TestHome.bytes(5_000))
            #expect(try await devices.one.status().outbox == 0)
        }
    }

    @Test(arguments: ["head dropped", "distrusted"])
    func `a trust that was ended in the middle goes on, or is decided again`(
        _ point: String
    ) async throws {
        try await withTwo { devices in
            let scene = try await Scene(devices)
            try devices.home.served.tell(.rolledBack(1))
            try await scene.expectRefused()
            await devices.one.close()
            devices.home.configuration.reached = { reached in
                if reached == point { throw CocoaError(.featureUnsupported) }
            }
            let killed = try await devices.home.open()
            _ = await #expect(throws: SyncError.self) { try await killed.trustServer() }
            await killed.close()
            devices.home.configuration.reached = { _ in }
            let engine = try await devices.home.open()
            if point == "head dropped" {
                // The catalog has its own verified head, and the person is asked again.
                let failure = await #expect(throws: SyncError.self) { try await engine.restore() }
                #expect(failure?.code == .mismatch)
                _ = try await engine.trustServer()
            } else {
                #expect(try await engine.restore().verified)
            }
            #expect(Set(try await Shown(engine).titles).isSuperset(of: Scene.titles))
            #expect(try await engine.push().isComplete)
            #expect(
                Set(try ServerSide(devices.home).titles) == ["file", "note 0", "note 1", "note 2"])
            let status = try await engine.status()
            #expect(status.flags.isEmpty && status.outbox == 0)
        }
    }

    // MARK: Many removals

    /// A device that knows twelve notes, of which a verified head removes all.
    private static func emptied(_ devices: TwoDevices) async throws -> [LazySync.EntryID] {
        var ids: [LazySync.EntryID] = []
        for number in 0..<12 { ids.append(try await devices.two.note("note \(number)")) }
        try await devices.settle()
        for id in ids { try await devices.two.remove(id) }
        _ = try await devices.two.push()
        for _ in 0..<2 {
            let failure = await #expect(throws: SyncError.self) { try await devices.one.restore() }
            #expect(failure?.code == .tooManyDeletions)
            let status = try await devices.one.status()
            #expect(status.flags == ["heldDeletions"] && status.verified)
            #expect(try await devices.one.items(limit: 100).count == 12)
        }
        return ids
    }

    @Test func `everything said to be removed without a head for it is a mismatch`() async throws {
        try await withTwo { devices in
            let scene = try await Scene(devices)
            _ = try await devices.two.note("new")
            _ = try await devices.two.push()
            try devices.home.served.tell(.allRemoved)
            try await scene.expectRefused()
        }
    }

    @Test func `removals that are held are carried out when a person says so`() async throws {
        try await withTwo { devices in
            let ids = try await Self.emptied(devices)
            #expect(try await devices.one.carryOutDeletions() == 12)
            #expect(try await devices.one.items().isEmpty)
            #expect(Set(try await devices.one.trash().map(\.item)) == Set(ids))
            #expect(try await devices.one.status().flags.isEmpty)
            try await devices.settle()
            #expect(try ServerSide(devices.home).removed == Set(ids))
        }
    }

    @Test func `items that a person keeps are live again, here, at the server and elsewhere`()
        async throws
    {
        try await withTwo { devices in
            let ids = try await Self.emptied(devices)
            let before = try await Shown(devices.one)
            #expect(try await devices.one.keepDeleted() == 12)
            let status = try await devices.one.status()
            #expect(status.flags.isEmpty && status.outbox == 12)
            let push = try await devices.one.push()
            #expect(push.isComplete && push.items == 12)
            let served = try ServerSide(devices.home)
            #expect(Set(served.items.keys) == Set(ids) && served.removed.isEmpty)
            #expect(served.versions.values.allSatisfy { $0 == 3 })
            #expect(try await devices.settle() == before)
            #expect(try await devices.two.trash().isEmpty)
        }
    }

    @Test func `while removals are held a push sends what was changed here`() async throws {
        try await withTwo { devices in
            let ids = try await Self.emptied(devices)
            let own = try await devices.one.note("own")
            try await devices.one.edit(ids[0], ItemEdit(title: "kept by an edit"))
            _ = try? await devices.one.push()
            let served = try ServerSide(devices.home)
            #expect(served.titles == ["kept by an edit", "own"])
            #expect(served.items[own] != nil)
            #expect(try await devices.one.items(limit: 100).count == 13)
            #expect(try await devices.one.carryOutDeletions() == 11)
            #expect(try await devices.settle().titles == ["kept by an edit", "own"])
        }
    }
}
