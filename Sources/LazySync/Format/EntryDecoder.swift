internal import SyncPlatform

/// Decodes payloads; keeps its memory, so use one for many.
///
/// Not for two threads at once.
final class EntryDecoder {
    let parser = JSONParser(maxBytes: EntryPayload.maximumCount)
    /// The root of the payload that was decoded last.
    private(set) var root: JSONValue?

    /// Makes a decoder.
    init() {}

    /// Decodes a live item's payload and appends its parts to the batch.
    ///
    /// - Throws: `FormatError`: `bounds` if it is too long, `payload` if it is not an item. A bad
    ///   attachment or address is no error; it is left out or marked. The batch stays as it was.
    func decode(
        _ payload: Span<UInt8>, into batch: inout PayloadBatch
    ) throws(FormatError) -> EntryPayload {
        let bytesBefore = batch.bytes.count
        let attachmentsBefore = batch.attachments.count
        do {
            return try decodeItem(payload, into: &batch)
        } catch {
            batch.bytes.removeSubrange(bytesBefore...)
            batch.attachments.removeSubrange(attachmentsBefore...)
            throw error
        }
    }

    /// Decodes a tombstone's payload: when the item was removed.
    ///
    /// - Throws: `FormatError`: it is not a tombstone's payload.
    func decodeTombstone(_ payload: Span<UInt8>) throws(FormatError) -> String {
        let root = try parse(payload)
        guard let deleted = parser.member("deleted", of: root), let text = parser.string(deleted)
        else { throw Self.broken }
        return text
    }

    private static let broken = FormatError(.payload, "decode an item")

    private func parse(_ payload: Span<UInt8>) throws(FormatError) -> JSONValue {
        root = nil
        let value: JSONValue
        do {
            value = try parser.parse(payload)
        } catch {
            throw error.code == .tooLarge ? FormatError(.bounds, "decode an item") : Self.broken
        }
        guard parser.kind(value) == .object else { throw Self.broken }
        root = value
        return value
    }

    private func decodeItem(
        _ payload: Span<UInt8>, into batch: inout PayloadBatch
    ) throws(FormatError) -> EntryPayload {
        var members = parser.members(try parse(payload))
        var title: Range<Int>?
        let start = batch.attachments.count
        var item = EntryPayload(
            title: 0..<0, attachments: start..<start, leftOut: 0, isLossy: false)
        while let (key, value) = parser.next(&members) {
            if parser.string(key, is: "title") {
                title = parser.append(value, to: &batch.bytes)
            } else if parser.string(key, is: "attachments") {
                try decodeAttachments(value, of: &item, into: &batch)
            } else if parser.string(key, is: "created") {
                item.created = try optionalText(value, of: &item, into: &batch)
            } else if parser.string(key, is: "modified") {
                item.modified = try optionalText(value, of: &item, into: &batch)
            } else if parser.string(key, is: "text") {
                item.text = try optionalText(value, of: &item, into: &batch)
            } else {
                item.isLossy = true
            }
        }
        guard let title else { throw Self.broken }
        item.title = title
        item.attachments = start..<batch.attachments.count
        return item
    }

    /// A text that may be absent; `null` counts as absent, any other kind makes the item broken.
    private func optionalText(
        _ value: JSONValue, of item: inout EntryPayload, into batch: inout PayloadBatch
    ) throws(FormatError) -> Range<Int>? {
        if let range = parser.append(value, to: &batch.bytes) { return range }
        guard parser.isNull(value) else { throw Self.broken }
        item.isLossy = true
        return nil
    }

    private func decodeAttachments(
        _ value: JSONValue, of item: inout EntryPayload, into batch: inout PayloadBatch
    ) throws(FormatError) {
        guard parser.kind(value) == .array else {
            guard parser.isNull(value) else { throw Self.broken }
            item.isLossy = true
            return
        }
        batch.seen.removeAll()
        var elements = parser.elements(value)
        var position = 0
        while let element = parser.next(&elements) {
            defer { position += 1 }
            let bytesBefore = batch.bytes.count
            if position < EntryPayload.maximumAttachments,
                let attachment = decodeAttachment(element, at: position, of: &item, into: &batch)
            {
                batch.attachments.append(attachment)
            } else {
                batch.bytes.removeSubrange(bytesBefore...)
                item.leftOut += 1
                item.isLossy = true
            }
        }
    }

    private func decodeAttachment(
        _ value: JSONValue, at position: Int, of item: inout EntryPayload,
        into batch: inout PayloadBatch
    ) -> EntryPayload.Attachment? {
        var id: AttachmentID?
        var name: Range<Int>?
        var type: Range<Int>?
        var size: UInt64?
        var refValue: JSONValue?
        var thumbValue: JSONValue?
        var members = parser.members(value)
        while let (key, value) = parser.next(&members) {
            if parser.string(key, is: "id") {
                id = parser.withString(value) { AttachmentID(hex: $0) } ?? nil
            } else if parser.string(key, is: "name") {
                name = parser.append(value, to: &batch.bytes)
            } else if parser.string(key, is: "type") {
                type = parser.append(value, to: &batch.bytes)
            } else if parser.string(key, is: "size") {
                size = parser.uint64(value)
            } else if parser.string(key, is: "ref") {
                refValue = value
            } else if parser.string(key, is: "thumb") {
                thumbValue = value
            } else {
                item.isLossy = true
            }
        }
        // An id counts as seen also where its first attachment breaks a limit.
        guard let id, batch.seen.insert(id), let name, EntryPayload.nameCounts.contains(name.count),
            let type, let size, size <= BlobGeometry.maximumLength
        else { return nil }
        let ref = decodeRef(refValue, of: &item, into: &batch)
        let thumb = thumbValue.flatMap { decodeThumb($0, of: &item, into: &batch) }
        return EntryPayload.Attachment(
            id: id, name: name, type: type, size: size, ref: ref, thumb: thumb, position: position)
    }

    /// A thumbnail; nil, and only it is left out, if anything of it is broken.
    private func decodeThumb(
        _ value: JSONValue, of item: inout EntryPayload, into batch: inout PayloadBatch
    ) -> EntryPayload.Thumb? {
        var type: Range<Int>?
        var size: UInt64?
        var refValue: JSONValue?
        let bytesBefore = batch.bytes.count
        var members = parser.members(value)
        while let (key, value) = parser.next(&members) {
            if parser.string(key, is: "type") {
                type = parser.append(value, to: &batch.bytes)
            } else if parser.string(key, is: "size") {
                size = parser.uint64(value)
            } else if parser.string(key, is: "ref") {
                refValue = value
            } else {
                item.isLossy = true
            }
        }
        guard let type, let size, size <= BlobGeometry.maximumLength else {
            batch.bytes.removeSubrange(bytesBefore...)
            item.isLossy = true
            return nil
        }
        return EntryPayload.Thumb(
            type: type, size: size, ref: decodeRef(refValue, of: &item, into: &batch))
    }

    private func decodeRef(
        _ value: JSONValue?, of item: inout EntryPayload, into batch: inout PayloadBatch
    ) -> EntryPayload.Ref {
        guard let value else { return .absent }
        if parser.isNull(value) { return .null }
        let start = batch.bytes.count
        let parses = parser.withString(value) { text in
            CloudBlobRef.pack(text, appendingTo: &batch.bytes)
        }
        let range = start..<batch.bytes.count
        let name = start + CloudBlobRef.nameStart
        guard parses == true, batch.seen.insert(name..<range.upperBound, of: batch.bytes) else {
            batch.bytes.removeSubrange(start...)
            item.isLossy = true
            return .invalid
        }
        return .packed(range)
    }
}
