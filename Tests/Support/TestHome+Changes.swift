import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer

/// Devices that change things.
extension TestHome {
    /// A file with these bytes, in a folder of this device's own.
    func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        let folder = folder.appending(path: "files")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let url = folder.appending(path: name)
        try Data(bytes).write(to: url)
        return url.path
    }

    /// Bytes that follow from a seed.
    static func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        SeededRandom(seed: seed).bytes(count)
    }

    /// The files in the spool.
    var packs: [String] {
        get throws {
            let folder = try accountPlaces.data + "/spool"
            return try FileSystem.facts(folder) == nil ? [] : Directory.list(folder)
        }
    }

    /// The server's side of the account.
    var served: ServedAccount { known(server.account(accountName)) }
}

/// What a device shows, for comparing two of them.
struct Shown: Equatable, CustomStringConvertible {
    struct Item: Equatable {
        let title: String
        let text: String?
        let attachments: [String]
    }

    let items: [LazySync.EntryID: Item]

    init(_ engine: SyncEngine) async throws {
        var items: [LazySync.EntryID: Item] = [:]
        for summary in try await engine.items(limit: 100_000) {
            let item = try await engine.item(summary.id)
            items[item.id] = Item(
                title: item.title, text: item.text,
                attachments: item.attachments.map { "\($0.key.id) \($0.name) \($0.size)" })
        }
        self.items = items
    }

    var titles: [String] { items.values.map(\.title).sorted() }

    var description: String {
        items.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: "\n")
    }
}
