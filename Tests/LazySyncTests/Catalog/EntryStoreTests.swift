import SyncPlatform
import Testing

@testable import LazySync
@testable import TestSupport

/// Entries in any order, cut in any way, come to the same catalog.
@Suite struct EntryStoreTests {
    /// What a version of an entry is.
    private enum Kind: CaseIterable { case live, tombstone, unreadable }

    private struct Version {
        let kind: Kind
        let entry: TestAccount.Entry
    }

    /// Draws versions of a few entries, from one seed.
    private struct Draw {
        var random: SeededGenerator
        let account: TestAccount

        mutating func versions(entries: Int) -> [[Version]] {
            (0..<entries).map { _ in
                let id = EntryID(random: account.random)
                return (1...Int.random(in: 1...5, using: &random)).map { number in
                    version(
                        id, UInt64(number), Kind.allCases.randomElement(using: &random) ?? .live)
                }
            }
        }

        private mutating func version(_ id: EntryID, _ number: UInt64, _ kind: Kind) -> Version {
            var item = TestItem(id: id, title: "version \(number)")
            for file in 0..<Int.random(in: 0...3, using: &random) {
                item.attachments.append(
                    account.attach(TestFile("\(file)", size: file, thumb: 3), to: id))
            }
            let facts = EntryFacts(
                id: id, version: number, kind: kind == .tombstone ? .tombstone : .live, epoch: 1)
            var sealedAs = facts
            if kind == .unreadable { sealedAs.version += 100 }
            let payload = kind == .tombstone ? Array(#"{"deleted":"then"}"#.utf8) : item.payload
            let sealed = account.seal(payload, sealedAs)
            return Version(
                kind: kind, entry: TestAccount.Entry(facts: facts, seq: 1, sealed: sealed))
        }
    }

    @Test(arguments: 0..<40)
    func `the newest version wins, and digest and counts add up all the way`(
        seed: UInt64
    ) async throws {
        let account = TestAccount(seed: seed)
        let store = try TestCatalog(account)
        var draw = Draw(random: SeededGenerator(seed: seed), account: account)
        // Fewer than the number of deletions that would be held.
        let versions = draw.versions(entries: 8)
        var rest = versions.flatMap { $0 }.shuffled(using: &draw.random)
        var seq: UInt64 = 0
        while !rest.isEmpty {
            let batches = try (0..<Int.random(in: 1...3, using: &draw.random)).map { _ in
                let count = min(Int.random(in: 0...6, using: &draw.random), rest.count)
                defer { rest.removeFirst(count) }
                return try store.batch(rest.prefix(count).map(\.entry))
            }
            try await store.catalog.apply(batches, next: ManifestPlace(after: 0))
            try CatalogCheck(store.connection()).run()
            switch Int.random(in: 0..<4, using: &draw.random) {
            case 0:
                seq += 1
                let result = try await store.verify(seq: seq)
                #expect(result.mismatch == nil, "seed \(seed)")
            case 1: try await store.catalog.beginRun()
            default: break
            }
            try CatalogCheck(store.connection()).run()
        }
        // A server shows each entry with its newest version.
        let newest = versions.compactMap(\.last)
        try await store.apply(newest.map(\.entry).shuffled(using: &draw.random))
        let result = try await store.verify(seq: seq + 1)
        #expect(result.mismatch == nil && result.heldDeletions == 0, "seed \(seed)")
        try CatalogCheck(store.connection()).run()
        try expect(newest, in: store.connection(), of: account, "seed \(seed)")
    }

    private func expect(
        _ newest: [Version], in catalog: Connection, of account: TestAccount, _ comment: Comment
    ) throws {
        var digest = SetDigest()
        for version in newest {
            let entry = version.entry
            let id = Hex.encode(entry.facts.id.bytes.span)
            let here = try catalog.prepare(
                "SELECT version, kind FROM entry WHERE entry_id = x'\(id)'")
            let staged = try catalog.prepare(
                "SELECT version FROM staged WHERE entry_id = x'\(id)' AND verified = 1")
            if version.kind == .unreadable {
                #expect(try staged.step(), comment)
                #expect(staged.int(0) == Int64(entry.facts.version), comment)
            } else {
                #expect(try !staged.step(), comment)
                #expect(try here.step(), comment)
                #expect(here.int(0) == Int64(entry.facts.version), comment)
                #expect(here.int(1) == Int64(entry.facts.kind.rawValue), comment)
            }
            digest += account.leaf(entry)
        }
        #expect(try EntryStore(catalog).digest == digest, comment)
        #expect(try EntryStore(catalog).entries == newest.count, comment)
    }
}
