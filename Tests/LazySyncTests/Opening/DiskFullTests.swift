import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// A disk without room.
@Suite(.timeLimit(.minutes(10)), .enabled(if: SmallDisk.isAllowed, "mounting is not allowed here"))
struct DiskFullTests {
    @Test func `what does not fit on the disk is diskFull before anything is asked for`()
        async throws
    {
        var disk: SmallDisk?
        defer { disk?.remove() }
        try await withOneFile(40 * 65_536) { configuration in
            disk = try? SmallDisk(at: known(configuration.home) + "/cache", kilobytes: 1_600)
        } _: { file in
            let disk = try #require(disk)
            try await file.engine.setCacheLimit(1 << 30)
            try await file.openFails(.diskFull)
            #expect(file.requests.isEmpty)
            // It lies over what was asked for, and nothing else.
            let other = file.account.add("Another", TestFile("other", size: 10))
            file.account.push()
            _ = try await file.engine.restore()
            let state = try await file.engine.explain(other.key()).attachment.state
            #expect(state == .remote)
            disk.resize(kilobytes: 8_000)
            try await file.open(requests: 1)
            let conditions = try await file.engine.catalog.conditions()
            #expect(conditions.isEmpty)
        }
    }

    @Test func `a disk that others fill meanwhile is diskFull, and the chunks are kept`()
        async throws
    {
        var disk: SmallDisk?
        defer { disk?.remove() }
        try await withOneFile(40 * 65_536) { configuration in
            disk = try? SmallDisk(at: known(configuration.home) + "/cache", kilobytes: 8_000)
        } _: { file in
            let disk = try #require(disk)
            try await file.engine.setCacheLimit(1 << 30)
            let gate = FaultGate()
            file.server.faults.add(file.request, times: 1, .hold(gate))
            let (engine, key) = (file.engine, file.key)
            let opening = Task { try await engine.materialize(key) }
            try await gate.reached()
            let free = Int(try Directory.freeSpace(at: disk.path))
            try Data(repeating: 1, count: free - 20 * 65_536)
                .write(to: URL(filePath: disk.path + "/others"))
            gate.open()
            let error = await #expect(throws: SyncError.self) { try await opening.value }
            #expect(error?.code == .unavailable(.diskFull))
            let full = try await file.engine.explain(file.key)
            #expect(full.attachment.state == .unavailable(.diskFull))
            #expect(file.requests.count == 1, "no request can make room")
            let kept = Int(full.evidence.bytes / 65_536)
            #expect(kept > 0 && kept < 21)
            try FileSystem.remove(disk.path + "/others")
            try await file.open(requests: 1)
            #expect(file.ranges.last == file.range(from: kept))
            let found = try await file.engine.explain(file.key)
            #expect(found.attachment.state == .here)
        }
    }

    @Test func `a full disk leaves no half thumbnail, and none is lost`() async throws {
        let account = TestAccount()
        for index in 0..<12 {
            account.add("Photo \(index)", .photo("p\(index).jpg", thumb: 60_000))
        }
        account.push()
        var disk: SmallDisk?
        defer { disk?.remove() }
        try await withHome(account) { home in
            disk = try SmallDisk(at: known(home.configuration.home) + "/cache", kilobytes: 300)
            let engine = try await home.enter()
            try await engine.setCacheLimit(1 << 30)
            let report = try await engine.restore()
            #expect(!report.isComplete && (1..<12).contains(report.thumbnailsHere))
            let conditions = try await engine.catalog.conditions()
            #expect(conditions[.diskFull] != nil)
            for case let name as String in FileManager.default.enumerator(
                atPath: try home.accountPlaces.thumbnails) ?? .init()
            {
                let path = try home.accountPlaces.thumbnails + "/" + name
                let facts = try #require(try FileSystem.facts(path))
                let isMarker = name == AccountPlaces.marker
                #expect(
                    isMarker || facts.kind == .directory || facts.size == 60_000, "\(name)")
            }
            disk?.resize(kilobytes: 4_000)
            let again = try await engine.restore()
            #expect(again.isComplete && again.thumbnailsHere == 12)
            let left = try await engine.catalog.conditions()
            #expect(left.isEmpty)
        }
    }
}
