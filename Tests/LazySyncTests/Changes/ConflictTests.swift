import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// The rows of docs/DESIGN.md with real devices and a server: all of them at once, each with an item
/// of its own.
@Suite(.timeLimit(.minutes(10))) struct ConflictTests {
    /// Who writes what is "there".
    enum Other: Sendable, CaseIterable {
        /// A device of ours.
        case device
        /// A program of which only the format is known.
        case stranger
    }

    @Test(arguments: Other.allCases)
    func `every row of the table comes out as it says, on both devices and at the server`(
        _ other: Other
    ) async throws {
        try await withTwo { devices in
            let rows = MergeRow.all.filter { other == .stranger || !$0.needsStranger }
                .filter { $0.testDescription != "here, and the server no longer knows of it" }
                .filter { $0.local.draft.map { $0.attachments.count <= 1_000 } ?? true }
            let account = try #require(devices.home.account)
            let cast = Cast(account, rows)
            func there(_ side: (MergeRow) -> ItemSide?) async throws {
                let isWritten = try await cast.write(side, by: other, devices.one)
                if isWritten, other == .device { _ = try await devices.one.push() }
                if isWritten, other == .stranger { account.push() }
            }
            // What has been removed was there first.
            let former = item("a")
            try await there { row in
                if row.base != .removed { return row.base.draft.map { .item($0) } }
                return row.remote.draft.map { .item($0) } ?? former
            }
            try await there { $0.base == .removed ? .removed : nil }
            try await devices.restore()
            // Nobody here has seen what came and went in between.
            try await there { $0.base == .absent && $0.remote == .removed ? former : nil }
            try await there { $0.remote == $0.base || $0.remote == .absent ? nil : $0.remote }

            for row in rows where row.local != row.base {
                try await cast.write(row, row.local, devices.two)
            }
            let push = try await devices.two.push()
            let copies = rows.compactMap(\.copy).count
            #expect(push.isComplete && push.items == rows.count { $0.isUnsent } + copies)
            _ = try await devices.one.restore()
            for engine in [devices.two, devices.one] {
                try await cast.expectShown(engine, isOther: engine === devices.one)
            }
            try await devices.settle()
            try cast.expectServed(devices.home)
        }
    }
}

extension MergeRow {
    /// Whether what is there can only be another program's: ours never leaves out an address that
    /// it has.
    fileprivate var needsStranger: Bool {
        guard let there = remote.draft else { return false }
        let lacking = there.attachments.filter { $0.ref == .absent }.map(\.id)
        let known = base.draft?.attachments.filter { $0.ref.address != nil }.map(\.id) ?? []
        return !Set(lacking).isDisjoint(with: known)
    }
}

/// The items that play the rows.
private final class Cast {
    let account: TestAccount
    let rows: [MergeRow]
    private let ids: [LazySync.EntryID]
    private var refs: [String: TestItem.Ref] = [:]
    private var keys: [String: (key: AttachmentKey, role: BlobRole)] = [:]

    init(_ account: TestAccount, _ rows: [MergeRow]) {
        (self.account, self.rows) = (account, rows)
        ids = rows.map { _ in LazySync.EntryID(random: account.random) }
    }

    private func number(_ row: MergeRow) -> Int {
        known(rows.firstIndex { $0.testDescription == row.testDescription })
    }

    private func id(_ row: MergeRow) -> LazySync.EntryID { ids[number(row)] }

    // MARK: Writing

    /// Has one side write some of the rows; whether there were any.
    func write(
        _ side: (MergeRow) -> ItemSide?, by other: ConflictTests.Other, _ engine: SyncEngine
    ) async throws -> Bool {
        var isWritten = false
        for row in rows {
            guard let side = side(row) else { continue }
            isWritten = true
            switch (other, side) {
            case (.device, _): try await write(row, side, engine)
            case (.stranger, .item(let draft)):
                let payload = try real(draft, row).encode(using: EntryDecoder())
                account.put(payload, for: id(row))
            case (.stranger, _): account.remove(id(row))
            }
        }
        return isWritten
    }

    func write(_ row: MergeRow, _ side: ItemSide, _ engine: SyncEngine) async throws {
        guard let draft = side.draft else {
            // Where it was never known it is added first, and removed again.
            if try await engine.draft(id(row)) == nil, row.base == .absent {
                try await engine.write(id(row)) { $0.title = "for a moment" }
            }
            if try await engine.draft(id(row)) != nil { try await engine.remove(id(row)) }
            return
        }
        let made = real(draft, row)
        try await engine.write(id(row)) { $0 = made }
    }

