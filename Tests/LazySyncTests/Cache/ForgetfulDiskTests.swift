import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// A disk that forgets what was not synced: the cache is not, so any block may be lost, in any
/// order, and so may the length of a file or its name.
@Suite(.timeLimit(.minutes(10))) struct ForgetfulDiskTests {
    private static let block = 4_096

    @Test(arguments: 1...12)
    func `after a power cut every byte that is handed out is right`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let chunks = Int.random(in: 1...30, using: &random)
        let size = chunks * 65_536 - Int.random(in: 0..<65_536, using: &random)
        try await withOneFile(size) { file in
            let isComplete = Bool.random(using: &random)
            if isComplete {
                try await file.open()
            } else {
                let came = Int.random(in: 0...chunks, using: &random)
                file.server.faults.add(
                    file.request, times: 1, .cut(at: file.fraction(chunks: came)))
                file.server.faults.add(file.request, times: 1, .problem(403, code: "not-entitled"))
                _ = try? await file.engine.materialize(file.key)
                file.server.faults.clear()
            }
            try Self.forget(in: file.place, &random)
            // The catalog is synced before it says that a file is here; the next boot is another.
            try file.home.execute("UPDATE blob SET here_boot = 'before' WHERE here_boot NOT NULL")
            let next = try await file.home.open()
            let whole = try await file.open(with: next)
            #expect(whole.bytesFetched <= Int64(size), "seed \(seed)")
            try file.checkCache()
            #expect(try await next.explain(file.key).attachment.state == .here, "seed \(seed)")
        }
    }

    /// Loses blocks of every file of a record, cuts some short, and undoes some of their names.
    private static func forget(
        in place: BlobPlace, _ random: inout SeededGenerator
    ) throws {
        guard try FileSystem.facts(place.folder) != nil else { return }
        for name in try Directory.list(place.folder) {
            let path = place.folder + "/" + name
            try FileSystem.setMode(path, 0o600)
            var bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
            let share = Double.random(in: 0...0.6, using: &random)
            for start in stride(from: 0, to: bytes.count, by: block)
            where Double.random(in: 0..<1, using: &random) < share {
                for index in start..<min(start + block, bytes.count) { bytes[index] = 0 }
            }
            if Bool.random(using: &random) {
                bytes.removeLast(Int.random(in: 0...bytes.count, using: &random))
            }
            let file = try File(path, for: .readWrite)
            try file.truncate(to: 0)
            try file.write(bytes.span, at: 0)
            switch Int.random(in: 0..<4, using: &random) {
            case 0 where name.hasPrefix("content"):
                try FileSystem.rename(path, to: place.part)
            case 1 where name.hasPrefix("content"): try FileSystem.setMode(path, 0o400)
            case 2: try FileSystem.remove(path)
            default: break
            }
        }
    }
}
