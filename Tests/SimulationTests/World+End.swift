import SyncPlatform
@testable import TestSupport

@testable import LazySync
@testable import MockServer

/// The end: everybody has a connection, the store has room, and all sync until nothing changes.
extension World {
    /// In the first round each sends what it has, in the second each gets what the others sent; and
    /// what was merged in the second may be sent in a third.
    private static let mostRounds = 5

    func end() async throws {
        note("the end")
        hasLost = character.loses
        character = Character.calm
        full = 0
        for request in late { deliver(request) }
        late = []
        for device in devices { device.offline = 0 }
        try await settle()
        try look()
        let view = try ServerView(served, account)
        try look(at: view)
        let shown = try await devices[0].shown
        for device in devices {
            let other = try await device.shown
            try require(
                other == shown,
                "device \(device.number) shows something else:\n\(Self.difference(shown, other))")
            try checkCatalog(device, view)
            try await openAll(device, shown)
        }
        try checkWords(shown)
        try checkStore(view)
    }

    private func settle() async throws {
        var before: [[LazySync.EntryID: ItemFacts]] = []
        for _ in 0..<Self.mostRounds {
            var sent = 0
            for device in devices {
                guard let report = try await push(device) else {
                    // A person was asked, and the next round goes on.
                    sent += 1
                    continue
                }
                sent += report.items
                if !report.refused.isEmpty {
                    try await giveUp(device, report.refused)
                    sent += 1
                    continue
                }
                try require(report.isComplete, "\(report.waiting) wait and were not sent")
                if try await restore(device) == nil { sent += 1 }
            }
            var after: [[LazySync.EntryID: ItemFacts]] = []
            for device in devices { after.append(try await device.shown) }
            if sent == 0, after == before { return }
            before = after
        }
        throw Failure("they do not come to an end")
    }

    /// What was brought back after its bytes had gone everywhere waits, until a person lets it go.
    private func giveUp(_ device: SimDevice, _ refused: [PushReport.Refused]) async throws {
        for one in refused {
            try require(
                one.reason == .notFound && words.wasTaken(.file(one.key.id)), "refused: \(one)")
            guard let item = try await device.shown[one.key.item],
                let file = item.files.first(where: { $0.id == one.key.id })
            else { continue }
            try await remove(file, of: one.key.item, item, device)
        }
    }

    private func checkCatalog(_ device: SimDevice, _ view: ServerView) throws {
        let catalog = try device.catalog()
        let problems = try catalog.transaction(.deferred) { () throws -> [String] in
            let check = CatalogCheck(catalog)
            var problems = try check.problems()
            let (digest, count) = try check.recountDigest()
            if digest != view.digest || count != view.count {
                problems.append("\(count) entries that are not the server's \(view.count)")
            }
            if try catalog.cursor().verified != view.head { problems.append("another head") }
            // What was removed before it was sent has its bytes nowhere else.
            let lists = [
                "outbox", "staged",
                "spool WHERE NOT EXISTS (SELECT 1 FROM trash_record t WHERE t.record = spool.record)",
            ]
            for list in lists {
                let rows = try catalog.firstInt("SELECT count(*) FROM \(list)")
                if rows != 0 { problems.append("\(rows) rows in \(list)") }
            }
            if try catalog.pushingHead() != nil { problems.append("an unfinished push") }
            return problems
        }
        try require(problems.isEmpty, "in the catalog of device \(device.number): \(problems)")
        let named = try device.strings("SELECT DISTINCT pack FROM spool")
        let packs = Set(try device.packs)
        try require(
            packs == named, "in the spool of device \(device.number): \(packs), not \(named)")
    }

    private func openAll(
        _ device: SimDevice, _ shown: [LazySync.EntryID: ItemFacts]
    ) async throws {
        for (id, item) in shown.sorted(by: { $0.key < $1.key }) {
            for file in item.files {
                let key = AttachmentKey(item: id, id: file.id)
                let opened: MaterializedFile
                do throws(SyncError) {
                    opened = try await device.engine.materialize(key)
                } catch {
                    // Removed by somebody, 30 days before another one who had no connection came.
                    if error.code == .unavailable(.notFound), !deleted.isEmpty,
                        words.isTaken(.file(file.id))
                    {
                        continue
                    }
                    throw Failure(
                        "device \(device.number) cannot open '\(file.name)' of '\(item.title)': \(error)"
                    )
                }
                try check(opened, file)
            }
        }
        let report = try await device.engine.verify()
        try require(report.isRight, "device \(device.number): \(report.problems)")
    }

    private func checkWords(_ shown: [LazySync.EntryID: ItemFacts]) throws {
        var all: Set<Words.Word> = []
        for item in shown.values {
            all.formUnion(Words.shown(item))
            try require(!item.title.contains("copy) ("), "a copy of a copy: '\(item.title)'")
        }
        let lost = words.due.subtracting(all)
        try require(lost.isEmpty, "lost: \(lost.map(\.description).sorted())")
        let strange = all.filter { !words.isKnown($0) }
        try require(strange.isEmpty, "nobody's: \(strange.map(\.description).sorted())")
    }

    /// Without faults the store has nothing that is neither named nor in a trash.
    private func checkStore(_ view: ServerView) throws {
        guard Character(seed: seed).isTidy else { return }
        var known = view.named
        for device in devices { known.formUnion(try device.trashed) }
        let orphans = served.read { $0.blobs.names() }.filter { !known.contains($0) }
        try require(orphans.isEmpty, "\(orphans.count) blobs at the store that nobody names")
    }

    private static func difference(
        _ one: [LazySync.EntryID: ItemFacts], _ other: [LazySync.EntryID: ItemFacts]
    ) -> String {
        Set(one.keys).union(other.keys).sorted().filter { one[$0] != other[$0] }.map { id in
            "\(id): \(String(describing: one[id])) / \(String(describing: other[id]))"
        }.joined(separator: "\n")
    }
}