    // MARK: Looking

    /// A device shows what the table says.
    func expectShown(_ engine: SyncEngine, isOther: Bool) async throws {
        for row in rows {
            let shown = try await engine.draft(id(row)).map(Face.init)
            let wanted = row.shown.draft.map { Face(real($0, row)) }
            // The other one may lack an address that only the one who kept it knows.
            if isOther, row.needsStranger, !row.isUnsent { continue }
            #expect(shown == wanted, "\(row.testDescription)")
        }
        var copies: [Face] = []
        for summary in try await engine.items(limit: 1_000) where !ids.contains(summary.id) {
            copies.append(Face(try #require(try await engine.draft(summary.id))))
        }
        let wanted = rows.compactMap { row in row.copy.map { Face(real($0, row)) } }
        #expect(Set(copies) == Set(wanted))
        #expect(copies.count == wanted.count)
    }

    /// The server has what was shown, and every blob of it opens.
    func expectServed(_ home: TestHome) throws {
        let served = try ServerSide(home)
        for row in rows where !row.needsStranger {
            let wanted = row.shown.draft.map { Face(real($0, row)) }
            #expect(served.items[id(row)].map(Face.init) == wanted, "\(row.testDescription)")
        }
        served.expectWhole(exactly: false)
    }

    // MARK: Addresses

    /// A draft of the table with addresses that open, and a title of the row's own.
    private func real(_ draft: ItemDraft, _ row: MergeRow) -> ItemDraft {
        let number = number(row)
        var made = draft
        made.title = "\(number) \(draft.title)"
        for index in draft.attachments.indices {
            let key = AttachmentKey(item: id(row), id: draft.attachments[index].id)
            func real(_ ref: ItemDraft.Ref, _ role: BlobRole, _ size: UInt64) -> ItemDraft.Ref {
                guard let address = ref.address else { return ref }
                return self.real(address, number, key, role, size)
            }
            let attachment = draft.attachments[index]
            made.attachments[index].ref = real(attachment.ref, .original, attachment.size)
            if let thumb = attachment.thumb {
                made.attachments[index].thumb?.ref = real(thumb.ref, .thumbnail, thumb.size)
            }
        }
        return made
    }

    private func real(
        _ fake: CloudBlobRef, _ number: Int, _ key: AttachmentKey, _ role: BlobRole, _ size: UInt64
    ) -> ItemDraft.Ref {
        let record = "\(number)-\(fake.recordName)-\(role == .original ? "o" : "t")"
        let wrap = fake.packed[CloudBlobRef.wrappedKeyRange.lowerBound]
        let name = "\(record) \(key) \(wrap)"
        if refs[name] == nil {
            if let (from, role) = keys[record], let first = refs[record] {
                refs[name] = account.rewrap(first, from: from, to: key, as: role)
            } else {
                let content = TestFile.bytes(Int(size), record)
                let ref = account.upload(
                    content, key.item, key.id, role, named: known(RecordName(record)))
                account.served?.putBlob(record, known(account.blobs[record]))
                account.newBlobs.remove(record)
                keys[record] = (key, role)
                refs[record] = ref
                refs[name] = ref
            }
        }
        guard case .text(let text)? = refs[name] else { preconditionFailure("no address") }
        return .address(known(CloudBlobRef(text)))
    }
}

/// What there is of an item for a person, and which records it names.
private struct Face: Hashable, CustomStringConvertible {
    private let title: String
    private let words: [String?]
    private let files: [String]

    init(_ draft: ItemDraft) {
        title = draft.title
        words = [draft.text, draft.created, draft.modified]
        files = draft.attachments.map { file in
            let thumb = file.thumb?.ref.address?.recordName ?? "-"
            let record = file.ref.address?.recordName ?? "\(file.ref)"
            return "\(file.id) \(file.name.prefix(40)) \(file.type) \(file.size) \(record) \(thumb)"
        }
    }

    var description: String {
        "\(title.prefix(60)) \(words.map { $0?.prefix(20) ?? "-" }) \(files.prefix(4))"
    }
}

extension SyncEngine {
    /// An item as it is shown, with its addresses; nil if there is none.
    func draft(_ id: LazySync.EntryID) async throws -> ItemDraft? {
        try await catalog.read("look at an item") { connection in
            guard let row = try EntryStatements(connection).row(id)?.row else { return nil }
            return try connection.draft(row: row)?.draft
        }
    }
}
