import Foundation
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// What an edit of an item does to the addresses, and so to the bytes, of its attachments.
@Suite struct AddressTests {
    /// An account with one item: a photo with a thumbnail, and a text.
    private static func account() -> (TestAccount, TestItem) {
        let account = TestAccount()
        let item = account.add("Before", .photo("photo.jpg"), TestFile("note.txt", "hello"))
        account.push()
        return (account, item)
    }

    private static func bytes(_ file: MaterializedFile) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: file.path)))
    }

    // MARK: A1

    @Test func `an edit without a ref keeps the address, and opening works`() async throws {
        let (account, item) = Self.account()
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore()
            let content = try #require(account.content(item.key(1)))
            account.change(item.id) {
                $0.title = "After"
                $0.attachments[0].ref = .absent
                $0.attachments[0].thumb?.ref = .absent
                $0.attachments[1].ref = .absent
            }
            account.push()
            let report = try await engine.restore()
            #expect(report.isComplete && report.addressesComplete == 2)
            #expect(report.thumbnailsHere == 1)
            #expect(try await engine.item(item.id).title == "After")
            #expect(try Self.bytes(await engine.materialize(item.key(1))) == content)
        }
    }

    @Test func `an edit with a ref cut in two keeps the address, and is told`() async throws {
        let (account, item) = Self.account()
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore()
            let content = try #require(account.content(item.key(1)))
            account.change(item.id) {
                $0.title = "After"
                guard case .text(let ref) = $0.attachments[1].ref else { return }
                $0.attachments[1].ref = .text(String(ref.prefix(ref.count / 2)))
            }
            account.push()
            let report = try await engine.restore()
            #expect(!report.isComplete && report.verified)
            #expect(report.addressesComplete == 1 && report.addressesMissing == 1)
            #expect(try await engine.item(item.id).title == "After")
            #expect(try await engine.item(item.id).attachments[1].state == .remote)
            #expect(try Self.bytes(await engine.materialize(item.key(1))) == content)
            // The next edit brings a whole one, and nothing is missing any more.
            account.change(item.id) { $0.attachments[1].ref = item.attachments[1].ref }
            account.push()
            #expect(try await engine.restore().isComplete)
        }
    }

    @Test func `a ref of null takes the address away`() async throws {
        let (account, item) = Self.account()
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore()
            _ = try await engine.materialize(item.key(1))
            account.change(item.id) { $0.attachments[1].ref = .null }
            account.push()
            let report = try await engine.restore()
            // Neither complete nor missing: somebody wanted it so.
            #expect(report.isComplete && report.addressesComplete == 1)
            let attachment = try await engine.item(item.id).attachments[1]
            #expect(attachment.state == .unavailable(.addressMissing))
            let failure = await #expect(throws: SyncError.self) {
                try await engine.materialize(item.key(1))
            }
            #expect(failure?.code == .unavailable(.addressMissing))
        }
    }

    @Test(arguments: [TestItem.Ref.absent, .text("cb1.cut")])
    func `an address is not kept for another size`(ref: TestItem.Ref) async throws {
        let (account, item) = Self.account()
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore()
            account.change(item.id) {
                $0.attachments[1].ref = ref
                $0.attachments[1].size += 1
            }
            account.push()
            let report = try await engine.restore()
            #expect(report.addressesMissing == 1)
            let state = try await engine.item(item.id).attachments[1].state
            #expect(state == .unavailable(ref == .absent ? .addressMissing : .addressInvalid))
        }
    }

    // MARK: Bytes that stay and bytes that go

    @Test func `an edit of the words keeps the files that are here`() async throws {
        let (account, item) = Self.account()
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore()
            let file = try await engine.materialize(item.key(1))
            let requests = home.blobRequests.count
            account.change(item.id) { $0.title = "After" }
            account.push()
            #expect(try await engine.restore().isComplete)
            home.server.stop()
            let again = try await engine.materialize(item.key(1))
            #expect(again.path == file.path && again.requests == 0)
            #expect(try await engine.thumbnail(item.key(0)).bytesFetched == 0)
            #expect(home.blobRequests.count == requests)
        }
    }

    @Test func `a file that was replaced is remote, and the old bytes are gone`() async throws {
        let (account, item) = Self.account()
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore()
            let old = try await engine.materialize(item.key(0)).path
            let oldThumbnail = try await engine.thumbnail(item.key(0)).path
            account.change(item.id) {
                $0.attachments[0] = account.attach(
                    .photo("other.jpg"), to: item.id, id: item.attachments[0].id)
            }
            account.push()
            #expect(try await engine.restore().isComplete)
            #expect(try await engine.item(item.id).attachments[0].state == .remote)
            #expect(!FileManager.default.fileExists(atPath: old))
            #expect(!FileManager.default.fileExists(atPath: oldThumbnail))
            let status = try await engine.status()
            #expect(status.states["here"] == 0 && status.cache.originals == 0)
            let file = try await engine.materialize(item.key(0))
            #expect(try Self.bytes(file) == account.content(item.key(0)))
        }
    }

    @Test func `nothing of a removed item stays on the disk`() async throws {
        let (account, item) = Self.account()
        account.add("Another")
        account.push()
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore()
            _ = try await engine.materialize(item.key(0))
            _ = try await engine.materialize(item.key(1))
            account.remove(item.id)
            account.push()
            let report = try await engine.restore()
            #expect(report.items == 1 && report.attachments == 0)
            #expect(try await engine.status().cache.originals == 0)
            let cache = try home.accountPlaces.cache
            let files = FileManager.default.enumerator(
                at: URL(filePath: cache), includingPropertiesForKeys: [.isRegularFileKey])
            let names = ["CACHEDIR.TAG", AccountPlaces.marker]
            for case let file as URL in try #require(files) {
                let isFile = try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile
                #expect(isFile == false || names.contains(file.lastPathComponent), "\(file)")
            }
        }
    }

    @Test func `bytes that could not be removed are removed by the next run`() async throws {
        let (account, item) = Self.account()
        account.add("Another")
        account.push()
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore()
            let path = try await engine.materialize(item.key(1)).path
            account.remove(item.id)
            account.push()
            do {
                let held = try TransferLocks(home.accountPlaces)
                    .tryLock(try #require(item.record(1)))
                #expect(held != nil)
                _ = try await engine.restore()
                #expect(FileManager.default.fileExists(atPath: path))
                withExtendedLifetime(held) {}
            }
            _ = try await home.open().restore()
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    // MARK: A5

    @Test func `a thumbnail and its original each open under their own key`() async throws {
        let (account, item) = Self.account()
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore()
            let original = try Self.bytes(await engine.materialize(item.key(0)))
            let thumbnail = try Self.bytes(await engine.thumbnail(item.key(0)))
            #expect(original == account.contents[try #require(item.record(0))])
            #expect(thumbnail == account.contents[try #require(item.thumbRecord(0))])
            #expect(original != thumbnail)
        }
    }

    @Test func `an original's ref is none for a thumbnail of the same size`() async throws {
        let account = TestAccount()
        let same = account.add(
            "Its own", TestFile("a.jpg", size: 400_000, type: "image/jpeg", thumb: 9))
        account.change(same.id) {
            let original = $0.attachments[0]
            $0.attachments[0].thumb?.ref = original.ref
            $0.attachments[0].thumb?.size = original.size
        }
        // One that nobody else in the item uses, so that only the key tells.
        let other = account.add(
            "Alone", TestFile("b.jpg", size: 900, type: "image/jpeg", thumb: 900))
        account.change(other.id) {
            let original = $0.attachments[0]
            $0.attachments[0].thumb?.ref = original.ref
            $0.attachments[0].ref = .absent
        }
        account.push()
        try await withHome(account) { home in
            let engine = try await home.login()
            let report = try await engine.restore()
            #expect(report.thumbnailsFailed == 2 && report.thumbnailsHere == 0)
            for item in [same, other] {
                let thumbnail = try await engine.item(item.id).attachments[0].thumbnail
                #expect(thumbnail == .unavailable(.addressInvalid))
            }
            #expect(
                try Self.bytes(await engine.materialize(same.key())) == account.content(same.key()))
            // Nobody asked the server for what could not be opened.
            #expect(home.blobRequests.count == 1)
        }
    }

    @Test func `another attachment's ref is none`() async throws {
        let (account, item) = Self.account()
        let thief = account.add("Copied without its key", TestFile("note.txt", "hello"))
        account.change(thief.id) { $0.attachments[0].ref = item.attachments[1].ref }
        account.push()
        try await withHome(account) { home in
            let engine = try await home.login()
            #expect(try await engine.restore().addressesMissing == 1)
            let state = try await engine.item(thief.id).attachments[0].state
            #expect(state == .unavailable(.addressInvalid))
        }
    }

    @Test func `a copy whose key was wrapped anew opens`() async throws {
        let account = TestAccount()
        let item = account.add("One", TestFile("note.txt", "hello"))
        let copy = account.add("Two", TestFile("note.txt", "hello"))
        account.change(copy.id) {
            $0.attachments[0].ref = account.rewrap(
                item.attachments[0].ref, from: item.key(), to: copy.key())
        }
        account.push()
        try await withHome(account) { home in
            let engine = try await home.login()
            #expect(try await engine.restore().isComplete)
            _ = try await engine.materialize(item.key())
            // The same record: the bytes that one brought are the other's too.
            #expect(try await engine.materialize(copy.key()).requests == 0)
        }
    }
}
