import Foundation
import SyncPlatform
@testable import TestSupport

@testable import LazySync
@testable import MockServer

/// One step: a person does something, a device talks to the server, or something happens to them.
extension World {
    private enum Kind: CaseIterable {
        case addItem, addFiles, addToItem, edit, remove, removeFile, untrash
        case push, restore, open, evict, evictAll, restart
        case goOffline, passTime, deliverLate, sweep, fill
    }

    func step() async throws {
        for device in devices where device.offline > 0 { device.offline -= 1 }
        if full > 0 { full -= 1 }
        guard let device = draws.one(of: devices) else { return }
        let kind: Kind = draws.weighted([
            (12, .addItem), (5, .addFiles), (6, .addToItem), (22, .edit), (4, .remove),
            (4, .removeFile), (3, .untrash), (18, .push), (14, .restore), (8, .open), (3, .evict),
            (1, .evictAll), (2, .restart), (4, .goOffline), (3, .passTime), (6, .deliverLate),
            (4, .sweep), (3, .fill),
        ])
        switch kind {
        case .addItem: try await addItem(device)
        case .addFiles: try await addFiles(device)
        case .addToItem: try await addToItem(device)
        case .edit: try await edit(device)
        case .remove: try await remove(device)
        case .removeFile: try await removeFile(device)
        case .untrash: try await untrash(device)
        case .push: try await push(device)
        case .restore: try await restore(device)
        case .open: try await open(device)
        case .evict: try await evict(device)
        case .evictAll:
            _ = try await act(device, "evict all") { engine throws(SyncError) in
                _ = try await engine.evictAll()
            }
        case .restart:
            note("device \(device.number): restart")
            try await device.restart()
        case .goOffline:
            device.offline = draws.number(2...15)
            note("device \(device.number): offline for \(device.offline) steps")
        case .passTime: passTime(draws.one(of: [60, 4_000, 86_400, 8 * 86_400, 40 * 86_400]) ?? 1)
        case .deliverLate:
            guard !late.isEmpty else { return }
            deliver(late.remove(at: draws.number(0...late.count - 1)))
        case .sweep: if character.sweeps { try sweep() }
        case .fill:
            guard character.fills else { return }
            full = draws.number(2...15)
            note("the store is full for \(full) steps")
        }
    }

    // MARK: Adding

    /// Files that are about to be added, by their names, which nobody else uses.
    private func newFiles(_ device: SimDevice, _ range: ClosedRange<Int>) throws -> [(
        String, [UInt8]
    )] {
        try (0..<draws.number(range)).map { _ in
            var size = draws.one(of: [0, 1, 100, 5_000, 65_535, 65_536, 65_537, 200_000]) ?? 0
            // Large enough to go in parts.
            if seed % 16 == 5, draws.chance(5) { size = 9 << 20 }
            let name = word("file") + (draws.chance(30) ? ".jpg" : ".bin")
            var bytes = Array(name.utf8)
            bytes = Array((bytes + Self.filler.prefix(max(0, size - bytes.count))).prefix(size))
            return (try device.file(name, bytes), bytes)
        }
    }

    private static let filler = SeededRandom(seed: 99).bytes(9 << 20)

    /// What a person put into files is what must open.
    private func noteContents(_ item: ItemFacts, _ files: [(String, [UInt8])]) throws {
        for (path, bytes) in files {
            let name = FileSealer.name(of: path)
            guard let file = item.files.first(where: { $0.name == name }) else {
                throw Failure("\(name) was added and is not in '\(item.title)'")
            }
            try require(file.size == bytes.count, "\(name) has \(file.size) bytes")
            contents[file.id] = Self.hash(bytes)
        }
        // Whatever becomes of the source.
        for (path, _) in files { try FileSystem.remove(path) }
    }

    private func addItem(_ device: SimDevice) async throws {
        let title = word("title")
        let text = draws.chance(60) ? word("text") : nil
        let files = try newFiles(device, 0...2)
        let paths = files.map(\.0)
        let before = try await device.ids
        let outcome = try await act(device, "add '\(title)' with \(files.count) files") {
            engine throws(SyncError) in
            _ = try await engine.add(title: title, text: text, files: paths)
        }
        let added = try await newItems(device, since: before, outcome, count: 1)
        for item in added {
            try require(
                item.title == title && item.text == text && item.files.count == files.count,
                "added '\(title)', shows \(item)")
            try noteContents(item, files)
            words.changed(nil, to: item, on: device.number)
        }
    }

    private func addFiles(_ device: SimDevice) async throws {
        let files = try newFiles(device, 1...3)
        let paths = files.map(\.0)
        let before = try await device.ids
        let outcome = try await act(device, "add \(files.count) files") {
            engine throws(SyncError) in
            _ = try await engine.add(files: paths)
        }
        let added = try await newItems(device, since: before, outcome, count: files.count)
        for item in added {
            try noteContents(item, files.filter { FileSealer.name(of: $0.0) == item.title })
            words.changed(nil, to: item, on: device.number)
        }
    }

