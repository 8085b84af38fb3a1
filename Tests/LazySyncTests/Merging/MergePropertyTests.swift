import Testing

@testable import LazySync
@testable import TestSupport

/// What holds for whatever three sides know.
@Suite struct MergePropertyTests {
    private struct Draw {
        var random: SeededGenerator
        let base: ItemSide
        let local: ItemSide
        let remote: ItemSide

        init(_ random: SeededGenerator) {
            self.random = random
            base = self.random.side(of: nil)
            local = self.random.side(of: base.draft)
            remote = self.random.side(of: base.draft)
        }

        var plan: MergePlan { MergePlan(base: base, local: local, remote: remote) }
    }

    /// Runs a check of many draws; what it says when one fails is enough to draw it again.
    private func check(
        _ seed: UInt64, at line: SourceLocation = #_sourceLocation,
        _ holds: (Draw, MergePlan) -> Bool
    ) {
        var random = SeededGenerator(seed: seed)
        for number in 0..<1_000 {
            let draw = Draw(random)
            random = draw.random
            guard holds(draw, draw.plan) else {
                let plan = draw.plan
                Issue.record(
                    """
                    seed \(seed), draw \(number)
                    base \(draw.base.summary)
                    here \(draw.local.summary)
                    there \(draw.remote.summary)
                    shown \(plan.shown.summary)
                    copy \(plan.copy.map { ItemSide.item($0).summary } ?? "none")
                    """, sourceLocation: line)
                return
            }
        }
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `no word is lost, and none is invented`(seed: UInt64) {
        check(seed) { draw, plan in
            let local = draw.local.words(with: draw.base)
            let remote = draw.remote.words(with: draw.base)
            let written = local.union(remote).subtracting(draw.base.words)
            let words = plan.words
            return words.isSuperset(of: written.union(local.intersection(remote)))
                && words.isSubset(of: local.union(remote))
        }
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `what was planned stays when it is planned again`(seed: UInt64) {
        check(seed) { draw, plan in
            let bare = MergePlan(base: draw.remote, local: plan.shown, remote: draw.remote)
            let again = MergePlan(base: plan.newBase, local: plan.shown, remote: draw.remote)
            return again.shown == plan.shown && again.copy == nil
                && again.isUnsent == plan.isUnsent && again.newBase == plan.newBase
                && bare.shown == plan.shown && bare.copy == nil
        }
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `who comes first makes no difference to the words that were written`(seed: UInt64) {
        check(seed) { draw, plan in
            let swapped = MergePlan(base: draw.base, local: draw.remote, remote: draw.local)
            let old = draw.base.words
            return plan.words.subtracting(old) == swapped.words.subtracting(old)
        }
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `equal sides need no copy, and nothing is to be sent`(seed: UInt64) {
        check(seed) { draw, _ in
            let plan = MergePlan(base: draw.base, local: draw.local, remote: draw.local)
            return plan.copy == nil && !plan.isUnsent
                && plan.words == draw.local.words(with: draw.base)
        }
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `one side that changed nothing makes no copy`(seed: UInt64) {
        check(seed) { draw, _ in
            // What was at the server cannot never have been there.
            guard draw.base.draft != nil, draw.local != .absent, draw.remote != .absent else {
                return true
            }
            let behind = MergePlan(base: draw.base, local: draw.base, remote: draw.remote)
            let ahead = MergePlan(base: draw.base, local: draw.local, remote: draw.base)
            return behind.shown == draw.remote.completed(from: draw.base)
                && behind.copy == nil && !behind.isUnsent
                && ahead.shown.isSame(as: draw.local.completed(from: draw.base))
                && ahead.copy == nil && ahead.isUnsent == !ahead.shown.isSame(as: draw.base)
        }
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `what is only here names no record that the item has already`(seed: UInt64) {
        check(seed) { draw, plan in
            let theirs = draw.remote.draft?.attachmentsByID ?? [:]
            let files = plan.shown.draft?.attachments ?? []
            let new = files.filter { theirs[$0.id] == nil }.flatMap(\.recordNames)
            let old = files.filter { theirs[$0.id] != nil }.flatMap(\.recordNames)
            return Set(new).count == new.count && Set(new).isDisjoint(with: old)
        }
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `whatever is planned can be written`(seed: UInt64) {
        check(seed) { _, plan in
            [plan.shown.draft, plan.copy].allSatisfy { draft in
                guard let draft else { return true }
                return (try? draft.encode(using: EntryDecoder())) != nil
            }
        }
    }
}

extension ItemSide {
    /// The words of people and the files, each with its place in the item.
    var words: Set<String> { draft?.words ?? [] }

    fileprivate func isSame(as other: ItemSide) -> Bool {
        guard let draft, let other = other.draft else { return self == other }
        return draft.isSame(as: other)
    }

    fileprivate var summary: String {
        guard let draft else { return "\(self)" }
        let files = draft.attachments.map { file in
            let thumb = file.thumb.map { " thumb \($0.ref.record ?? "?")" } ?? ""
            return "\(file.id.description.suffix(1)) \(file.name) \(file.type) \(file.size) "
                + "\(file.ref.record ?? (file.ref == .null ? "null" : "?"))\(thumb)"
        }
        let texts = [draft.title, draft.text, draft.created, draft.modified].map { $0 ?? "-" }
        return "\(texts) \(files)"
    }

    fileprivate func words(with base: ItemSide) -> Set<String> { completed(from: base).words }

    fileprivate func completed(from base: ItemSide) -> ItemSide {
        draft.map { .item($0.completed(from: base.draft)) } ?? .removed
    }
}

extension MergePlan {
    var words: Set<String> { shown.words.union(copy?.words ?? []) }
}

extension ItemDraft {
    /// The title as somebody wrote it.
    var unmarkedTitle: String {
        guard title.hasSuffix(Self.copyMark) else { return title }
        let words = title.dropLast(Self.copyMark.count)
        return String(words.hasSuffix(" ") ? words.dropLast() : words)
    }

    var words: Set<String> {
        var words: Set<String> = []
        let title = unmarkedTitle
        if !title.isEmpty { words.insert("title \(title)") }
        if let text, !text.isEmpty { words.insert("text \(text)") }
        for file in attachments {
            words.insert("name \(file.id) \(file.name)")
            words.insert("type \(file.id) \(file.type)")
            if let record = file.ref.record { words.insert("file \(file.id) \(record)") }
        }
        return words
    }
}

extension SeededGenerator {
    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

    mutating func pick<Value>(_ values: [Value]) -> Value {
        known(values.randomElement(using: &self))
    }

    /// A side that comes from an item by a few changes, or from none.
    fileprivate mutating func side(of base: ItemDraft?) -> ItemSide {
        if chance(8) { return .removed }
        if chance(base == nil ? 15 : 3) { return .absent }
        var draft = base ?? ItemDraft(title: "a")
        for _ in 0..<Int.random(in: 0...(base == nil ? 10 : 5), using: &self) { change(&draft) }
        // As it is read: the second use of a record is no address.
        var seen: Set<String> = []
        for index in draft.attachments.indices {
            let file = draft.attachments[index]
            if let name = file.ref.record, !seen.insert(name).inserted {
                draft.attachments[index].ref = .absent
            }
            if let name = file.thumb?.ref.record, !seen.insert(name).inserted {
                draft.attachments[index].thumb?.ref = .absent
            }
        }
        return .item(draft)
    }

    private mutating func change(_ draft: inout ItemDraft) {
        switch Int.random(in: 0..<9, using: &self) {
        case 0: draft.title = pick(["a", "b", "c", "", "a (conflict copy)"])
        case 1: draft.text = pick([nil, "", "x", "y", "z"])
        case 2: draft.created = pick([nil, "1", "2"])
        case 3: draft.modified = pick([nil, "1", "2"])
        case 4, 5:
            let new = newFile()
            if draft.attachmentsByID[new.id] == nil {
                let place = Int.random(in: 0...draft.attachments.count, using: &self)
                draft.attachments.insert(new, at: place)
            }
        case 6:
            if let index = draft.attachments.indices.randomElement(using: &self) {
                draft.attachments.remove(at: index)
            }
        default:
            guard let index = draft.attachments.indices.randomElement(using: &self) else { return }
            var new = newFile()
            let old = draft.attachments[index]
            new.id = old.id
            if chance(50) { (new.size, new.ref, new.thumb) = (old.size, old.ref, old.thumb) }
            if chance(50) { (new.name, new.type) = (old.name, old.type) }
            if chance(10) { new.ref = .absent }
            draft.attachments[index] = new
        }
    }

    private mutating func newFile() -> ItemDraft.Attachment {
        let (id, letter) = (Int.random(in: 1...4, using: &self), pick(["A", "B", "C"]))
        // Rarely the record of another one.
        let record = "\(chance(90) ? id : 1)\(letter)"
        let thumb = chance(30) ? "t\(record)\(pick(["1", "2"]))" : nil
        var file = file(
            id, record, name: pick(["n", "m", "o"]), size: letter == "C" ? 2 : 1, thumb: thumb,
            wrap: pick([0, 1]))
        if chance(10) { file.type = pick(["u", "v"]) }
        if chance(10) { file.ref = pick([.absent, .null]) }
        return file
    }
}
