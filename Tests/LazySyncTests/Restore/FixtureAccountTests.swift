import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import TestSupport

/// Accounts that another implementation wrote come whole, from the passphrase to the files.
@Suite struct FixtureAccountTests {
    /// What a right client must show.
    struct Plain: Decodable {
        struct Item: Decodable {
            let id, title: String
            let text: String?
            let attachments: [Attachment]
        }
        struct Attachment: Decodable {
            let id, name, type: String
            let size: Int64
            let sha256, thumbSha256, expect, expectThumb: String?
        }
        struct Counts: Decodable {
            let items, attachments, addressesComplete, addressesMissing, unreadable: Int
        }
        let recoveryKey: String
        let items: [Item]
        let tombstones: [String]?
        let unreadable: [String]?
        let counts: Counts?
    }

    private static func plain(_ name: String) throws -> Plain {
        let file = Fixtures.folder.appending(path: "accounts/\(name)/plain.json")
        return try JSONDecoder().decode(Plain.self, from: Data(contentsOf: file))
    }

    @Test(arguments: ["small", "edges"])
    func `an account that the reference made opens to the sums that it names`(
        name: String
    ) async throws {
        let plain = try Self.plain(name)
        let home = try TestHome(fixture: name)
        let engine = try await home.login()
        let report = try await engine.restore()
        #expect(report.verified)
        #expect(report.items == plain.items.count)
        #expect(Set(report.unreadable.map(\.description)) == Set(plain.unreadable ?? []))
        if let counts = plain.counts {
            #expect(report.attachments == counts.attachments)
            #expect(report.addressesComplete == counts.addressesComplete)
            #expect(report.addressesMissing == counts.addressesMissing)
            #expect(!report.isComplete)
        } else {
            #expect(report.isComplete)
        }
        for expected in plain.items {
            let item = try await engine.item(try #require(EntryID(expected.id)))
            #expect(item.title == expected.title && item.text == expected.text)
            let shown = expected.attachments.filter { $0.expect != "leftOut" }
            #expect(item.attachments.map(\.name) == shown.map(\.name))
            for (attachment, expected) in zip(item.attachments, shown) {
                try await Self.expect(engine, attachment, expected)
            }
        }
        for tombstone in plain.tombstones ?? [] {
            let id = try #require(EntryID(tombstone))
            await #expect(throws: SyncError.self) { try await engine.item(id) }
        }
        try home.check()
    }

    private static func expect(
        _ engine: SyncEngine, _ attachment: LazySync.Attachment, _ expected: Plain.Attachment
    ) async throws {
        let place = Comment("\(expected.name)")
        #expect("\(attachment.key.id)" == expected.id, place)
        #expect(attachment.type == expected.type && attachment.size == expected.size, place)
        do {
            let file = try await engine.materialize(attachment.key)
            #expect(expected.expect ?? "here" == "here", place)
            #expect(try sha256(ofFile: file.path) == expected.sha256, place)
        } catch let error as SyncError {
            let reason = expected.expect.flatMap(UnavailableReason.init(rawValue:))
            #expect(error.code == reason.map { .unavailable($0) }, place)
        }
        guard expected.thumbSha256 != nil || expected.expectThumb != nil else { return }
        do {
            let file = try await engine.thumbnail(attachment.key)
            #expect(expected.expectThumb ?? "here" == "here", place)
            #expect(try sha256(ofFile: file.path) == expected.thumbSha256, place)
        } catch let error as SyncError {
            let reason = expected.expectThumb.flatMap(UnavailableReason.init(rawValue:))
            #expect(error.code == reason.map { .unavailable($0) }, place)
        }
    }

    @Test(arguments: ["small", "edges"])
    func `the recovery key opens the same account`(name: String) async throws {
        let home = try TestHome(fixture: name)
        var request = home.loginRequest
        request.secret = .recoveryKey(Array(try Self.plain(name).recoveryKey.utf8))
        let engine = try await SyncEngine.login(request, home.configuration)
        let report = try await engine.restore(thumbnails: false)
        #expect(report.verified)
        try home.check()
    }
}