    /// What is there that was not; all of it or nothing if the process was killed, else all.
    private func newItems(
        _ device: SimDevice, since before: [LazySync.EntryID], _ outcome: Outcome, count: Int
    ) async throws -> [ItemFacts] {
        let ids = Set(try await device.ids).subtracting(before)
        switch outcome {
        case .done: try require(ids.count == count, "added \(count), and shows \(ids.count)")
        case .killed: try require(ids.count == count || ids.isEmpty, "half of an add is there")
        case .failed(let error): throw Failure("an add failed: \(error)")
        }
        var items: [ItemFacts] = []
        for id in ids.sorted() { if let item = try await device.item(id) { items.append(item) } }
        return items
    }

    private func addToItem(_ device: SimDevice) async throws {
        guard let (id, before) = try await anItem(device) else { return }
        let files = try newFiles(device, 1...2)
        let paths = files.map(\.0)
        let outcome = try await act(device, "add \(files.count) files to '\(before.title)'") {
            engine throws(SyncError) in
            _ = try await engine.add(files: paths, to: id)
        }
        let after = try await changed(device, id, before, outcome) { after in
            after?.files.count == before.files.count + files.count
        }
        if let after, after != before { try noteContents(after, files) }
    }

    // MARK: Changing

    /// An item that a device shows.
    func anItem(_ device: SimDevice) async throws -> (LazySync.EntryID, ItemFacts)? {
        guard let id = draws.one(of: try await device.ids), let item = try await device.item(id)
        else { return nil }
        return (id, item)
    }

    /// Looks at what became of an item that a person changed, and notes it.
    private func changed(
        _ device: SimDevice, _ id: LazySync.EntryID, _ before: ItemFacts, _ outcome: Outcome,
        _ isRight: (ItemFacts?) -> Bool
    ) async throws -> ItemFacts? {
        let after = try await device.item(id)
        switch outcome {
        case .done: try require(isRight(after), "'\(before.title)' is \(String(describing: after))")
        case .killed:
            try require(isRight(after) || after == before, "half of a change of '\(before.title)'")
        case .failed(let error): throw Failure("a change failed: \(error)")
        }
        words.changed(before, to: after, on: device.number)
        return after
    }

    private func edit(_ device: SimDevice) async throws {
        guard let (id, before) = try await anItem(device) else { return }
        var edit = ItemEdit()
        var wanted = before
        let kind = draws.number(0...9)
        if kind < 6 {
            wanted.title = word("title")
            edit.title = wanted.title
        }
        if kind > 3 {
            wanted.text = draws.chance(20) ? nil : word("text")
            edit.text = wanted.text ?? ""
        }
        let made = edit
        let outcome = try await act(
            device, "edit '\(before.title)': \(made.title ?? "-") \(made.text ?? "-")"
        ) { engine throws(SyncError) in
            try await engine.edit(id, made)
        }
        _ = try await changed(device, id, before, outcome) { $0 == wanted }
    }

    private func remove(_ device: SimDevice) async throws {
        guard let (id, before) = try await anItem(device) else { return }
        let outcome = try await act(device, "remove '\(before.title)'") {
            engine throws(SyncError) in
            try await engine.remove(id)
        }
        _ = try await changed(device, id, before, outcome) { $0 == nil }
    }

    private func removeFile(_ device: SimDevice) async throws {
        guard let (id, before) = try await anItem(device), let file = draws.one(of: before.files)
        else { return }
        try await remove(file, of: id, before, device)
    }

    /// Takes a file out of an item.
    func remove(
        _ file: ItemFacts.File, of id: LazySync.EntryID, _ before: ItemFacts, _ device: SimDevice
    ) async throws {
        let key = AttachmentKey(item: id, id: file.id)
        var wanted = before
        wanted.files.removeAll { $0.id == file.id }
        let expected = wanted
        let outcome = try await act(device, "remove '\(file.name)' of '\(before.title)'") {
            engine throws(SyncError) in
            try await engine.remove(key)
        }
        _ = try await changed(device, id, before, outcome) { $0 == expected }
    }

    private func untrash(_ device: SimDevice) async throws {
        guard let trashed = draws.one(of: try await device.engine.trash()) else { return }
        let before = try await device.item(trashed.item)
        if trashed.attachment != nil, before == nil { return }
        let outcome = try await act(device, "bring back '\(trashed.title)'") {
            engine throws(SyncError) in
            try await engine.untrash(trashed.item, attachment: trashed.attachment)
        }
        let after = try await device.item(trashed.item)
        if case .failed(let error) = outcome { throw Failure("an untrash failed: \(error)") }
        if case .done = outcome { try require(after != nil, "'\(trashed.title)' is not back") }
        words.broughtBack(before, to: after, on: device.number)
    }
}
