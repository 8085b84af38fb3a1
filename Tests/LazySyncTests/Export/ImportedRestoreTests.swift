import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// What a restore makes of a catalog that a file brought: the file is never believed.
@Suite struct ImportedRestoreTests {
    private static func account(_ count: Int = 5) -> (TestAccount, [TestItem]) {
        let account = TestAccount()
        let items = (0..<count).map { account.add("item \($0)", TestFile("f", "content \($0)")) }
        account.push()
        return (account, items)
    }

    /// A device without a catalog of its own that has imported what `edit` made of an export.
    private static func imported(
        _ account: TestAccount, edit: (inout ExportText) throws -> Void = { _ in },
        meanwhile: () -> Void = {}, location: SourceLocation = #_sourceLocation,
        _ body: (TestHome, SyncEngine) async throws -> Void
    ) async throws {
        try await withHome(account) { home in
            _ = try await home.login().restore(thumbnails: false)
            var export = try await home.export()
            try edit(&export)
            meanwhile()
            let other = try TestHome(beside: home)
            try await other.importing(export.sealed)
            try await body(other, try await other.login())
            try other.check(location)
        }
    }

    /// The device has what another one has that read everything from the server.
    private static func expectAsNew(
        _ home: TestHome, _ engine: SyncEngine, location: SourceLocation = #_sourceLocation
    ) async throws {
        let report = try await engine.restore(thumbnails: false)
        #expect(report.verified && report.isComplete, sourceLocation: location)
        let fresh = try TestHome(beside: home)
        _ = try await fresh.login().restore(thumbnails: false)
        #expect(try await home.export().bytes == fresh.export().bytes, sourceLocation: location)
        #expect(try await engine.status().flags == [], sourceLocation: location)
        #expect(try home.number("SELECT count(*) FROM entry WHERE epoch < 0") == 0)
    }

