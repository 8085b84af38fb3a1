import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Parts of a blob on a disk that takes nothing.
@Suite(.timeLimit(.minutes(10)), .enabled(if: SmallDisk.isAllowed, "mounting is not allowed here"))
struct ReadOnlyTests {
    @Test(arguments: [true, false])
    func `a part that cannot be written to is read, and what it lacks comes through memory`(
        hasTags: Bool
    ) async throws {
        var disk: SmallDisk?
        defer { disk?.remove() }
        try await withOneFile(40 * 65_536) { configuration in
            disk = try? SmallDisk(at: known(configuration.home) + "/cache", kilobytes: 16_000)
        } _: { file in
            let disk = try #require(disk)
            try await file.engine.setCacheLimit(1 << 30)
            try await readOnce(file, at: 10 * 65_536, count: 3 * 65_536)
            let kept = try file.kept()
            #expect(kept == [10, 11, 12])
            if !hasTags { try FileSystem.remove(file.place.tags) }
            disk.setReadOnly(true)
            let reader = try await file.reader()
            try await file.reads(reader, at: 10 * 65_536, count: 3 * 65_536)
            #expect(reader.requests == (hasTags ? 0 : 1))
            try await file.reads(reader, at: 9 * 65_536 + 5, count: 5 * 65_536)
            try await file.reads(reader, at: 30 * 65_536, count: 100)
            #expect(try await file.state == .remote)
            disk.setReadOnly(false)
            #expect(try file.kept() == kept)
            try await file.open()
            if hasTags { #expect(file.askedChunks.suffix(2) == [0..<10, 13..<40]) }
        }
    }

    /// Reads with a reader that is gone afterwards.
    private func readOnce(_ file: OneFile, at offset: Int, count: Int) async throws {
        try await file.reads(try await file.reader(), at: offset, count: count)
    }
}
