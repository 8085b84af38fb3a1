import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import TestSupport

/// What becomes of the records of an old store, and what is left out and why.
@Suite struct LegacyPlanTests {
    private static let map = Array(
        #"""
        {"version":1,"arrays":[
          {"array":"notes","title":"name","text":"body","created":"made","modified":"changed",
           "times":"unix","skip":["color"]},
          {"array":"lists","title":"title"}]}
        """#.utf8)

    private static func plan(_ json: String) throws -> LegacyPlan {
        try LegacyPlan(LegacyFile.read(Array(json.utf8)), LegacyMap(map))
    }

    @Test func `records become items with their title, text and times`() throws {
        let plan = try Self.plan(
            #"""
            {"notes":[{"name":"a","body":"x","made":1780000000.5,"changed":"2026-01-01T00:00:00+02:00"},
                      {"name":"b","body":null,"color":"red"}],
             "lists":[{"title":"c"}]}
            """#)
        #expect(plan.records == 3 && plan.leftOut == [] && plan.unmapped == [:])
        #expect(plan.items.map(\.draft.title) == ["a", "b", "c"])
        #expect(plan.items[0].draft.text == "x")
        #expect(plan.items[0].draft.created == "2026-05-28T20:26:40.5Z")
        #expect(plan.items[0].draft.modified == "2026-01-01T00:00:00+02:00")
        #expect(plan.items[1].draft == ItemDraft(title: "b"))
        #expect(plan.differences(from: plan.payloads()).isEmpty)
    }

    @Test func `what is left out is named with its place and the reason`() throws {
        let long = String(repeating: "x", count: 1 << 20)
        let plan = try Self.plan(
            #"""
            {"notes":["no",{"body":"x"},{"name":7},{"name":"a","body":[1],"made":"soon","kind":1},
                      {"name":"a","kind":2},{"name":"\#(long)"},{"name":"b","made":true}],
             "others":[{}],"more":1}
            """#)
        #expect(
            plan.leftOut.map { one in
                [one.array, one.index.map(String.init), one.field, one.reason]
                    .compactMap { $0 }.joined(separator: " ")
            } == [
                "notes 0 it is text, no record", "notes 1 it has no title",
                "notes 2 its title is a number", "notes 3 body it is a list, no text",
                "notes 3 made it is text, no time", "notes 4 a record before it says the same",
                "notes 5 it is larger than an item can be",
                "notes 6 made it is yes or no, no time", "lists the file has no such array",
                "more the map does not name it", "others the map does not name it",
            ])
        #expect(plan.unmapped == ["notes.kind": 2])
        #expect(plan.items.count == 2 && plan.records == 7)
    }

    @Test func `the same record is the same item each time, from whatever kind of file`() throws {
        let value: [String: Any] = [
            "notes": [["name": "ü", "body": "two\nlines", "made": Date(timeIntervalSince1970: 5)]]
        ]
        let map = try LegacyMap(Self.map)
        var ids: Set<LazySync.EntryID> = []
        for format in [PropertyListSerialization.PropertyListFormat.xml, .binary] {
            let data = try PropertyListSerialization.data(
                fromPropertyList: value, format: format, options: 0)
            ids.formUnion(try LegacyPlan(LegacyFile.read([UInt8](data)), map).items.map(\.id))
        }
        let json = #"{"notes":[{"name":"ü","body":"two\nlines","made":5}]}"#
        ids.formUnion(try Self.plan(json).items.map(\.id))
        #expect(ids.count == 1)
        #expect(try Self.plan(json.replacing("lines", with: "more")).items.map(\.id) != Array(ids))
    }

    @Test func `a record that reads back as another, or not at all, is found`() throws {
        let plan = try Self.plan(#"{"notes":[{"name":"a"},{"name":"b"},{"name":"c"}]}"#)
        var payloads = plan.payloads()
        payloads[plan.items[0].id] = nil
        payloads[plan.items[1].id] = Array(#"{"title":"B","attachments":[]}"#.utf8)
        #expect(
            plan.differences(from: payloads).map {
                "\($0.leftOut.index ?? -1) \($0.leftOut.reason)"
            } == [
                "0 it is not there", "1 it reads back as another",
            ])
    }

    @Test(arguments: [
        ("[]", "no object"), ("{", "not JSON"), (#"{"version":2,"arrays":[]}"#, "version"),
        (#"{"version":1,"arrays":[]}"#, "no arrays"),
        (#"{"version":1,"arrays":[{"array":"a"}]}"#, "title"),
        (#"{"version":1,"arrays":[{"array":"a","title":"t","tex":"x"}]}"#, "nobody knows"),
        (#"{"version":1,"arrays":[{"array":"a","title":"t","times":"x"}]}"#, "one of unix"),
        (
            #"{"version":1,"arrays":[{"array":"a","title":"t"},{"array":"a","title":"t"}]}"#,
            "twice"
        ),
    ])
    func `a map that says nothing clear is refused`(text: String, detail: String) {
        let problem = #expect(throws: LegacyProblem.self) { try LegacyMap(Array(text.utf8)) }
        #expect(problem?.detail.contains(detail) == true)
    }

    @Test func `the old file is only read`() async throws {
        let folder = try freshFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let (old, map) = (folder.path + "/old", folder.path + "/map")
        try Data(#"{"notes":[{"name":"a"}]}"#.utf8).write(to: URL(filePath: old))
        try Data(Self.map).write(to: URL(filePath: map))
        try FileSystem.setMode(old, 0o400)
        let before = try FileSystem.facts(old)
        let report = try await SyncEngine.planLegacyImport(of: old, map: map)
        #expect(report.items == 1 && report.records == 1)
        #expect(report.leftOut.map(\.reason) == ["the file has no such array"])
        #expect(try FileSystem.facts(old) == before)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 2)
    }
}