    @Test func `titles, names and sizes that were changed are put right at the same version`()
        async throws
    {
        let (account, items) = Self.account()
        try await Self.imported(account) { export in
            try export.change(items[1].id) {
                $0 = $0.replacing("item 1", with: "a lie").replacing(
                    #""name":"f""#, with: #""name":"g""#)
                $0 = $0.replacing(#""size":9"#, with: #""size":10"#)
            }
        } _: { home, engine in
            #expect(try await engine.item(items[1].id).title == "a lie")
            try await Self.expectAsNew(home, engine)
            #expect(try await engine.item(items[1].id).title == "item 1")
        }
    }

    @Test func `an old file hides nothing that is newer, and keeps nothing that was removed`()
        async throws
    {
        let (account, items) = Self.account(30)
        try await Self.imported(
            account,
            meanwhile: {
                account.change(items[0].id) { $0.title = "newer" }
                account.remove(items[1].id)
                account.add("new", TestFile("n", "n"))
                account.push()
            }
        ) { home, engine in
            try await Self.expectAsNew(home, engine)
            #expect(try await engine.items().count == 30)
        }
    }

    @Test func `a version that is higher than the server's hides nothing`() async throws {
        let (account, items) = Self.account()
        try await Self.imported(account) { export in
            for item in items.prefix(2) {
                try export.change(item.id) {
                    $0 = $0.replacing(#""version":1"#, with: #""version":18446744073709551615"#)
                    $0 = $0.replacing("\"item ", with: "\"lie ")
                }
            }
            // A tombstone where the server has an item, and it waits too.
            try export.change(items[2].id) { line in
                let leaf = line.range(of: #","title""#)
                line = String(line[..<(leaf?.lowerBound ?? line.endIndex)]) + "}"
                line = line.replacing(#""kind":"item""#, with: #""kind":"tombstone""#)
            }
            let staged = known(export.lines.first { $0.contains(#""kind":"tombstone""#) })
                .replacing(#"{"entry":"#, with: #"{"staged":"#)
                .replacing(#""version":1,"#, with: #""version":9,"#)
            export.lines.insert(staged, at: export.lines.count - 1)
        } _: { home, engine in
            try await Self.expectAsNew(home, engine)
        }
    }

    @Test func `an item that the account never had goes when the head is verified`() async throws {
        let (account, items) = Self.account()
        try await Self.imported(account) { export in
            let line = known(export.lines.first { $0.contains("\(items[0].id)") })
            let id = String(repeating: "f", count: 32)
            export.lines.insert(
                line.replacing("\(items[0].id)", with: id), at: export.lines.count - 1)
        } _: { home, engine in
            #expect(try await engine.items().count == 6)
            // Not before: a run that does not come to its end removes nothing.
            let fault = home.server.faults.add(.get("/v1/manifest"), .html(500))
            await #expect(throws: SyncError.self) { try await engine.restore() }
            #expect(try await engine.items().count == 6)
            home.server.faults.remove(fault)
            try await Self.expectAsNew(home, engine)
        }
    }

    @Test func `a head of the file is not believed`() async throws {
        let (account, _) = Self.account()
        let forged = account.forgedHead(seq: 99, digest: SetDigest())
        try await Self.imported(account) { export in
            let own = known(account.head).bytes
            let head = SyncPlatform.Base64URL.encode(own.span)
            export.lines[0] = export.lines[0].replacing(
                head, with: SyncPlatform.Base64URL.encode(forged.bytes.span))
            #expect(export.lines[0].contains("\"head\""))
        } _: { home, engine in
            let status = try await engine.status()
            #expect(status.head == 0 && !status.verified)
            try await Self.expectAsNew(home, engine)
            #expect(try await engine.status().head == 1)
        }
    }

    @Test func `a head that fits the file's entries shows that a server has gone back`()
        async throws
    {
        let (account, items) = Self.account()
        let old = account.entries
        account.change(items[0].id) { $0.title = "newer" }
        account.push()
        try await Self.imported(
            account,
            edit: { export in
                // Words do not matter to it.
                try export.change(items[1].id) { $0 = $0.replacing("item 1", with: "a lie") }
            },
            meanwhile: {
                account.restore(old)
                account.show(account.heads[0])
            }
        ) { home, engine in
            let failure = await #expect(throws: SyncError.self) { try await engine.restore() }
            #expect(failure?.code == .mismatch)
            #expect(failure?.detail.contains("rollback") == true)
            let (item, status) = (try await engine.item(items[0].id), try await engine.status())
            #expect(item.title == "newer")
            #expect(status.flags == ["headMismatch", "imported"])
        }
    }

    @Test func `a server that has no head for the account empties nothing`() async throws {
        let (account, _) = Self.account()
        try await Self.imported(
            account,
            edit: { export in
                // Not even where the file names none.
                let start = known(export.lines[0].range(of: #","head""#)).lowerBound
                export.lines[0] = export.lines[0][..<start] + "}"
            },
            meanwhile: {
                account.restore([:])
                account.show(nil)
            }
        ) { home, engine in
            let failure = await #expect(throws: SyncError.self) { try await engine.restore() }
            #expect(failure?.code == .mismatch)
            let count = try await engine.items().count
            #expect(count == 5)
        }
    }

    @Test func `an address that only the file has stays if it is one, and goes if it is not`()
        async throws
    {
        let (account, items) = Self.account()
        let other = known(items[3].record())
        try await Self.imported(
            account,
            edit: { export in
                // The other item's address, which does not unwrap here.
                let line = known(export.lines.first { $0.contains(other) })
                let start = known(line.range(of: "cb1.")).lowerBound
                let foreign = line[start...].prefix { $0 != "\"" }
                try export.change(items[1].id) { line in
                    let start = known(line.range(of: "cb1.")).lowerBound
                    let own = line[start...].prefix { $0 != "\"" }
                    line = line.replacing(own, with: foreign)
                }
            },
            meanwhile: {
                for item in items.prefix(2) {
                    account.change(item.id) { $0.attachments[0].ref = .absent }
                }
                account.push()
            }
        ) { home, engine in
            let report = try await engine.restore()
            #expect(report.addressesComplete == 4 && report.addressesMissing == 1)
            #expect(try await engine.materialize(items[0].key()).size == 9)
            let failure = await #expect(throws: SyncError.self) {
                try await engine.materialize(items[1].key())
            }
            #expect(failure?.code == .unavailable(.addressMissing))
            // And the key's own check is not led astray.
            #expect(try await home.open().restore().verified)
        }
    }

    @Test func `removals beyond what a person expects are held, also over a file`() async throws {
        let (account, items) = Self.account(20)
        try await Self.imported(
            account,
            meanwhile: {
                for item in items.prefix(15) { account.remove(item.id) }
                account.push()
            }
        ) { home, engine in
            for _ in 0..<2 {
                let failure = await #expect(throws: SyncError.self) { try await engine.restore() }
                #expect(failure?.code == .tooManyDeletions)
                #expect(try await engine.items().count == 20)
            }
            #expect(try await engine.status().flags == ["heldDeletions"])
            try CatalogCheck(home.catalog()).run()
            // An edit that beats a removal.
            account.write(items[0])
            account.push()
            await #expect(throws: SyncError.self) { try await engine.restore() }
            #expect(try home.number("SELECT count(*) FROM entry WHERE epoch < 0") == 14)
        }
    }

    @Test func `a first restore that is cut off goes on from its place`() async throws {
        let (account, items) = Self.account(60)
        try await Self.imported(account) { export in
            for item in items {
                try export.change(item.id) { $0 = $0.replacing("\"item ", with: "\"lie ") }
            }
        } _: { home, _ in
            home.configuration.paging = .init(pageEntries: 10, commitEntries: 10)
            let engine = try await home.open()
            let before = home.manifestRequests.count
            let fault = home.server.faults.add(.get("/v1/manifest"), skip: 3, .html(500))
            await #expect(throws: SyncError.self) { try await engine.restore() }
            #expect(try home.number("SELECT count(*) FROM entry WHERE epoch < 0") == 30)
            #expect(try await engine.status().flags == ["imported"])
            try CatalogCheck(home.catalog()).run()
            home.server.faults.remove(fault)
            let pages = home.manifestRequests.count
            try await Self.expectAsNew(home, home.open())
            #expect(pages > before)
        }
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `whatever was changed in a file, a restore makes of it what the server has`(
        seed: UInt64
    ) async throws {
        let (account, _) = TestAccount.ofAllKinds()
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore(thumbnails: false)
            let valid = try await home.export()
            var random = SeededGenerator(seed: 1_000 + seed)
            var taken = 0
            for _ in 0..<60 where taken < 3 {
                let other = try TestHome(beside: home)
                guard (try? await other.importing(valid.mutated(&random))) != nil else { continue }
                // Another account's id, name or server is no device of this account.
                guard let copy = try? await other.login() else { continue }
                taken += 1
                #expect(try await copy.restore(thumbnails: false).verified, "seed \(seed)")
                #expect(try await other.export().bytes == valid.bytes, "seed \(seed)")
                try other.check()
            }
            #expect(taken > 0)
        }
    }

    @Test func `an export of a catalog that waits for its restore is the file again`() async throws
    {
        let (account, items) = Self.account()
        var file = ExportText([])
        try await Self.imported(account) { export in
            try export.change(items[0].id) { $0 = $0.replacing("item 0", with: "a lie") }
            file = export
        } _: { home, _ in
            let again = try await home.export().bytes
            #expect(again == file.sealed)
        }
    }
}
