import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// An old store's records as items of the account.
@Suite struct LegacyImportTests {
    private static let map = Array(
        #"{"version":1,"arrays":[{"array":"notes","title":"name","text":"body","created":"made","times":"unix"}]}"#
            .utf8)

    private func files(_ home: TestHome, _ json: String) throws -> (file: String, map: String) {
        (try home.file("old.json", Array(json.utf8)), try home.file("map.json", Self.map))
    }

    @Test func `records are items that wait to be sent, once and without doubles`() async throws {
        try await withHome(TestAccount()) { home in
            let engine = try await home.login()
            var (file, map) = try files(
                home,
                #"{"notes":[{"name":"a","body":"x","made":1780000000},{"name":"b"},{"name":"b"}]}"#)
            let before = try Data(contentsOf: URL(filePath: file))
            let report = try await engine.importLegacy(of: file, map: map)
            #expect(report.imported == 2 && report.known == 0 && report.leftOut.count == 1)
            #expect(try await Shown(engine).titles == ["a", "b"])
            #expect(try await engine.status().outbox == 2)
            #expect(try Data(contentsOf: URL(filePath: file)) == before)
            // The same file again, and one that has grown by a record.
            let again = try await engine.importLegacy(of: file, map: map)
            #expect(again.isRepeated && again.imported == 0)
            let removed = try #require(try await engine.items().first { $0.title == "b" }).id
            try await engine.remove(removed)
            (file, map) = try files(
                home,
                #"{"notes":[{"name":"a","body":"x","made":1780000000},{"name":"b"},{"name":"c"}]}"#)
            let grown = try await engine.importLegacy(of: file, map: map)
            // What was removed before it was ever sent is nobody's memory any more.
            #expect(grown.imported == 2 && grown.known == 1)
            _ = try await engine.push()
            let other = try TestHome(beside: home)
            let second = try await other.login()
            _ = try await second.restore()
            #expect(try await Shown(second).titles == ["a", "b", "c"])
            #expect(try await Shown(second) == Shown(engine))
            try other.check()
        }
    }

    @Test func `two devices that import the same file have each record once`() async throws {
        try await withHome(TestAccount()) { home in
            let (file, map) = try files(home, #"{"notes":[{"name":"a"},{"name":"b"}]}"#)
            let engine = try await home.login()
            let other = try TestHome(beside: home)
            let second = try await other.login()
            _ = try await engine.importLegacy(of: file, map: map)
            _ = try await second.importLegacy(of: file, map: map)
            let renamed = try #require(try await second.items().first { $0.title == "a" }).id
            try await second.edit(renamed, ItemEdit(text: "more"))
            _ = try await engine.push()
            _ = try await second.push()
            _ = try await engine.restore()
            #expect(try await Shown(engine).titles == ["a", "b"])
            #expect(try await engine.item(renamed).text == "more")
            #expect(try await Shown(second) == Shown(engine))
            try other.check()
        }
    }

    @Test func `what is removed stays removed, once it was sent`() async throws {
        try await withHome(TestAccount()) { home in
            let (file, map) = try files(home, #"{"notes":[{"name":"a"}]}"#)
            let engine = try await home.login()
            _ = try await engine.importLegacy(of: file, map: map)
            _ = try await engine.push()
            try await engine.remove(try #require(try await engine.items().first).id)
            _ = try await engine.push()
            let (grown, _) = try files(home, #"{"notes":[{"name":"a"},{"name":"b"}]}"#)
            let report = try await engine.importLegacy(of: grown, map: map)
            #expect(report.imported == 1 && report.known == 1)
            #expect(try await Shown(engine).titles == ["b"])
        }
    }
}
