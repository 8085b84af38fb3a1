import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// What came from a file and was changed before the first restore: a change is never lost.
@Suite struct ImportedChangesTests {
    /// A device that has imported a file of two items, one of which the server never had.
    private func imported(
        meanwhile: (TestAccount, TestItem) -> Void = { _, _ in },
        location: SourceLocation = #_sourceLocation,
        _ body: (TestHome, SyncEngine, _ known: LazySync.EntryID, _ strange: LazySync.EntryID)
            async throws -> Void
    ) async throws {
        let account = TestAccount()
        let item = account.add("known", TestFile("f", "content"), text: "as it was")
        account.push()
        try await withHome(account) { home in
            _ = try await home.login().restore(thumbnails: false)
            var export = try await home.export()
            let strange = String(repeating: "f", count: 32)
            let line = known(export.lines.first { $0.contains("\(item.id)") })
            export.lines.insert(
                line.replacing("\(item.id)", with: strange)
                    .replacing(#""title":"known""#, with: #""title":"strange""#),
                at: export.lines.count - 1)
            meanwhile(account, item)
            let other = try TestHome(beside: home)
            other.addsFiles = true
            try await other.importing(export.sealed)
            let engine = try await other.login()
            let id = try #require(
                try await engine.items().first { $0.title == "strange" }?.id)
            try await body(other, engine, item.id, id)
            try other.check(location)
        }
    }

    /// Another device that reads everything from the server shows the same.
    private func expectSame(
        _ home: TestHome, _ engine: SyncEngine, titles: [String],
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let push = try await engine.push()
        #expect(push.isComplete, sourceLocation: location)
        #expect(try await engine.status().outbox == 0, sourceLocation: location)
        let fresh = try TestHome(beside: home)
        let second = try await fresh.login()
        #expect(try await second.restore(thumbnails: false).verified, sourceLocation: location)
        let (mine, theirs) = (try await Shown(engine), try await Shown(second))
        #expect(mine == theirs, sourceLocation: location)
        #expect(theirs.titles == titles, sourceLocation: location)
    }

    @Test func `an item that the server has too is merged`() async throws {
        try await imported(meanwhile: { account, item in
            account.change(item.id) { $0.text = "edited there" }
            account.push()
        }) { home, engine, known, _ in
            try await engine.edit(known, ItemEdit(title: "edited here"))
            #expect(try await engine.status().outbox == 1)
            _ = try await engine.restore(thumbnails: false)
            let item = try await engine.item(known)
            #expect(item.title == "edited here" && item.text == "edited there")
            try home.check()
            try await expectSame(home, engine, titles: ["edited here"])
        }
    }

    @Test func `an item that the server does not have becomes one that was added here`()
        async throws
    {
        try await imported { home, engine, _, strange in
            try await engine.edit(strange, ItemEdit(text: "edited here"))
            _ = try await engine.restore(thumbnails: false)
            #expect(try await engine.item(strange).text == "edited here")
            let facts = try home.number(
                "SELECT count(*) FROM entry WHERE version = 0 AND epoch = 0")
            #expect(facts == 1)
            try home.check()
            try await expectSame(home, engine, titles: ["known", "strange"])
        }
    }

    @Test func `an item that was not changed and that the server does not have goes`()
        async throws
    {
        try await imported { home, engine, known, _ in
            try await engine.edit(known, ItemEdit(text: "edited here"))
            _ = try await engine.restore(thumbnails: false)
            #expect(try await Shown(engine).titles == ["known"])
            #expect(try await engine.status().outbox == 1)
            try await expectSame(home, engine, titles: ["known"])
        }
    }

    @Test func `a change stays where the server has removed the item`() async throws {
        try await imported(meanwhile: { account, item in
            account.remove(item.id)
            account.push()
        }) { home, engine, known, _ in
            try await engine.edit(known, ItemEdit(title: "edited here"))
            _ = try await engine.restore(thumbnails: false)
            #expect(try await engine.item(known).title == "edited here")
            try home.check()
            try await expectSame(home, engine, titles: ["edited here"])
        }
    }

    @Test(arguments: [false, true])
    func `what was removed stays removed, unless somebody has edited it since`(
        isEdited: Bool
    ) async throws {
        try await imported(meanwhile: { account, item in
            guard isEdited else { return }
            account.change(item.id) { $0.text = "edited there" }
            account.push()
        }) { home, engine, known, strange in
            try await engine.remove(known)
            try await engine.remove(strange)
            #expect(try await engine.items().isEmpty)
            _ = try await engine.restore(thumbnails: false)
            #expect(try await Shown(engine).titles == (isEdited ? ["known"] : []))
            #expect(try await engine.status().outbox == (isEdited ? 0 : 1))
            try home.check()
            try await expectSame(home, engine, titles: isEdited ? ["known"] : [])
        }
    }

    @Test func `a file that was brought and changed is exported as it came`() async throws {
        try await imported { home, engine, known, strange in
            let before = try await home.export().bytes
            try await engine.edit(known, ItemEdit(title: "edited here"))
            try await engine.remove(strange)
            _ = try await engine.add(title: "added here")
            #expect(try await home.export().bytes == before)
        }
    }

    @Test func `nothing replaces what was only added here`() async throws {
        let account = TestAccount()
        try await withHome(account) { home in
            home.addsFiles = true
            var engine = try await home.login()
            _ = try await engine.restore()
            let export = try await home.export()
            await engine.close()
            try await home.importing(export.bytes)
            for step in ["added", "removed"] {
                engine = try await home.open()
                if step == "added" {
                    _ = try await engine.add(files: [home.file("a", [1, 2, 3])])
                } else {
                    try await engine.remove(try #require(try await engine.items().first?.id))
                }
                await engine.close()
                let error = await #expect(throws: SyncError.self, "\(step)") {
                    try await home.importing(export.bytes)
                }
                #expect(error?.code == .invalidInput, "\(step)")
            }
            #expect(try await home.open().trash().count == 1)
        }
    }

    @Test func `what waits to be sent is kept beside a catalog that is replaced`() async throws {
        let account = TestAccount()
        account.add("one", TestFile("a", "a"))
        account.push()
        try await withHome(account) { home in
            home.addsFiles = true
            let engine = try await home.login()
            _ = try await engine.restore()
            let export = try await home.export()
            _ = try await engine.add(files: [home.file("a", [1, 2, 3])])
            let packs = try home.packs
            #expect(packs.count == 1)
            await engine.close()
            try home.execute("PRAGMA user_version = 99")
            let kept = try #require(
                try await home.importing(export.bytes, replacing: true).kept)
            #expect(try home.packs.isEmpty)
            #expect(try Directory.list(kept + "-spool") == packs)
        }
    }
}
