import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// A device with many files of one size, and a cache that holds only some of them.
struct SmallCache {
    let home: TestHome
    let engine: SyncEngine
    let keys: [AttachmentKey]
    let size: Int

    /// What one of the files takes on the disk.
    var cost: Int64 { DiskCost.blob(Int64(size)) }

    /// Sets the limit to so many of the files, and a few bytes.
    func limit(files: Int) async throws {
        try await engine.setCacheLimit(Int64(files) * cost + 100)
    }

    /// Opens a file, and checks every byte.
    @discardableResult
    func open(_ index: Int, with other: SyncEngine? = nil) async throws -> MaterializedFile {
        let file = try await (other ?? engine).materialize(keys[index])
        let content = known(home.account?.content(keys[index]))
        #expect(try Whole(at: file.path) == Whole(content))
        return file
    }

    /// The files that are here, by what the list says.
    func here() async throws -> [Int] {
        var found: [Int] = []
        for (index, key) in keys.enumerated()
        where try await engine.explain(key).attachment.state == .here {
            found.append(index)
        }
        return found
    }

    /// Lets the safe time of all paths that were handed out run out.
    func waitUntilNothingIsSafe() {
        home.clock.advance(by: CacheRoom.safeSeconds)
    }

    /// What the blobs' files take on the disk now.
    func onDisk() throws -> Int64 {
        try Self.onDisk(home.accountPlaces.blobs)
    }

    static func onDisk(_ path: String) throws -> Int64 {
        guard let facts = try FileSystem.facts(path) else { return 0 }
        guard facts.kind == .directory else { return facts.allocated }
        // Its own block is not counted: there are 256 at the most between all blobs.
        return try Directory.list(path).reduce(0) { try $0 + onDisk(path + "/" + $1) }
    }

    func record(_ index: Int) -> String {
        known(home.account?.items[keys[index].item]?.record())
    }

    func place(_ index: Int) throws -> BlobPlace {
        BlobPlace(record: record(index), under: try home.accountPlaces.blobs)
    }
}

/// Runs a test on a device that has restored so many items with a file each, of one size.
func withSmallCache(
    files: Int, of size: Int = 3 * 65_536 + 9, location: SourceLocation = #_sourceLocation,
    _ body: (SmallCache) async throws -> Void
) async throws {
    let account = TestAccount()
    let items = (0..<files).map {
        account.add("Item \($0)", TestFile("file \($0)", size: size))
    }
    account.push()
    try await withHome(account, location: location) { home in
        let engine = try await home.enter()
        _ = try await engine.restore()
        try await body(
            SmallCache(home: home, engine: engine, keys: items.map { $0.key() }, size: size))
    }
}
