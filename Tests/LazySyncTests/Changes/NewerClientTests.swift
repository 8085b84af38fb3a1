import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import TestSupport

/// Items of a program that knows more than this one, or writes what does not hold.
@Suite(.timeLimit(.minutes(5))) struct NewerClientTests {
    /// A payload with members of a newer program, around one attachment with a thumbnail.
    private static func payload(
        _ account: TestAccount, _ item: LazySync.EntryID, _ attachment: TestItem.Attachment,
        title: String, mood: String, ref: String? = nil
    ) throws -> [UInt8] {
        guard case .text(let own) = attachment.ref, case .text(let thumb)? = attachment.thumb?.ref
        else { throw CocoaError(.featureUnsupported) }
        let text = """
            {"title":"\(title)","mood":"\(mood)","attachments":[{"id":"\(attachment.id)",
            "name":"\(attachment.name)","type":"image/jpeg","size":\(attachment.size),
            "ref":"\(ref ?? own)","stars":[1,{"of":5}],"thumb":{"type":"image/jpeg",
            "size":\(attachment.thumb?.size ?? 0),"ref":"\(thumb)","blur":"LKO2"}}],
            "place":{"lat":38.7,"lon":-9.1}}
            """
        return Array(text.utf8)
    }

    private static func expectBeyond(_ payload: String?, mood: String) throws {
        let text = try #require(payload)
        for part in [
            #""mood":"\#(mood)""#, #""stars":[1,{"of":5}]"#, #""blur":"LKO2""#,
            #""place":{"lat":38.7,"lon":-9.1}"#,
        ] { #expect(text.contains(part), "\(part) in \(text)") }
    }

    @Test
    func `what a newer program wrote survives an edit, a merge and a removal that comes back`()
        async throws
    {
        let account = TestAccount()
        let id = LazySync.EntryID(random: account.random)
        let photo = account.attach(.photo("p.jpg"), to: id)
        account.put(
            try Self.payload(account, id, photo, title: "a", mood: "sunny"), for: id)
        account.push()
        try await withTwo(account) { devices in
            try await devices.restore()
            try await devices.one.edit(id, ItemEdit(text: "with words"))
            _ = try await devices.one.push()
            try Self.expectBeyond(ServerSide(devices.home).payloads[id], mood: "sunny")
            // Both edit; the second merges.
            _ = try await devices.two.restore()
            try await devices.one.edit(id, ItemEdit(title: "b"))
            try await devices.two.edit(id, ItemEdit(text: "other words"))
            _ = try await devices.one.push()
            _ = try await devices.two.push()
            let merged = try ServerSide(devices.home)
            try Self.expectBeyond(merged.payloads[id], mood: "sunny")
            #expect(merged.items[id]?.title == "b" && merged.items[id]?.text == "other words")
            // Out of the trash, before and after a push.
            _ = try await devices.one.restore()
            for isSent in [false, true] {
                try await devices.one.remove(id)
                if isSent { _ = try await devices.one.push() }
                try await devices.one.untrash(id)
                _ = try await devices.one.push()
                try Self.expectBeyond(ServerSide(devices.home).payloads[id], mood: "sunny")
            }
            try await devices.settle()
        }
    }

    @Test func `what is beyond an item comes from the server's version, not from the one before`()
        async throws
    {
        let account = TestAccount()
        let id = LazySync.EntryID(random: account.random)
        let photo = account.attach(.photo("p.jpg"), to: id)
        account.put(
            try Self.payload(account, id, photo, title: "a", mood: "sunny"), for: id)
        account.push()
        try await withTwo(account) { devices in
            try await devices.restore()
            try await devices.one.edit(id, ItemEdit(text: "with words"))
            account.put(
                try Self.payload(account, id, photo, title: "b", mood: "rainy"), for: id)
            account.push()
            _ = try await devices.one.push()
            let merged = try ServerSide(devices.home)
            try Self.expectBeyond(merged.payloads[id], mood: "rainy")
            #expect(merged.items[id]?.title == "b" && merged.items[id]?.text == "with words")
            try await devices.settle()
        }
    }

    @Test(arguments: ["cb1.x", "gone", "another account's"])
    func `an edit over an address that does not hold writes the one that is known again`(
        _ kind: String
    ) async throws {
        let account = TestAccount()
        let id = LazySync.EntryID(random: account.random)
        let photo = account.attach(.photo("p.jpg"), to: id)
        account.put(
            try Self.payload(account, id, photo, title: "a", mood: "sunny"), for: id)
        account.push()
        try await withTwo(account) { devices in
            try await devices.restore()
            var ref = kind
            if kind == "another account's" {
                let other = TestAccount("other", seed: 99)
                guard
                    case .text(let text) = other.upload(
                        [1, 2, 3], id, photo.id, .original)
                else { return }
                ref = text
            }
            account.put(
                try Self.payload(account, id, photo, title: "a", mood: "sunny", ref: ref), for: id)
            account.push()
            _ = try await devices.one.restore()
            let key = AttachmentKey(item: id, id: photo.id)
            #expect(try await devices.one.bytes(key) == account.contents[photo.ref.record ?? ""])
            try await devices.one.edit(id, ItemEdit(title: "b"))
            _ = try await devices.one.push()
            let served = try ServerSide(devices.home)
            let written = served.items[id]?.attachments.first?.ref.address?.recordName
            #expect(written == photo.ref.record)
            try Self.expectBeyond(served.payloads[id], mood: "sunny")
            // Who has never seen a whole one can open it now.
            let third = try TestHome(beside: devices.home)
            let engine = try await third.login()
            _ = try await engine.restore()
            #expect(try await engine.bytes(key) == account.contents[photo.ref.record ?? ""])
            try third.check()
            try await devices.settle()
        }
    }
}
