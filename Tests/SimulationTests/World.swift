import Foundation
import SyncPlatform
@testable import TestSupport

@testable import LazySync
@testable import MockServer

/// What a simulation came to, if it is not right.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Some devices and a server, and everything that happens to them, out of one seed.
///
/// Each step runs to its end before the next one begins, so that a seed replays exactly. What would
/// happen at the same time comes from the order of steps of different devices, and from faults: a
/// connection that is gone, an answer that is lost after the server has done its work, a request
/// that arrives twice or late, a store that is full, blobs that go there before they are named, and
/// processes that are killed between any two commits.
final class World {
    /// What can happen in a seed; the first seeds of each eight have less, so that faults are found
    /// where they are simple, and more can be asked of the end.
    struct Character {
        let loses: Bool
        let kills: Bool
        let sweeps: Bool
        let fills: Bool

        /// Nothing goes wrong any more.
        static let calm = Character(loses: false, kills: false, sweeps: false, fills: false)

        init(loses: Bool, kills: Bool, sweeps: Bool, fills: Bool) {
            (self.loses, self.kills, self.sweeps, self.fills) = (loses, kills, sweeps, fills)
        }

        init(seed: UInt64) {
            loses = seed % 8 > 1
            kills = seed % 8 > 3
            sweeps = seed % 4 > 1
            fills = seed % 3 == 0
        }

        /// Whether the store can hold nothing but what entries or a trash name, in the end.
        var isTidy: Bool { !loses && !kills && !sweeps && !fills }
    }

    let seed: UInt64
    var character: Character
    /// Whether answers were lost in what came before the end.
    var hasLost = false
    let folder: URL
    let account: TestAccount
    let server: Server
    let serverClock: ManualClock
    var draws: Draws
    var devices: [SimDevice] = []
    var words = Words()
    /// What was added under an attachment's id, as a hash.
    var contents: [LazySync.AttachmentID: [UInt8]] = [:]
    /// Requests that have left and not arrived.
    var late: [Incoming] = []
    /// Records that devices have deleted at the store.
    var deleted: Set<String> = []
    /// For how many steps the store has no room.
    var full = 0
    /// What was done, for who looks for a failure.
    private(set) var steps: [String] = []
    var isVerbose = false
    private var count = 0
    private var seenHead: String?

    init(seed: UInt64, in folder: URL) async throws {
        self.seed = seed
        self.folder = folder
        character = Character(seed: seed)
        draws = Draws(seed: seed)
        account = TestAccount(seed: seed)
        let clock = ManualClock()
        serverClock = clock
        var options = ServerOptions()
        options.clock = { clock.now }
        // Small pages, so that a pull has several now and then.
        options.largestPage = draws.one(of: [3, 20, 1_000]) ?? 1_000
        server = try Server(serving: [account.serve()], options: options)
        try server.start()
        let faults = server.faults
        for number in 0..<draws.number(2...3) {
            devices.append(
                try await SimDevice(number, seed: seed, in: folder, account, server) {
                    // Nothing of a process that has ended gets through.
                    faults.clear()
                    faults.add(.all, .drop(handling: false))
                })
        }
    }

    /// Bytes in short.
    static func hash(_ bytes: [UInt8]) -> [UInt8] {
        let hash = Hash.blake2b256(bytes.span)
        return hash.indices.map { hash[$0] }
    }

    func close() async {
        for device in devices { await device.close() }
        server.stop()
        removeFolder(folder)
    }

    /// Runs all of it.
    func run() async throws {
        let length = draws.number(30...80)
        for _ in 0..<length {
            try await step()
            try look()
        }
        try await end()
    }

    var served: ServedAccount { known(server.account(account.name)) }

    // MARK: Noting

    func note(_ step: String) {
        steps.append(step)
        if isVerbose { print("  \(steps.count) \(step)") }
    }

    func require(_ holds: Bool, _ what: @autoclosure () -> String) throws {
        if !holds { throw Failure(what()) }
    }

    /// A word that was never typed before.
    func word(_ kind: String) -> String {
        count += 1
        return "\(kind)\(count)"
    }

    /// Checks what must hold at the server at every moment: no entry names what is not there, and
    /// the head counts what is.
    func look() throws {
        let head = served.read { $0.head }
        if head == seenHead { return }
        seenHead = head
        try look(at: try ServerView(served, account))
    }

    func look(at view: ServerView) throws {
        try require(view.problems.isEmpty, "at the server: \(view.problems)")
        for missing in view.missing
        where !deleted.contains(missing.record) || !words.isTaken(.file(missing.file)) {
            throw Failure("'\(missing.title)' names \(missing.record), which is not there")
        }
    }

    /// Takes note of what a device has deleted at the store; no entry may name it then.
    ///
    /// Later an entry may: somebody has removed the file 30 days ago, and another one, who had no
    /// connection since, changed its item.
    func noteDeletions() throws {
        let asked = server.log.entries.filter { $0.method == "DELETE" }.compactMap {
            $0.path.split(separator: "/").last.map(String.init)
        }
        if asked.isEmpty { return }
        let stored = Set(served.read { $0.blobs.names() })
        let gone = Set(asked).subtracting(stored)
        deleted.formUnion(gone)
        note("    \(gone.count) records deleted")
        let named = try ServerView(served, account).named.intersection(gone)
        try require(named.isEmpty, "deleted what an entry names: \(named.sorted())")
    }
}
