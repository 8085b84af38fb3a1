import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import TestSupport

/// A9: a restore costs what changed.
@Suite struct ScaleTests {
    private static let items = 7_000
    private static let attachments = 3

    /// An account of 21,000 attachments whose blobs do not exist: addresses are all that is read.
    private static func account() -> (TestAccount, [TestItem]) {
        let account = TestAccount()
        let key = account.random.bytes(32)
        let nonce = account.random.bytes(24)
        var made: [TestItem] = []
        made.reserveCapacity(items)
        for number in 0..<items {
            var item = TestItem(
                id: LazySync.EntryID(random: account.random), title: "item \(number)")
            for file in 0..<attachments {
                let id = AttachmentID(random: account.random)
                let name = RecordName(random: account.random)
                item.attachments.append(
                    TestItem.Attachment(
                        id: id, name: "\(file).bin", type: "application/octet-stream", size: 1_000,
                        ref: account.wrap(key, nonce, name, item.id, id, .original)))
            }
            account.write(item)
            made.append(item)
        }
        account.push()
        return (account, made)
    }

    @Test(.timeLimit(.minutes(5)))
    func `a second restore costs what changed`() async throws {
        let (account, items) = Self.account()
        try await withHome(account) { home in
            let engine = try await home.login()
            let first = try await engine.restore()
            #expect(first.isComplete && first.attachments == Self.items * Self.attachments)
            #expect(home.manifestRequests.count == 4)

            for item in items.prefix(500) { account.change(item.id) { $0.title += " again" } }
            account.push()
            let second = try await engine.restore()
            #expect(second.isComplete && second.attachments == first.attachments)
            #expect(home.manifestRequests.count == 5)
            #expect(second.bytes < first.bytes / 10)
            #expect(try await engine.item(items[499].id).title.hasSuffix("again"))

            let third = try await engine.restore()
            #expect(home.manifestRequests.count == 6)
            #expect(third.isComplete && third.bytes < 1_000)
            #expect(home.blobRequests.isEmpty)
        }
    }
}
