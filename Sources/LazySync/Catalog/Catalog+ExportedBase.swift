internal import SyncPlatform

/// What an export has of an item that is changed here: the item as the server has it.
struct ExportedBase {
    private let decoder = EntryDecoder()

    /// Attachments whose addresses do not unwrap; that cannot be told without the account's key.
    struct Invalid {
        var originals: Set<AttachmentID> = []
        var thumbnails: Set<AttachmentID> = []

        var isEmpty: Bool { originals.isEmpty && thumbnails.isEmpty }
    }

    /// Reads the payload that the server had when the item was changed.
    ///
    /// - Throws: `FormatError`: it is not an item.
    func item(_ payload: [UInt8], invalid: Invalid) throws -> ExportedEntry.Item {
        var batch = PayloadBatch()
        let item = try decoder.decode(payload.span, into: &batch)
        return ExportedEntry.Item(
            title: batch.text(item.title), text: item.text.map(batch.text),
            created: item.created.map(batch.text), modified: item.modified.map(batch.text),
            payload: item.isLossy || !invalid.isEmpty ? payload : nil,
            attachments: batch.attachments[item.attachments].map { attachment in
                let (address, ref) = Self.address(
                    attachment.ref, batch, isInvalid: invalid.originals.contains(attachment.id))
                return ExportedEntry.Attachment(
                    id: attachment.id, position: attachment.position,
                    name: batch.text(attachment.name), type: batch.text(attachment.type),
                    size: Int64(attachment.size), address: address, ref: ref,
                    thumb: attachment.thumb.map { thumb in
                        let (address, ref) = Self.address(
                            thumb.ref, batch,
                            isInvalid: invalid.thumbnails.contains(attachment.id))
                        return ExportedEntry.Thumb(
                            type: batch.text(thumb.type), size: Int64(thumb.size),
                            address: address, ref: ref)
                    })
            })
    }

    private static func address(
        _ ref: EntryPayload.Ref, _ batch: PayloadBatch, isInvalid: Bool
    ) -> (AddressState, CloudBlobRef?) {
        switch ref {
        case .absent: (.absent, nil)
        case .null: (.takenAway, nil)
        case .invalid: (.invalid, nil)
        case .packed(let range):
            if !isInvalid, let ref = CloudBlobRef(packed: batch.bytes.span.extracting(range)) {
                (.complete, ref)
            } else {
                (.invalid, nil)
            }
        }
    }
}
