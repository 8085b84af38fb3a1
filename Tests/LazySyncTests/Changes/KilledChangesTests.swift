import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Processes that are killed while they add and push: real ones, with SIGKILL.
@Suite(.serialized, .timeLimit(.minutes(10))) struct KilledChangesTests {
    /// What a process is to do until it is killed.
    struct Job: Codable, Sendable {
        let home: String
        /// Where it ends, and the how manieth time it comes there.
        var point = ""
        var number = 1
        /// What it adds.
        var paths: [String] = []
        /// When it ends, in microseconds, what it draws, and where it reports to.
        var moment: UInt32 = 0
        var seed: UInt64 = 77
        var round = 0
    }

    /// Opens the home in a process of its own, which ends at the job's point.
    private static func engine(_ job: Job) async throws -> SyncEngine {
        var configuration = EngineConfiguration(home: job.home)
        configuration.random = SeededRandom(seed: job.seed)
        let count = Locked(0)
        configuration.reached = { reached in
            guard reached == job.point else { return }
            let isNow = count.withLock { count in
                count += 1
                return count == job.number
            }
            if isNow { kill(getpid(), SIGKILL) }
        }
        return try await SyncEngine.open(configuration)
    }

    // MARK: Adding

    @Test(arguments: ["sealed", "rows kept"])
    func `an add that is killed has added all or nothing, and leaves no orphan`(
        _ point: String
    ) async throws {
        try await withTwo { devices in
            let before = try await devices.one.add(
                devices.home.file("before", TestHome.bytes(1_000)))
            await devices.one.close()
            let path = try devices.home.file("killed", TestHome.bytes(90_000))
            let job = Job(home: devices.home.folder.path, point: point, paths: [path, path])
            await #expect(processExitsWith: .signal(SIGKILL)) { [job = job as Job] in
                _ = try await Self.engine(job).add(files: job.paths)
            }
            try devices.home.check(mayHaveLeftOvers: true)
            let engine = try await devices.home.open()
            let isThere = point == "rows kept"
            let names = try await engine.attachments().map(\.name).sorted()
            #expect(names == ["before"] + (isThere ? ["killed", "killed"] : []))
            #expect(try devices.home.packs.count == 2)
            // The next change takes away what nothing names.
            _ = try await engine.add(devices.home.file("after", TestHome.bytes(10)))
            #expect(try devices.home.packs.count == (isThere ? 3 : 2))
            #expect(try await engine.bytes(before) == TestHome.bytes(1_000))
            #expect(try await engine.push().isComplete)
            #expect(try devices.home.packs.isEmpty)
            let served = try ServerSide(devices.home)
            served.expectWhole()
            #expect(served.items.count == (isThere ? 4 : 2))
            _ = try await devices.two.restore()
            #expect(try await Shown(devices.two) == Shown(engine))
        }
    }

    @Test func `a push takes away what a killed add has left`() async throws {
        try await withTwo { devices in
            await devices.one.close()
            let path = try devices.home.file("killed", TestHome.bytes(90_000))
            let job = Job(home: devices.home.folder.path, point: "sealed", paths: [path])
            await #expect(processExitsWith: .signal(SIGKILL)) { [job = job as Job] in
                _ = try await Self.engine(job).add(files: job.paths)
            }
            #expect(try devices.home.packs.count == 1)
            let engine = try await devices.home.open()
            #expect(try await engine.push().isComplete)
            #expect(try devices.home.packs.isEmpty)
            #expect(try ServerSide(devices.home).versions.isEmpty)
        }
    }

    // MARK: Pushing

    /// Where a push may end, and the how manieth time.
    static let points: [(String, Int)] = [
        ("uploaded", 1), ("uploaded", 3), ("all uploaded", 1), ("blobs sent", 1), ("prepared", 1),
        ("accepted", 1), ("confirmed", 1), ("head kept", 1),
    ]

    @Test(arguments: points)
    func `a push that is killed is finished by the next, and everything is there once`(
        _ point: (String, Int)
    ) async throws {
        try await withTwo { devices in
            let changes = try await Changes(devices)
            await devices.one.close()
            let job = Job(home: devices.home.folder.path, point: point.0, number: point.1)
            await #expect(processExitsWith: .signal(SIGKILL)) { [job = job as Job] in
                _ = try await Self.engine(job).push()
            }
            try await Self.expectGoesOn(devices, changes)
        }
    }

    /// The next start shows everything, and its push ends with all of it at the server, once.
    private static func expectGoesOn(_ devices: TwoDevices, _ changes: Changes) async throws {
        try devices.home.check(mayHaveLeftOvers: true)
        let engine = try await devices.home.open()
        try await changes.expectShown(engine)
        #expect(try await engine.push().isComplete)
        #expect(try devices.home.packs.isEmpty)
        try changes.expectServed(devices.home)
        _ = try await devices.two.restore()
        #expect(try await Shown(devices.two) == Shown(engine))
        #expect(try await devices.two.bytes(changes.key) == changes.bytes)
    }

    @Test(arguments: ["swept", "sealed again", "renamed"])
    func `a push that is killed while it seals a blob again goes on`(_ point: String) async throws {
        try await withTwo { devices in
            let changes = try await Changes(devices)
            let fault = devices.home.server.faults.add(.post("/v1/manifest"), .html(502))
            _ = await #expect(throws: SyncError.self) { try await devices.one.push() }
            devices.home.server.faults.remove(fault)
            await devices.one.close()
            let served = try ServerSide(devices.home)
            devices.home.served.change { state in
                for name in served.blobs where !served.named.contains(name) {
                    state.blobs.delete(name)
                }
            }
            let job = Job(home: devices.home.folder.path, point: point)
            await #expect(processExitsWith: .signal(SIGKILL)) { [job = job as Job] in
                _ = try await Self.engine(job).push()
            }
            try await Self.expectGoesOn(devices, changes)
        }
    }

    // MARK: Any moment

    @Test func `killed at any moment, nothing is lost that was reported, 40 times`() async throws {
        let seed =
            ProcessInfo.processInfo.environment["LAZYSYNC_SEED"].flatMap { UInt64($0) }
            ?? UInt64.random(in: 0...UInt64.max)
        print("kill loop: LAZYSYNC_SEED=\(seed)")
        var random = SeededGenerator(seed: seed)
        try await withTwo { devices in
            await devices.one.close()
            let home = devices.home.folder.path
            for round in 0..<40 {
                let job = Job(
                    home: home, moment: UInt32.random(in: 0...300_000, using: &random),
                    seed: UInt64.random(in: 0...UInt64.max, using: &random), round: round)
                await #expect(processExitsWith: .signal(SIGKILL)) { [job = job as Job] in
                    try await Self.work(job)
                }
                try devices.home.check(mayHaveLeftOvers: true)
                let engine = try await devices.home.open()
                try await Self.expectReported(home, engine)
                if round % 5 == 4 {
                    #expect(try await engine.push().isComplete)
                    #expect(try devices.home.packs.isEmpty)
                    try ServerSide(devices.home).expectWhole()
                    _ = try await devices.two.restore()
                    #expect(try await Shown(devices.two) == Shown(engine))
                }
                await engine.close()
            }
            let engine = try await devices.home.open()
            _ = try await engine.push()
            for row in try await engine.attachments(AttachmentQuery(limit: 10_000)) {
                let bytes = TestFile.bytes(Int(row.size), row.name)
                #expect(try await engine.bytes(row.key) == bytes)
            }
            _ = try await devices.two.restore()
            #expect(try await Shown(devices.two) == Shown(engine))
            try ServerSide(devices.home).expectWhole()
        }
    }

    /// Adds, edits and pushes until it is killed, and reports what was done.
    private static func work(_ job: Job) async throws {
        var random = SeededGenerator(seed: job.seed)
        let engine = try await Self.engine(job)
        Thread.detachNewThread {
            usleep(job.moment)
            kill(getpid(), SIGKILL)
        }
        let report = try FileHandle(
            forWritingTo: URL(filePath: job.home + "/reported"), creating: true)
        for number in 0... {
            let name = "\(job.round)-\(number)"
            let path = job.home + "/files-\(name)"
            let size = [0, 900, 65_536, 140_000].randomElement(using: &random) ?? 0
            try Data(TestFile.bytes(size, "files-\(name)")).write(to: URL(filePath: path))
            let key = try #require(try await engine.add(files: [path]).attachments.first)
            try report.write(contentsOf: Data("\(key)\n".utf8))
            try FileManager.default.removeItem(atPath: path)
            if number % 3 == 1 { try await engine.edit(key.item, ItemEdit(text: name)) }
            if number % 4 == 3 { _ = try await engine.push() }
        }
    }

    private static func expectReported(_ home: String, _ engine: SyncEngine) async throws {
        guard let text = try? String(contentsOfFile: home + "/reported", encoding: .utf8) else {
            return
        }
        let rows = try await engine.attachments(AttachmentQuery(limit: 10_000))
        let shown = Set(rows.map { "\($0.key)" })
        let reported = Set(text.split(separator: "\n").map(String.init))
        #expect(reported.subtracting(shown).isEmpty)
    }
}

