import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Two devices of one account, logged in at one server.
final class TwoDevices {
    let home: TestHome
    let beside: TestHome
    let one: SyncEngine
    let two: SyncEngine

    init(_ home: TestHome) async throws {
        self.home = home
        home.addsFiles = true
        beside = try TestHome(beside: home)
        beside.addsFiles = true
        beside.configuration.random = SeededRandom(seed: 8)
        one = try await home.login()
        two = try await beside.login()
    }

    /// Brings both up to date with what the server has.
    func restore() async throws {
        _ = try await one.restore()
        _ = try await two.restore()
    }

    /// After everybody has pulled and pushed twice both show the same, and nothing waits.
    @discardableResult
    func settle(_ location: SourceLocation = #_sourceLocation) async throws -> Shown {
        for _ in 0..<2 {
            for engine in [one, two] { _ = try await engine.push() }
        }
        try await restore()
        let shown = try await Shown(one)
        #expect(try await Shown(two) == shown, sourceLocation: location)
        for engine in [one, two] {
            let status = try await engine.status()
            #expect(status.outbox == 0 && status.verified, sourceLocation: location)
        }
        #expect(try home.packs.isEmpty && beside.packs.isEmpty, sourceLocation: location)
        return shown
    }
}

/// Runs a test on two devices, and checks at the end what must always hold.
func withTwo(
    _ account: TestAccount = TestAccount(), options: ServerOptions = .init(),
    location: SourceLocation = #_sourceLocation, _ body: (TwoDevices) async throws -> Void
) async throws {
    try await withHome(account, options: options, location: location) { home in
        let devices = try await TwoDevices(home)
        try await body(devices)
        try await devices.beside.checkQueues(location)
        try devices.beside.check(location)
    }
}

extension SyncEngine {
    /// Adds a note, and answers its item.
    func note(_ title: String, _ text: String? = nil) async throws -> LazySync.EntryID {
        try #require(try await add(title: title, text: text).items.first)
    }

    /// Adds a file as an item of its own.
    func add(_ path: String) async throws -> AttachmentKey {
        try #require(try await add(files: [path]).attachments.first)
    }

    /// The bytes of an attachment, as a person opens them.
    func bytes(_ key: AttachmentKey) async throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: try await materialize(key).path)))
    }

    /// Writes an item as another program might: anything that the format allows.
    func write(
        _ id: LazySync.EntryID, _ edit: @escaping @Sendable (inout ItemDraft) -> Void
    ) async throws {
        try await change("write \(id)") { store in
            try store.change(id) { before in
                var draft = before ?? ItemDraft(title: "")
                edit(&draft)
                return draft
            }
        }
    }
}
