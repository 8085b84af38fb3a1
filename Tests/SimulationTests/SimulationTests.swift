import Foundation
import SyncPlatform
@testable import TestSupport
import Testing

@testable import LazySync

/// What decides whether two devices and a server ever lose anything: `scripts/simulate`.
///
/// `LAZYSYNC_SIMULATE` says how many seeds, `LAZYSYNC_SEED` the first one, and with
/// `LAZYSYNC_VERBOSE` every step is told.
@Suite struct SimulationTests {
    @Test func `whatever happens, all devices come to the same and nothing is lost`() async throws {
        let environment = ProcessInfo.processInfo.environment
        let count = environment["LAZYSYNC_SIMULATE"].flatMap { UInt64($0) } ?? 300
        let first = environment["LAZYSYNC_SEED"].flatMap { UInt64($0) } ?? 1
        let isVerbose = environment["LAZYSYNC_VERBOSE"] != nil
        let simulation = Simulation(
            folder: environment["LAZYSYNC_FAST_FOLDER"].map { URL(filePath: $0) } ?? testsFolder,
            isVerbose: isVerbose)
        let clock = ContinuousClock()
        let start = clock.now
        let failures = await simulation.run(first..<first + count, at: isVerbose ? 1 : 2)
        for (seed, words) in failures.sorted(by: { $0.seed < $1.seed }) {
            Issue.record("scripts/simulate 1 --seed \(seed)\n\(words)")
        }
        if environment["LAZYSYNC_SIMULATE"] != nil {
            print("simulate: \(count) seeds from \(first) in \(start.duration(to: clock.now))")
            if !failures.isEmpty {
                print("simulate: failed: \(failures.map { String($0.seed) }.sorted())")
            }
        }
    }

    @Test func `a seed replays exactly`() async throws {
        let simulation = Simulation(folder: testsFolder, isVerbose: false)
        for seed in 4...6 as ClosedRange<UInt64> {
            let first = await simulation.run(seed)
            let second = await simulation.run(seed)
            #expect(first.steps == second.steps)
        }
    }
}

/// Runs seeds, each in a world of its own.
struct Simulation: Sendable {
    let folder: URL
    let isVerbose: Bool

    struct Result: Sendable {
        let seed: UInt64
        let steps: [String]
        let failure: String?
    }

    /// Runs some seeds, so many at once; those that failed, and how.
    func run(_ seeds: Range<UInt64>, at width: Int) async -> [(seed: UInt64, words: String)] {
        await withTaskGroup(of: Result.self) { group in
            var rest = seeds
            var failures: [(UInt64, String)] = []
            for _ in 0..<width {
                if let seed = rest.popFirst() { group.addTask { await run(seed) } }
            }
            while let result = await group.next() {
                if let failure = result.failure {
                    let last = result.steps.suffix(40).joined(separator: "\n")
                    failures.append((result.seed, "\(last)\n\(failure)"))
                }
                if let seed = rest.popFirst() { group.addTask { await run(seed) } }
            }
            return failures
        }
    }

    /// Runs one seed.
    @concurrent
    func run(_ seed: UInt64) async -> Result {
        let place = folder.appending(path: "simulation-\(UUID().uuidString)")
        do {
            try Directory.make(place.path)
            let world = try await World(seed: seed, in: place)
            world.isVerbose = isVerbose
            var failure: String?
            do { try await world.run() } catch { failure = "\(error)" }
            await world.close()
            return Result(seed: seed, steps: world.steps, failure: failure)
        } catch {
            removeFolder(place)
            return Result(seed: seed, steps: [], failure: "\(error)")
        }
    }
}
