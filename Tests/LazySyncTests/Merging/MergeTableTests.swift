import Foundation
import Testing

@testable import LazySync
@testable import TestSupport

/// What becomes of an item that was changed on two sides: the table of docs/DESIGN.md, row by row.
@Suite struct MergeTableTests {
    @Test(arguments: MergeRow.all) func `what three sides know decides what is shown`(
        row: MergeRow
    ) {
        let plan = MergePlan(base: row.base, local: row.local, remote: row.remote)
        #expect(plan.shown == row.shown)
        #expect(plan.isUnsent == row.isUnsent)
        #expect(plan.copy == row.copy)
    }

    @Test func `the rows are those of the design's page`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "docs/DESIGN.md"), encoding: .utf8)
        let section = try #require(page.components(separatedBy: "\n## Conflicts\n").last)
        let table = known(section.components(separatedBy: "\n## ").first).split(separator: "\n")
            .filter { $0.hasPrefix("|") }.dropFirst(2)
        let cells = table.map { line in
            line.components(separatedBy: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        #expect(cells.map { $0[1] } == MergeRow.all.map(\.testDescription))
        for (cells, row) in zip(cells, MergeRow.all) {
            #expect(cells[3] == (row.isUnsent ? "yes" : "no"), "\(row.testDescription)")
            #expect(cells[4].isEmpty == (row.copy == nil), "\(row.testDescription)")
        }
    }

    @Test func `an item whose payload has no room for a change stays as it is there`() {
        let sides = (item("a"), item("b", "x"), item("a"))
        let unknown = String(repeating: "u", count: 1 << 20)
        func plan(_ count: Int) -> MergePlan {
            let payload = Array(#"{"title":"a","u":"\#(unknown.prefix(count))"}"#.utf8)
            return MergePlan(base: sides.0, local: sides.1, remote: sides.2, payload: payload)
        }
        // {"title":"b","text":"x","attachments":[],"u":""} is 48 bytes.
        let room = (1 << 20) - 48
        #expect(plan(room).shown == item("b", "x") && plan(room).copy == nil)
        #expect(plan(room + 1).shown == item("a") && !plan(room + 1).isUnsent)
        #expect(plan(room + 1).copy == draft("b (conflict copy)", "x"))
    }

    @Test func `a title without room for the mark stays as it is`() throws {
        // {"title":"…","attachments":[]} is 29 bytes more than its title.
        let longest = draft(String(repeating: "t", count: (1 << 20) - 29))
        #expect(try longest.encode(using: EntryDecoder()).count == 1 << 20)
        #expect(longest.markedAsCopy == longest)
        let plan = MergePlan(base: item("a"), local: item("b"), remote: .item(longest))
        #expect(plan.shown == item("b") && plan.copy == longest)
    }

    @Test func `what is not to be sent is not measured`() throws {
        var there = draft("", [file(1, nil)])
        let count = try there.encode(using: EntryDecoder()).count
        there.title = String(repeating: "t", count: (1 << 20) - count)
        let payload = try there.encode(using: EntryDecoder())
        // With the address that is known here it would be too long.
        let base = item("a", [file(1, "A")])
        let here = item(there.title, [file(1, "A")])
        for local in [base, here] {
            let plan = MergePlan(base: base, local: local, remote: .item(there), payload: payload)
            #expect(plan.shown == here && !plan.isUnsent && plan.copy == nil)
        }
    }

    @Test func `a copy of a copy says so once`() {
        let once = draft("Lisbon").markedAsCopy
        #expect(once.title == "Lisbon (conflict copy)")
        #expect(once.markedAsCopy == once)
        #expect(draft("").markedAsCopy.title == "(conflict copy)")
        #expect(draft("").markedAsCopy.markedAsCopy.title == "(conflict copy)")
    }

    @Test func `the bound of a payload's size is never below it`() throws {
        var widest = file(1, String(repeating: "r", count: 64))
        widest.name = String(repeating: "\u{1}", count: 1_024)
        widest.type = widest.name
        widest.size = 1 << 48
        widest.thumb = ItemDraft.Thumb(type: widest.name, size: 1 << 48, ref: widest.ref)
        // So many that they just do not fit: then it is encoding that says so, not the bound.
        var large = draft("\u{1}", "\u{1}")
        while large.fits(over: []) {
            widest.id = attachmentID(large.attachments.count)
            large.attachments.append(widest)
        }
        #expect(throws: FormatError.self) { try large.encode(using: EntryDecoder()) }
        large.attachments.removeLast()
        #expect(try large.encode(using: EntryDecoder()).count <= 1 << 20)
    }

    @Test func `an accent that is written in another way is no change`() {
        let plan = MergePlan(base: item("caf\u{E9}"), local: item("cafe\u{301}"), remote: item("b"))
        #expect(plan == MergePlan(base: item("b"), local: item("b"), remote: item("b")))
    }
}
