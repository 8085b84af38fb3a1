import Testing

@testable import LazySync
@testable import TestSupport

/// What becomes of an attachment's address and thumbnail when its item changes; nothing but values.
@Suite struct MergedAttachmentTests {
    /// An address of the record `name`; `wrap` tells two wrappings of one key apart.
    private static func ref(_ name: String, wrap: UInt8 = 1) -> CloudBlobRef {
        let packed = [UInt8](repeating: wrap, count: CloudBlobRef.nameStart) + Array(name.utf8)
        return known(CloudBlobRef(packed: packed.span))
    }

    private static func old(
        size: Int64 = 500_000, address: AddressState = .complete, ref: CloudBlobRef? = ref("a"),
        thumbnail: ThumbnailState = .none, thumbSize: Int64 = 0, thumbRef: CloudBlobRef? = nil
    ) -> KnownAttachment {
        KnownAttachment(
            row: 1, size: size, address: address, ref: ref, thumbnail: thumbnail,
            thumbnailSize: thumbSize, thumbnailRef: thumbRef,
            words: .init(
                position: 0, createdAt: 0, name: Array("a".utf8), type: Array("image/jpeg".utf8),
                thumbType: thumbRef == nil ? nil : Array("image/jpeg".utf8)))
    }

    private enum Ref {
        case absent, null, invalid
        case of(CloudBlobRef)
    }

    /// Merges what a payload says over what is known.
    private static func merge(
        _ ref: Ref, size: UInt64 = 500_000, type: String = "image/jpeg",
        thumb: (ref: Ref, size: UInt64)? = nil, over old: KnownAttachment?
    ) -> MergedAttachment {
        var text = Array(type.utf8)
        let typeRange = 0..<text.count
        func payload(_ ref: Ref) -> EntryPayload.Ref {
            switch ref {
            case .absent: return .absent
            case .null: return .null
            case .invalid: return .invalid
            case .of(let ref):
                let start = text.count
                text += ref.packed
                return .packed(start..<text.count)
            }
        }
        let thumb = thumb.map {
            EntryPayload.Thumb(type: typeRange, size: $0.size, ref: payload($0.ref))
        }
        let attachment = EntryPayload.Attachment(
            id: known(AttachmentID(String(repeating: "a", count: 32))), name: typeRange,
            type: typeRange, size: size, ref: payload(ref), thumb: thumb, position: 0)
        return MergedAttachment(attachment, over: old, in: text.span)
    }

    // MARK: The address

    @Test func `a new attachment has the address that it came with`() {
        #expect(Self.merge(.of(Self.ref("a")), over: nil).address == .complete)
        #expect(Self.merge(.absent, over: nil).address == .absent)
        #expect(Self.merge(.invalid, over: nil).address == .invalid)
        #expect(Self.merge(.null, over: nil).address == .takenAway)
    }

    @Test func `an absent ref keeps the address while the size stays`() {
        let merged = Self.merge(.absent, over: Self.old())
        #expect(merged.address == .complete && merged.keepsRef && merged.keepsBytes)
        let other = Self.merge(.absent, size: 500_001, over: Self.old())
        #expect(other.address == .absent && !other.keepsRef && !other.keepsBytes)
    }