extension FileHandle {
    /// Appends to a file, which is made if there is none.
    fileprivate convenience init(forWritingTo url: URL, creating: Bool) throws {
        let descriptor = Glibc.open(url.path, O_WRONLY | O_APPEND | O_CREAT, 0o600)
        guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown) }
        self.init(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}

/// Changes of all kinds that wait to be sent, on a device that has sent others before.
private final class Changes {
    let key: AttachmentKey
    let bytes = TestHome.bytes(150_000, seed: 4)
    private let edited: LazySync.EntryID
    private let removed: AttachmentKey
    private let versions: [LazySync.EntryID: UInt64]
    private let shown: Shown

    init(_ devices: TwoDevices) async throws {
        let one = devices.one
        edited = try await one.note("a", "text")
        removed = try await one.add(devices.home.file("removed", TestHome.bytes(3_000)))
        _ = try await one.push()
        try await one.edit(edited, ItemEdit(title: "b"))
        try await one.remove(removed.item)
        key = try await one.add(devices.home.file("added", bytes))
        let together = try await one.add(
            title: "together",
            files: try ["x", "y"].map { try devices.home.file($0, TestHome.bytes(500)) })
        let note = try await one.note("a new note")
        versions = [
            edited: 2, removed.item: 2, key.item: 1, try #require(together.items.first): 1, note: 1,
        ]
        shown = try await Shown(one)
    }

    func expectShown(_ engine: SyncEngine) async throws {
        #expect(try await Shown(engine) == shown)
        #expect(try await engine.trash().map(\.item) == [removed.item])
        #expect(try await engine.bytes(key) == bytes)
    }

    /// Everything is at the server once, and the removed item's blob, which its trash still needs.
    func expectServed(_ home: TestHome) throws {
        let served = try ServerSide(home)
        served.expectWhole(exactly: false)
        #expect(served.versions == versions)
        #expect(served.blobs.count == served.named.count + 1)
    }
}
