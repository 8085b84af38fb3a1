import Testing

@testable import LazySync
@testable import TestSupport

/// Devices that change the same items and send what was merged, against a server in memory.
@Suite struct MergeConvergenceTests {
    @Test(arguments: 1...200 as ClosedRange<UInt64>)
    func `devices come to the same, and keep every word that nobody took away`(seed: UInt64) {
        var world = World(seed: seed)
        for _ in 0..<60 { world.step() }
        // In the first round each sends what it has; in the second each gets what the others sent.
        for _ in 0..<2 {
            for device in world.devices.indices {
                world.pull(device)
                world.push(device)
            }
        }
        let here = world.devices[0].shown
        for device in world.devices {
            #expect(device.items.values.allSatisfy { !$0.isUnsent }, "seed \(seed)")
            #expect(device.shown == here, "seed \(seed)")
        }
        #expect(world.server.compactMapValues(\.side.draft) == here, "seed \(seed)")
        let words = Set(here.values.flatMap(\.people))
        #expect(
            words.isSuperset(of: world.alive), "seed \(seed): \(world.alive.subtracting(words))")
        #expect(here.values.allSatisfy { !$0.title.contains("copy) (") }, "seed \(seed)")
    }
}

private struct World {
    struct Held {
        var base: ItemSide
        var side: ItemSide
        var isUnsent: Bool
    }

    struct Device {
        var cursor = 0
        var items: [Int: Held] = [:]
        var shown: [Int: ItemDraft] { items.compactMapValues(\.side.draft) }
    }

    var random: SeededGenerator
    var devices: [Device]
    var server: [Int: (seq: Int, side: ItemSide)] = [:]
    var seq = 0
    /// The words that somebody wrote and nobody who saw them took away.
    var alive: Set<String> = []
    private var count = 0

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        devices = Array(repeating: Device(), count: seed.isMultiple(of: 2) ? 2 : 3)
    }

    mutating func step() {
        let device = Int.random(in: devices.indices, using: &random)
        switch Int.random(in: 0..<10, using: &random) {
        case 0: add(device)
        case 1: pull(device)
        case 2: push(device)
        case 3: push(device, isAnswerLost: true)
        default: edit(device)
        }
    }

    mutating func pull(_ device: Int) {
        let new = server.filter { $0.value.seq > devices[device].cursor }
        for (id, entry) in new.sorted(by: { $0.key < $1.key }) {
            guard let held = devices[device].items[id], held.isUnsent else {
                devices[device].items[id] = Held(
                    base: entry.side, side: entry.side, isUnsent: false)
                continue
            }
            let plan = MergePlan(base: held.base, local: held.side, remote: entry.side)
            devices[device].items[id] = Held(
                base: plan.newBase, side: plan.shown, isUnsent: plan.isUnsent)
            guard let copy = plan.copy else { continue }
            count += 1
            devices[device].items[count] = Held(base: .absent, side: .item(copy), isUnsent: true)
        }
        devices[device].cursor = seq
    }

    /// Sends what is unsent, unless somebody else sent something meanwhile.
    mutating func push(_ device: Int, isAnswerLost: Bool = false) {
        guard devices[device].cursor == seq else { return }
        let unsent = devices[device].items.filter(\.value.isUnsent)
        guard !unsent.isEmpty else { return }
        seq += 1
        for (id, held) in unsent {
            server[id] = (seq, held.side)
            if !isAnswerLost {
                devices[device].items[id] = Held(
                    base: held.side, side: held.side, isUnsent: false)
            }
        }
        if !isAnswerLost { devices[device].cursor = seq }
    }

    private mutating func word() -> String {
        count += 1
        alive.insert("w\(count)")
        return "w\(count)"
    }

    private mutating func add(_ device: Int) {
        count += 1
        let id = count
        let new = ItemDraft(title: word(), text: word(), attachments: [newFile()])
        devices[device].items[id] = Held(base: .absent, side: .item(new), isUnsent: true)
    }

    private mutating func edit(_ device: Int) {
        let ids = devices[device].shown.keys.sorted()
        guard let id = ids.randomElement(using: &random), let old = devices[device].shown[id]
        else { return }
        let new = random.chance(10) ? nil : edited(old)
        alive.subtract(Set(old.people).subtracting(new?.people ?? []))
        guard var held = devices[device].items[id] else { return }
        if !held.isUnsent { held.base = held.side }
        held.side = new.map { .item($0) } ?? .removed
        held.isUnsent = true
        devices[device].items[id] = held
    }

    private mutating func edited(_ old: ItemDraft) -> ItemDraft {
        var draft = old
        draft.modified = String(count)
        let index = draft.attachments.indices.randomElement(using: &random)
        switch (Int.random(in: 0..<6, using: &random), index) {
        case (0, _): draft.title = word()
        case (1, _): draft.text = random.chance(20) ? nil : word()
        case (2, let index?): draft.attachments.remove(at: index)
        case (3, let index?): draft.attachments[index].name = word()
        case (4, let index?): draft.attachments[index].ref = .address(address(word()))
        default: draft.attachments.append(newFile())
        }
        return draft
    }

    private mutating func newFile() -> ItemDraft.Attachment {
        let (record, name) = (word(), word())
        return file(count, record, name: name)
    }
}

extension ItemDraft {
    /// The words as they were written, wherever they stand now.
    fileprivate var people: [String] {
        [unmarkedTitle] + [text].compactMap { $0 }
            + attachments.flatMap { [$0.name] + $0.recordNames }
    }
}
