import Foundation
import Testing

@testable import MockServer
@testable import TestSupport

/// Several programs of one user at everything at once.
@Suite(.serialized, .timeLimit(.minutes(5))) struct `Programs that do different things at once` {
    /// What one may answer: done; not now; some of it could not be had.
    private static let right: Set<Int32> = [0, 3, 5]

    /// Case D8.
    @Test func `all get their turn, and nobody is told of a lock`() async throws {
        let seed =
            ProcessInfo.processInfo.environment["LAZYSYNC_SEED"].flatMap { UInt64($0) }
            ?? UInt64.random(in: 0...UInt64.max)
        print("mixed programs: LAZYSYNC_SEED=\(seed)")
        let device = try await Device.restored()
        let ids = device.account.files.filter { $0.size > 99 }.map(\.id)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for program in 0..<6 {
                group.addTask {
                    var random = SeededGenerator(seed: seed &+ UInt64(program))
                    for _ in 0..<15 {
                        let words = Self.words(ids, &random)
                        let result = try await device.sync(words)
                        let isRefused =
                            words[0] == "evict" && result.exit == 4
                            && result.error.contains("pinned")
                        #expect(
                            isRefused || Self.right.contains(result.exit ?? -1),
                            "LAZYSYNC_SEED=\(seed): \(words): \(result)")
                        for word in ["locked", "SQLITE", "database is"] {
                            #expect(
                                !result.error.contains(word),
                                "LAZYSYNC_SEED=\(seed): \(words): \(result)")
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        try await device.done("restore")
        try await device.done("verify")
        let files = device.account.files.filter { $0.size > 0 }
        for file in files.prefix(5) {
            let path = try await device.done("open", file.id).line
            #expect(try await sha256([path]) == [file.sha256])
        }
        let log = device.files.first { $0.hasSuffix("catalog.sqlite-wal") }
        let size = try log.map { try device.contents($0).count } ?? 0
        #expect(size <= 64 << 20)
    }

    private static func words(_ ids: [String], _ random: inout SeededGenerator) -> [String] {
        let id = ids.randomElement(using: &random) ?? ""
        return switch Int.random(in: 0..<10, using: &random) {
        case 0, 1, 2: ["open", id]
        case 3: ["open", id, "--range", "0-99"]
        case 4: ["pin", id]
        case 5: ["unpin", id]
        case 6, 7: ["evict", id]
        case 8: ["restore"]
        default: ["list", "--limit", "5"]
        }
    }
}
