import SyncPlatform
import Testing

@testable import LazySync

@Suite struct ItemDraftTests {
    private let decoder = EntryDecoder()
    private let a = known(AttachmentID("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"))
    private let b = known(AttachmentID("bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"))
    private let address = known(CloudBlobRef(Vectors.all.ref))

    private func encode(_ draft: ItemDraft, over before: String? = nil) throws -> String {
        guard let before else {
            return String(decoding: try draft.encode(using: decoder), as: UTF8.self)
        }
        let bytes = Array(before.utf8)
        return String(decoding: try draft.encode(over: bytes.span, using: decoder), as: UTF8.self)
    }

    private func picture(_ id: AttachmentID, _ ref: ItemDraft.Ref = .absent) -> ItemDraft.Attachment
    {
        ItemDraft.Attachment(id: id, name: "n", type: "t", size: 1, ref: ref)
    }

    @Test func `an item is written in the order of the format's page`() throws {
        var draft = ItemDraft(title: "Lis\"bon", text: "x", created: "c", modified: "m")
        draft.attachments = [picture(a, .address(address)), picture(b, .null)]
        draft.attachments[0].thumb = ItemDraft.Thumb(type: "image/jpeg", size: 2, ref: .absent)
        let expected =
            #"{"title":"Lis\"bon","text":"x","created":"c","modified":"m","attachments":["#
            + #"{"id":"\#(a)","name":"n","type":"t","size":1,"ref":"\#(address)","#
            + #""thumb":{"type":"image/jpeg","size":2}},"#
            + #"{"id":"\#(b)","name":"n","type":"t","size":1,"ref":null}]}"#
        #expect(try encode(draft) == expected)
        #expect(try encode(draft, over: expected) == expected)
    }

    @Test func `fields that are not known are kept, wherever they are`() throws {
        var draft = ItemDraft(title: "new", attachments: [picture(a), picture(b)])
        draft.attachments[0].thumb = ItemDraft.Thumb(type: "t", size: 2, ref: .absent)
        let before =
            #"{"x":[1.5,{"y":null}],"title":"old","text":"gone","attachments":["#
            + #"{"z":"\n","id":"\#(a)","name":"o","type":"t","size":1,"#
            + #""thumb":{"w":0,"type":"t","size":2}}]}"#
        let expected =
            #"{"title":"new","attachments":["#
            + #"{"id":"\#(a)","name":"n","type":"t","size":1,"#
            + #""thumb":{"type":"t","size":2,"w":0},"z":"\n"},"#
            + #"{"id":"\#(b)","name":"n","type":"t","size":1}],"x":[1.5,{"y":null}]}"#
        #expect(try encode(draft, over: before) == expected)
    }

    @Test func `what reading left out is written again as it was`() throws {
        let draft = ItemDraft(title: "t", attachments: [picture(a)])
        let kept = #"{"id":"\#(a)","name":"n","type":"t","size":1"#
        let before =
            #"{"title":"t","attachments":[7,\#(kept),"thumb":5},"#
            + #"{"id":"\#(a)","name":"2","type":"t","size":1},{"id":"?","q":1}]}"#
        let expected =
            #"{"title":"t","attachments":[\#(kept),"thumb":5},7,"#
            + #"{"id":"\#(a)","name":"2","type":"t","size":1},{"id":"?","q":1}]}"#
        #expect(try encode(draft, over: before) == expected)
    }

    @Test func `the double of an attachment that is removed goes with it`() throws {
        let double = #"{"id":"\#(a)","name":"2","type":"t","size":1}"#
        let before = #"{"title":"t","attachments":[\#(double),\#(double)]}"#
        #expect(
            try encode(ItemDraft(title: "t"), over: before) == #"{"title":"t","attachments":[]}"#)
    }

    @Test func `an address that we do not have stays while the size stays`() throws {
        let before =
            #"{"title":"t","attachments":[{"id":"\#(a)","name":"n","type":"t","size":1,"ref":"?"}]}"#
        var draft = ItemDraft(title: "t", attachments: [picture(a)])
        #expect(try encode(draft, over: before) == before)
        draft.attachments[0].size = 2
        #expect(
            try encode(draft, over: before)
                == #"{"title":"t","attachments":[{"id":"\#(a)","name":"n","type":"t","size":2}]}"#)
    }

    @Test func `a draft that breaks a limit is refused`() throws {
        var drafts = [
            ItemDraft(title: String(repeating: "x", count: 1 << 20)),
            ItemDraft(title: "t", attachments: [picture(a), picture(a)]),
        ]
        for change in [
            { $0.name = "" }, { $0.name = String(repeating: "é", count: 513) },
            { $0.size = (1 << 48) + 1 },
            { $0.thumb = ItemDraft.Thumb(type: "t", size: .max, ref: .absent) },
        ] as [(inout ItemDraft.Attachment) -> Void] {
            var attachment = picture(a)
            change(&attachment)
            drafts.append(ItemDraft(title: "t", attachments: [attachment]))
        }
        let random = SeededRandom(seed: 2)
        let many = (0..<1_001).map { _ in picture(AttachmentID(random: random)) }
        drafts.append(ItemDraft(title: "t", attachments: many))
        for draft in drafts {
            #expect(throws: FormatError(.bounds, "encode an item")) {
                try draft.encode(using: decoder)
            }
        }
    }

    @Test func `what is written is read as the same`() throws {
        var draft = ItemDraft(title: "\u{0}\"\\é", text: "", created: "x", modified: nil)
        draft.attachments = [picture(a, .address(address))]
        let payload = try draft.encode(using: decoder)
        var batch = PayloadBatch()
        let item = try decoder.decode(payload.span, into: &batch)
        #expect(batch.text(item.title) == draft.title && item.text.map(batch.text) == "")
        guard case .packed(let range) = batch.attachments[0].ref else {
            Issue.record("the address is not there")
            return
        }
        #expect(Array(batch.bytes[range]) == address.packed)
        #expect(!item.isLossy)
    }
}
