import Foundation
import Testing

@testable import LazySync
@testable import TestSupport

/// Case C6: what stands in the place of the cache's folders.
@Suite struct CachePlaceTests {
    @Test(arguments: ["", "/blobs"])
    func `nothing is written through a link in the cache's place`(place: String) async throws {
        try await withOneFile { file in
            let cache = try file.home.accountPlaces.cache + place
            let target = try freshFolder()
            defer { try? FileManager.default.removeItem(at: target) }
            try? FileManager.default.removeItem(atPath: cache)
            try FileManager.default.createSymbolicLink(
                atPath: cache, withDestinationPath: target.path)
            await #expect(throws: SyncError.self) {
                _ = try await file.engine.materialize(file.key)
            }
            let written = try FileManager.default.contentsOfDirectory(atPath: target.path)
            #expect(written.isEmpty)
            try FileManager.default.removeItem(atPath: cache)
            try await file.mends()
        }
    }
}
