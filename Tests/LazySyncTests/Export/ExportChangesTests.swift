import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// An exported file is what the server has, whatever is changed here.
@Suite struct ExportChangesTests {
    /// Exports, and says how many items have changes that are not in the file.
    private func export(_ home: TestHome) async throws -> (ExportText, unsent: Int) {
        let bytes = Locked<[UInt8]>([])
        let report = try await home.open().export { block in
            bytes.withLock { $0.append(copying: block) }
        }
        return (ExportText(bytes.withLock { $0 }), report.unsent)
    }

    /// The file is the one that a device exports which has read everything from the server.
    private func expectAsServer(
        _ home: TestHome, unsent: Int, _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let fresh = try TestHome(beside: home)
        _ = try await fresh.login().restore(thumbnails: false)
        let (mine, count) = try await export(home)
        let (theirs, none) = try await export(fresh)
        #expect(mine.lines == theirs.lines, sourceLocation: location)
        #expect(mine.bytes == theirs.bytes, sourceLocation: location)
        #expect(count == unsent && none == 0, sourceLocation: location)
        // Its counts and its digest fit.
        let other = try TestHome(beside: home)
        try await other.importing(mine.bytes)
        #expect(try await export(other).0.bytes == mine.bytes, sourceLocation: location)
        try other.check(location)
    }

    private func item(_ engine: SyncEngine, _ title: String) async throws -> LazySync.EntryID {
        try #require(try await engine.items(limit: 100).first { $0.title == title }?.id)
    }

    @Test func `what is changed here stands in it as the server has it`() async throws {
        let (account, _) = TestAccount.ofAllKinds()
        account.add("to go", .photo("p.jpg"), TestFile("q", "q"))
        account.push()
        try await withHome(account) { home in
            home.addsFiles = true
            let engine = try await home.login()
            _ = try await engine.restore(thumbnails: false)
            try await expectAsServer(home, unsent: 0)
            for title in ["no time", "nothing attached", "addresses", "newer"] {
                try await engine.edit(item(engine, title), ItemEdit(title: title + ", edited"))
            }
            try await expectAsServer(home, unsent: 4)
            try await engine.remove(item(engine, "to go"))
            try await expectAsServer(home, unsent: 5)
            let path = try home.file("new.bin", TestHome.bytes(100_000))
            _ = try await engine.add(files: [path], to: item(engine, "nothing attached, edited"))
            let taken = try #require(
                try await engine.attachments(AttachmentQuery(limit: 100)).first {
                    $0.name == "b.png"
                })
            try await engine.remove(taken.key)
            try await expectAsServer(home, unsent: 6)
            // What the server does not have is not in it.
            _ = try await engine.add(files: [path])
            try await expectAsServer(home, unsent: 7)
            let brief = try await engine.add(title: "brief", text: "and gone")
            try await engine.remove(try #require(brief.items.first))
            try await expectAsServer(home, unsent: 7)
            #expect(try await engine.push().items == 7)
            try await expectAsServer(home, unsent: 0)
        }
    }

    @Test(arguments: [true, false])
    func `a push whose answer has not come counts for nothing, until it is known`(
        hasArrived: Bool
    ) async throws {
        let account = TestAccount()
        let one = account.add("one", TestFile("a", "a"))
        let two = account.add("two", TestFile("b", "b"))
        account.push()
        try await withHome(account) { home in
            home.addsFiles = true
            let engine = try await home.login()
            _ = try await engine.restore(thumbnails: false)
            let (before, _) = try await export(home)
            try await engine.edit(one.id, ItemEdit(title: "changed"))
            try await engine.remove(two.id)
            _ = try await engine.add(title: "added")
            let fault = home.server.faults.add(
                .post("/v1/manifest"), .drop(handling: hasArrived))
            await #expect(throws: SyncError.self) { try await engine.push() }
            #expect(try home.number("SELECT count(*) FROM outbox WHERE sent IS NOT NULL") == 3)
            let (during, unsent) = try await export(home)
            #expect(during.bytes == before.bytes && unsent == 3)
            home.server.faults.remove(fault)
            try await engine.edit(one.id, ItemEdit(title: "changed again"))
            _ = try await engine.push()
            try await expectAsServer(home, unsent: 0)
        }
    }

    @Test func `what was changed here and elsewhere stands in it as it was changed there`()
        async throws
    {
        let (account, _) = TestAccount.ofAllKinds()
        let kept = account.add("kept", TestFile("k", "k"))
        account.push()
        try await withHome(account) { home in
            home.addsFiles = true
            let engine = try await home.login()
            _ = try await engine.restore(thumbnails: false)
            let edited = try await item(engine, "newer")
            try await engine.edit(edited, ItemEdit(title: "newer, edited here"))
            try await engine.edit(kept.id, ItemEdit(text: "edited here"))
            account.put(
                Array(#"{"color":"blue","title":"newer","text":"edited there"}"#.utf8), for: edited)
            account.remove(kept.id)
            account.push()
            _ = try await engine.restore(thumbnails: false)
            #expect(try await engine.item(edited).text == "edited there")
            #expect(try await engine.item(edited).title == "newer, edited here")
            #expect(try await engine.item(kept.id).text == "edited here")
            // One of them is a tombstone there.
            try await expectAsServer(home, unsent: 2)
        }
    }

    @Test func `the store of version 3 is exported without its changes`() async throws {
        let folder = try freshFolder()
        defer { removeFolder(folder) }
        let path = folder.path + "/catalog.sqlite"
        try FileManager.default.copyItem(
            at: Fixtures.folder.appending(path: "stores/v3.sqlite"), to: URL(filePath: path))
        let catalog = try Connection(path: path, mode: .readWrite)
        var lines: [ExportLine] = []
        #expect(try catalog.forEachExported { lines.append($0) } == 4)
        var titles: [String] = []
        for case .entry(let entry) in lines {
            #expect(entry.facts.version != 0)
            if let item = entry.item { titles.append(item.title) }
        }
        #expect(titles.sorted() == ["Leaving", "Lisbon", "No valid time", "Only words"])
        #expect(lines.count == 8)
    }
}
