internal import SyncPlatform

/// One item as it is to be written.
struct ItemDraft: Sendable, Equatable {
    /// What is to be written as an address.
    enum Ref: Sendable, Equatable {
        /// None of ours; what the payload before had stays while the size stays.
        case absent
        /// The address is taken away.
        case null
        case address(CloudBlobRef)

        /// The address, if it is one.
        var address: CloudBlobRef? {
            if case .address(let address) = self { address } else { nil }
        }
    }

    /// The small picture of an attachment.
    struct Thumb: Sendable, Equatable {
        var type: String
        var size: UInt64
        var ref: Ref
    }

    /// One attachment.
    struct Attachment: Sendable, Equatable {
        var id: AttachmentID
        var name: String
        var type: String
        var size: UInt64
        var ref: Ref
        var thumb: Thumb?
    }

    var title: String
    var text: String?
    var created: String?
    var modified: String?
    var attachments: [Attachment] = []

    /// Writes the payload; what `before`, the payload so far, has beyond our values is kept.
    ///
    /// Kept are fields that are not known here, and, as they were, the parts that reading left out.
    /// - Throws: `FormatError`: `bounds` if the item breaks a limit of the format, `payload` if
    ///   `before` is not an item.
    func encode(over before: Span<UInt8>? = nil, using decoder: EntryDecoder)
        throws(FormatError) -> [UInt8]
    {
        try checkLimits()
        var encoder = PayloadEncoder(parser: decoder.parser)
        if let before {
            var batch = PayloadBatch()
            let item = try decoder.decode(before, into: &batch)
            encoder.before = decoder.root
            encoder.kept = Array(batch.attachments[item.attachments])
        }
        encoder.write(self)
        guard encoder.writer.bytes.count <= EntryPayload.maximumCount else {
            throw FormatError(.bounds, "encode an item")
        }
        return encoder.writer.bytes
    }

    /// Writes the payload of a removed item.
    static func encodeTombstone(deleted: Timestamp) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("deleted")
        writer.string(deleted.description)
        writer.endObject()
        return writer.bytes
    }

    private func checkLimits() throws(FormatError) {
        var ids = Set<AttachmentID>()
        let isWithin =
            attachments.count <= EntryPayload.maximumAttachments
            && attachments.allSatisfy { attachment in
                EntryPayload.nameCounts.contains(attachment.name.utf8.count)
                    && attachment.size <= BlobGeometry.maximumLength
                    && (attachment.thumb?.size ?? 0) <= BlobGeometry.maximumLength
                    && ids.insert(attachment.id).inserted
            }
        guard isWithin else { throw FormatError(.bounds, "encode an item") }
    }
}

/// Writes a draft over the payload that was there before, in the order of the format's page.
private struct PayloadEncoder {
    let parser: JSONParser
    var writer = JSONWriter()
    var before: JSONValue?
    /// The attachments of `before` that reading did not leave out.
    var kept: [EntryPayload.Attachment] = []

    init(parser: JSONParser) { self.parser = parser }

    mutating func write(_ draft: ItemDraft) {
        writer.beginObject()
        write("title", draft.title)
        write("text", draft.text)
        write("created", draft.created)
        write("modified", draft.modified)
        writer.key("attachments")
        writer.beginArray()
        writeAttachments(draft.attachments)
        writer.endArray()
        keepMembers(of: before, except: ["title", "text", "created", "modified", "attachments"])
        writer.endObject()
    }

    private mutating func write(_ key: String, _ text: String?) {
        guard let text else { return }
        writer.key(key)
        writer.string(text)
    }

    private mutating func writeAttachments(_ attachments: [ItemDraft.Attachment]) {
        var elements: [JSONValue] = []
        if let before, let array = parser.member("attachments", of: before) {
            var walk = parser.elements(array)
            while let element = parser.next(&walk) { elements.append(element) }
        }
        var known: [AttachmentID: EntryPayload.Attachment] = [:]
        for attachment in kept { known[attachment.id] = attachment }
        for attachment in attachments {
            let old = known[attachment.id]
            write(attachment, over: old, old.map { elements[$0.position] })
        }
        // What reading left out is written again, but not the double of one that is removed now:
        // it would step into its place.
        let removed = Set(kept.map(\.id)).subtracting(attachments.map(\.id))
        let positions = Set(kept.map(\.position))
        for (position, element) in elements.enumerated() where !positions.contains(position) {
            let id = parser.member("id", of: element).flatMap { value in
                parser.withString(value) { AttachmentID(hex: $0) } ?? nil
            }
            if let id, removed.contains(id) { continue }
            writer.value(element, of: parser)
        }
    }

    private mutating func write(
        _ attachment: ItemDraft.Attachment, over old: EntryPayload.Attachment?,
        _ element: JSONValue?
    ) {
        writer.beginObject()
        write("id", attachment.id.description)
        write("name", attachment.name)
        write("type", attachment.type)
        writer.key("size")
        writer.integer(attachment.size)
        write(attachment.ref, over: element, sizeStays: old?.size == attachment.size)
        let oldThumb = element.flatMap { parser.member("thumb", of: $0) }
        if let thumb = attachment.thumb {
            writer.key("thumb")
            writer.beginObject()
            write("type", thumb.type)
            writer.key("size")
            writer.integer(thumb.size)
            write(thumb.ref, over: oldThumb, sizeStays: old?.thumb?.size == thumb.size)
            keepMembers(of: oldThumb, except: ["type", "size", "ref"])
            writer.endObject()
        } else if let oldThumb, old?.thumb == nil {
            // Broken, and so left out by reading: it goes back as it was.
            writer.key("thumb")
            writer.value(oldThumb, of: parser)
        }
        keepMembers(of: element, except: ["id", "name", "type", "size", "ref", "thumb"])
        writer.endObject()
    }

    private mutating func write(_ ref: ItemDraft.Ref, over old: JSONValue?, sizeStays: Bool) {
        switch ref {
        case .address(let address):
            write("ref", address.description)
        case .null:
            writer.key("ref")
            writer.null()
        case .absent:
            guard sizeStays, let old, let value = parser.member("ref", of: old) else { return }
            writer.key("ref")
            writer.value(value, of: parser)
        }
    }

    private mutating func keepMembers(of object: JSONValue?, except known: [StaticString]) {
        guard let object else { return }
        var members = parser.members(object)
        while let (key, value) = parser.next(&members) {
            guard !known.contains(where: { parser.string(key, is: $0) }) else { continue }
            parser.withString(key) { writer.key($0) }
            writer.value(value, of: parser)
        }
    }
}
