import Foundation
import SyncPlatform
import Testing

@testable import LazySync

/// A catalog in a fresh folder, without a server: entries are read from pages made here.
final class TestCatalog {
    let folder: URL
    let places: AccountPlaces
    let account: TestAccount
    let catalog: Catalog
    private let reader: EntryReader

    init(_ account: TestAccount) throws {
        self.account = account
        folder = try freshFolder()
        places = AccountPlaces(
            data: folder.path + "/data", cache: folder.path + "/cache",
            keyFile: folder.path + "/key")
        try Directory.make(places.locks)
        catalog = try Catalog.open(places, create: account.id, isExclusive: true)
        reader = EntryReader(account: account.id, keys: account.keys)
    }

    deinit { removeFolder(folder) }

    /// A connection for looking.
    func connection() throws -> Connection {
        try Connection(path: places.catalog, mode: .readWrite, checkpointsOnClose: false)
    }

    /// The entries of a page in the shape that the catalog stores.
    func batch(_ entries: [TestAccount.Entry]) throws -> EntryBatch {
        try reader.read(account.page(entries, head: nil), after: nil).batch
    }

    /// Stores entries as one page.
    func apply(_ entries: [TestAccount.Entry]) async throws {
        try await catalog.apply([batch(entries)], next: ManifestPlace(after: 0))
    }

    /// Stores everything that the account's server would hold.
    func apply() async throws {
        try await apply(Array(account.entries.values))
    }

    /// Has a head verified that fits what is here.
    func verify(seq: UInt64) async throws -> RunResult {
        let check = try CatalogCheck(connection()).recountDigest()
        let head = account.forgedHead(
            seq: seq, previous: try await catalog.cursor().verified?.hash,
            count: UInt64(check.count), digest: check.digest)
        return try await catalog.finishRun(head, account: account.id, keys: account.keys)
    }
}

/// A new folder that only its owner can read.
func freshFolder() throws -> URL {
    let folder = testsFolder.appending(path: "lazysync-\(UUID().uuidString)")
    try Directory.make(folder.path)
    return folder
}