    @Test func `an invalid ref keeps the address while the size stays, and is told`() {
        let merged = Self.merge(.invalid, over: Self.old())
        #expect(merged.address == .kept && merged.keepsRef && merged.keepsBytes)
        #expect(merged.address.reason == nil && merged.address.countsAsMissing)
        let other = Self.merge(.invalid, size: 500_001, over: Self.old())
        #expect(other.address == .invalid && !other.keepsRef)
        #expect(
            Self.merge(.invalid, over: Self.old(address: .absent, ref: nil)).address == .invalid)
    }

    @Test func `only null takes an address away`() {
        let merged = Self.merge(.null, over: Self.old())
        #expect(merged.address == .takenAway && !merged.keepsRef && !merged.keepsBytes)
        #expect(merged.ref == nil && !merged.address.countsAsMissing)
    }

    @Test func `a ref of the same record keeps the bytes, also when its key is wrapped anew`() {
        #expect(Self.merge(.of(Self.ref("a")), over: Self.old()).keepsBytes)
        #expect(Self.merge(.of(Self.ref("a", wrap: 2)), over: Self.old()).keepsBytes)
        #expect(!Self.merge(.of(Self.ref("b")), over: Self.old()).keepsBytes)
        #expect(!Self.merge(.of(Self.ref("a")), size: 1, over: Self.old()).keepsBytes)
    }

    // MARK: The thumbnail

    @Test func `a thumbnail is due when it is small enough to be fetched at once`() {
        let limit = MergedAttachment.eagerLimit
        let small = Self.merge(.of(Self.ref("a")), thumb: (.of(Self.ref("t")), limit), over: nil)
        #expect(small.thumbnail == .due)
        let large = Self.merge(
            .of(Self.ref("a")), thumb: (.of(Self.ref("t")), limit + 1), over: nil)
        #expect(large.thumbnail == .notEager)
    }

    @Test(arguments: [ThumbnailState.here, .failed])
    func `the same thumbnail stays what it is`(state: ThumbnailState) {
        let old = Self.old(thumbnail: state, thumbSize: 9, thumbRef: Self.ref("t"))
        for ref in [Ref.of(Self.ref("t")), .of(Self.ref("t", wrap: 2)), .absent, .invalid] {
            let merged = Self.merge(.of(Self.ref("a")), thumb: (ref, 9), over: old)
            #expect(merged.thumbnail == state && merged.keepsThumbnailBytes)
        }
    }

    @Test(arguments: [ThumbnailState.here, .failed, .notEager])
    func `another thumbnail is due`(state: ThumbnailState) {
        let old = Self.old(thumbnail: state, thumbSize: 9, thumbRef: Self.ref("t"))
        let record = Self.merge(.of(Self.ref("a")), thumb: (.of(Self.ref("u")), 9), over: old)
        #expect(record.thumbnail == .due && !record.keepsThumbnailBytes)
        let size = Self.merge(.of(Self.ref("a")), thumb: (.of(Self.ref("t")), 8), over: old)
        #expect(size.thumbnail == .due && !size.keepsThumbnailBytes)
    }

    @Test func `a thumbnail without an address that can be used says so`() {
        let new = Self.ref("a")
        #expect(Self.merge(.of(new), thumb: (.absent, 9), over: nil).thumbnail == .addressAbsent)
        #expect(Self.merge(.of(new), thumb: (.invalid, 9), over: nil).thumbnail == .addressInvalid)
        #expect(Self.merge(.of(new), thumb: (.null, 9), over: nil).thumbnail == .none)
        let old = Self.old(thumbnail: .here, thumbSize: 9, thumbRef: Self.ref("t"))
        let grown = Self.merge(.of(new), thumb: (.absent, 10), over: old)
        #expect(grown.thumbnail == .addressAbsent && !grown.keepsThumbnailBytes)
    }

    @Test func `an address that was invalid and is right now makes the thumbnail due`() {
        let old = Self.old(thumbnail: .addressInvalid, thumbSize: 9, thumbRef: Self.ref("t"))
        let merged = Self.merge(
            .of(Self.ref("a")), thumb: (.of(Self.ref("t", wrap: 2)), 9), over: old)
        #expect(merged.thumbnail == .due)
    }

    @Test func `a small photo without a thumbnail is its own`() {
        let limit = MergedAttachment.eagerLimit
        let new = Ref.of(Self.ref("a"))
        #expect(Self.merge(new, size: limit, over: nil).thumbnail == .due)
        #expect(Self.merge(new, size: limit + 1, over: nil).thumbnail == .none)
        #expect(Self.merge(new, size: limit, type: "text/plain", over: nil).thumbnail == .none)
        #expect(Self.merge(.absent, size: limit, over: nil).thumbnail == .none)
        let here = Self.old(size: 9, thumbnail: .here)
        #expect(Self.merge(new, size: 9, over: here).thumbnail == .here)
        #expect(Self.merge(.of(Self.ref("b")), size: 9, over: here).thumbnail == .due)
    }

    @Test func `a file that turns out to be a photo gets a thumbnail`() {
        let old = Self.old(size: 9, thumbnail: .none)
        #expect(Self.merge(.of(Self.ref("a")), size: 9, over: old).thumbnail == .due)
    }

    @Test func `a small photo whose thumbnail goes becomes its own`() {
        let old = Self.old(size: 9, thumbnail: .here, thumbSize: 5, thumbRef: Self.ref("t"))
        let merged = Self.merge(.of(Self.ref("a")), size: 9, over: old)
        #expect(merged.thumbnail == .due && !merged.keepsThumbnailBytes)
    }

    // MARK: What is written at all

    /// One attachment with a thumbnail as the catalog has it, and the payload that says the same but
    /// for what `edit` changes.
    private static func isLeftAlone(
        createdAt: Int64 = 60, _ edit: (inout EntryPayload.Attachment, inout [UInt8]) -> Void
    ) -> Bool {
        var text = Array("a.jpgimage/jpegimage/webp".utf8)
        let refs = [ref("a"), ref("t")].map { ref in
            let start = text.count
            text += ref.packed
            return EntryPayload.Ref.packed(start..<text.count)
        }
        let known = KnownAttachment(
            row: 1, size: 7, address: .complete, ref: ref("a"), thumbnail: .here,
            thumbnailSize: 5, thumbnailRef: ref("t"),
            words: .init(
                position: 2, createdAt: 60, name: Array("a.jpg".utf8),
                type: Array("image/jpeg".utf8), thumbType: Array("image/webp".utf8)))
        var new = EntryPayload.Attachment(
            id: TestSupport.known(AttachmentID(String(repeating: "a", count: 32))), name: 0..<5,
            type: 5..<15, size: 7, ref: refs[0],
            thumb: EntryPayload.Thumb(type: 15..<25, size: 5, ref: refs[1]), position: 2)
        edit(&new, &text)
        let merged = MergedAttachment(new, over: known, in: text.span)
        return known.isSame(as: merged, new, createdAt: createdAt, text.span)
    }

    @Test func `an attachment that its item's change did not touch is not written`() {
        #expect(Self.isLeftAlone { _, _ in })
        // An absent ref keeps the address.
        #expect(Self.isLeftAlone { new, _ in new.ref = .absent })
    }

    @Test func `one that differs in anything is`() {
        #expect(!Self.isLeftAlone(createdAt: 61) { _, _ in })
        let edits: [(inout EntryPayload.Attachment, inout [UInt8]) -> Void] = [
            { new, _ in new.name = 0..<4 }, { new, _ in new.type = 15..<25 },
            { new, _ in new.size = 8 }, { new, _ in new.position = 3 },
            { new, _ in new.ref = .null }, { new, _ in new.ref = .invalid },
            { new, _ in new.thumb = nil }, { new, _ in new.thumb?.size = 6 },
            { new, _ in new.thumb?.type = 5..<15 }, { new, _ in new.thumb?.ref = .null },
            // The same records under keys that are wrapped anew.
            { _, text in text[25] ^= 1 }, { _, text in text[25 + 106] ^= 1 },
        ]
        for (index, edit) in edits.enumerated() {
            #expect(!Self.isLeftAlone(edit), "edit \(index)")
        }
    }
}
