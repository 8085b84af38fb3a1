import Foundation
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Commands that are killed at random moments, hundreds of them, on one device.
@Suite(.serialized, .timeLimit(.minutes(10))) struct `Commands that are killed at any moment` {
    /// What is killed: a line for each verb.
    private let verbs = [
        KillLoop.Verb("open") { ["open", try await $0.file(.remote)] },
        KillLoop.Verb("evict") { ["evict", try await $0.file(.here)] },
        KillLoop.Verb("evict --all") { _ in ["evict", "--all"] },
        KillLoop.Verb("restore") {
            $0.changeSomething()
            return ["restore"]
        },
    ]

    private static let kills = 300

    @Test func `leave a whole catalog, right bytes and nothing pending, 300 times`() async throws {
        let seed =
            ProcessInfo.processInfo.environment["LAZYSYNC_SEED"].flatMap { UInt64($0) }
            ?? UInt64.random(in: 0...UInt64.max)
        print("kill loop: LAZYSYNC_SEED=\(seed)")
        let account = KillLoop.account()
        try await withHome(account) { home in
            // An eviction removes the file before the mark, so that a file without a mark, which
            // nobody counts, never stays.
            home.mayLackFiles = true
            let loop = KillLoop(home, account, seed: seed)
            try await home.login().close()
            try await loop.done("restore")
            while loop.kills < Self.kills {
                let verb = try #require(verbs.randomElement(using: &loop.random))
                try await loop.kill(verb)
                if loop.kills % 25 == 0 { try await loop.done("restore") }
            }
            try await loop.finish()
            home.mayLackFiles = false
        }
    }
}
