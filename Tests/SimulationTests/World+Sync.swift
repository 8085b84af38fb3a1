import Foundation
import SyncPlatform
@testable import TestSupport

@testable import LazySync
@testable import MockServer

/// What devices do with the server, and what happens to it.
extension World {
    @discardableResult
    func push(_ device: SimDevice) async throws -> PushReport? {
        let report = Locked<PushReport?>(nil)
        let outcome = try await act(device, "push") { engine throws(SyncError) in
            let pushed = try await engine.push()
            report.withLock { $0 = pushed }
        }
        try await decide(device, outcome)
        let pushed = report.withLock { $0 }
        if let pushed {
            note(
                "    sent \(pushed.items) items and \(pushed.blobs) blobs, \(pushed.waiting) wait, at \(pushed.head)"
            )
        }
        return pushed
    }

    @discardableResult
    func restore(_ device: SimDevice) async throws -> RestoreReport? {
        let report = Locked<RestoreReport?>(nil)
        let outcome = try await act(device, "restore") { engine throws(SyncError) in
            let restored = try await engine.restore()
            report.withLock { $0 = restored }
        }
        try await decide(device, outcome)
        return report.withLock { $0 }
    }

    /// A person is asked whether so many removals are meant.
    private func decide(_ device: SimDevice, _ outcome: Outcome) async throws {
        guard case .failed(let error) = outcome, error.code == .tooManyDeletions else { return }
        let keeps = draws.chance(50)
        _ = try await act(device, keeps ? "keep what is to go" : "let it go") {
            engine throws(SyncError) in
            _ = keeps ? try await engine.keepDeleted() : try await engine.carryOutDeletions()
        }
    }

    func open(_ device: SimDevice) async throws {
        guard let (id, item) = try await anItem(device), let file = draws.one(of: item.files)
        else { return }
        let key = AttachmentKey(item: id, id: file.id)
        let state = try await device.engine.item(id).attachments.first { $0.key == key }?.state
        let opened = Locked<MaterializedFile?>(nil)
        let outcome = try await act(device, "open '\(file.name)'") { engine throws(SyncError) in
            let file = try await engine.materialize(key)
            opened.withLock { $0 = file }
        }
        if case .failed(let error) = outcome, error.code == .noSuchID {
            // It was gone at the store, and what was pulled then says that it was removed.
            let now = try await device.item(id)
            return try require(
                now?.files.contains(file) != true, "'\(file.name)' is shown and is not there")
        }
        if case .failed(let error) = outcome, error.code == .unavailable(.notFound) {
            // Brought back after its bytes had gone everywhere, and not sent.
            try require(
                words.wasTaken(.file(file.id)), "'\(file.name)' is not there: \(error)")
        }
        if case .failed(let error) = outcome, state == .here {
            throw Failure("'\(file.name)' is here and does not open: \(error)")
        }
        if let opened = opened.withLock({ $0 }) { try check(opened, file) }
    }

    /// Every byte that is handed out is right.
    func check(_ opened: MaterializedFile, _ file: ItemFacts.File) throws {
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: opened.path)))
        guard let hash = contents[file.id] else { throw Failure("'\(file.name)' is nobody's") }
        try require(Self.hash(bytes) == hash, "'\(file.name)' has other bytes")
    }

    func evict(_ device: SimDevice) async throws {
        guard let (id, item) = try await anItem(device), let file = draws.one(of: item.files)
        else { return }
        _ = try await act(device, "evict '\(file.name)'") { engine throws(SyncError) in
            _ = try await engine.evict(AttachmentKey(item: id, id: file.id))
        }
    }

    func passTime(_ seconds: Int) {
        note("\(seconds) seconds pass")
        for device in devices { device.clock.advance(by: Int64(seconds)) }
        serverClock.advance(by: Double(seconds))
    }

    /// Another client sweeps what no entry names and no trash that it can know of.
    ///
    /// Only after the days that a client has to wait: no request is on its way for so long.
    func sweep() throws {
        late.removeAll()
        passTime(Int(TidyPass.unnamedSeconds) + 86_400)
        let view = try ServerView(served, account)
        var kept = view.named
        for device in devices { kept.formUnion(try device.trashed) }
        let unnamed = served.read { $0.blobs.names() }.filter { !kept.contains($0) }
        for name in unnamed { served.deleteBlob(name) }
        note("\(unnamed.count) blobs were swept")
    }
}
