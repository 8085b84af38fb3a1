internal import SyncPlatform

/// An item that was written, as values again.
extension ItemDraft {
    /// Takes the values of a payload that was decoded into a batch.
    init(_ payload: EntryPayload, in batch: PayloadBatch) {
        func ref(_ ref: EntryPayload.Ref) -> Ref {
            switch ref {
            case .absent, .invalid: return .absent
            case .null: return .null
            case .packed(let range):
                let packed = CloudBlobRef(packed: batch.bytes.span.extracting(range))
                return packed.map(Ref.address) ?? .absent
            }
        }
        title = batch.text(payload.title)
        text = payload.text.map(batch.text)
        created = payload.created.map(batch.text)
        modified = payload.modified.map(batch.text)
        attachments = batch.attachments[payload.attachments].map { attachment in
            Attachment(
                id: attachment.id, name: batch.text(attachment.name),
                type: batch.text(attachment.type), size: attachment.size,
                ref: ref(attachment.ref),
                thumb: attachment.thumb.map { thumb in
                    Thumb(type: batch.text(thumb.type), size: thumb.size, ref: ref(thumb.ref))
                })
        }
    }

    /// Reads a payload.
    ///
    /// - Throws: `FormatError`: it is not an item.
    init(_ payload: [UInt8], using decoder: EntryDecoder) throws(FormatError) {
        var batch = PayloadBatch()
        let item = try decoder.decode(payload.span, into: &batch)
        self.init(item, in: batch)
    }

    /// Writes the payload; what `before`, the payload so far, has beyond our values is kept.
    ///
    /// - Throws: `FormatError`, as with a span.
    func encode(over before: [UInt8]?, using decoder: EntryDecoder) throws(FormatError) -> [UInt8] {
        guard let before else { return try encode(using: decoder) }
        let bytes = before.span
        return try encode(over: bytes, using: decoder)
    }

    /// The addresses of all of its blobs.
    var addresses: [CloudBlobRef] {
        attachments.flatMap { [$0.ref.address, $0.thumb?.ref.address].compactMap { $0 } }
    }
}
