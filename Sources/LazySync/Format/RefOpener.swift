internal import SyncPlatform

/// Which of an attachment's two blobs an address is for.
enum BlobRole: UInt8, Sendable {
    case original = 0, thumbnail = 1
}

/// Wraps and unwraps the content keys of addresses; keeps its buffers, for a restore opens
/// millions.
struct RefOpener {
    private let kek: SecretBytes
    // The whole `aad` as it was last, of which the start is the same for all addresses.
    private var aad: [UInt8]
    // version | kekId: how every wrapped key begins.
    private let start: [UInt8]
    private let account: AccountID

    private static let keyCount = 32
    private static let wrapNonceRange = 9..<33

    /// Makes an opener for the addresses of one account.
    init(keys: AccountKeys, account: AccountID) {
        kek = keys.kek
        self.account = account
        start = [1] + [UInt8](copying: keys.kekID.span)
        aad = Label.wrap + start
        aad.reserveCapacity(256)
    }

    /// Unwraps the key of a packed address into the 32 bytes of `contentKey`.
    ///
    /// False: it is no address, of another account key, or not that of this attachment and role.
    mutating func unwrap(
        _ packed: Span<UInt8>, entry: EntryID, attachment: AttachmentID, role: BlobRole,
        into contentKey: inout MutableSpan<UInt8>
    ) -> Bool {
        guard CloudBlobRef.isPacked(packed) else { return false }
        let wrapped = packed.extracting(CloudBlobRef.wrappedKeyRange)
        guard wrapped.extracting(0..<start.count).equals(start.span) else { return false }
        fillAAD(
            nonce: packed.extracting(CloudBlobRef.nonceRange),
            recordName: packed.extracting(CloudBlobRef.nameStart...), entry, attachment, role)
        return AEAD.open(
            wrapped.extracting(Self.wrapNonceRange.upperBound...), key: kek,
            nonce: wrapped.extracting(Self.wrapNonceRange), aad: aad.span, into: &contentKey)
    }

    /// Tells whether an address unwraps, and forgets the key at once.
    mutating func isValid(
        _ packed: Span<UInt8>, entry: EntryID, attachment: AttachmentID, role: BlobRole
    ) -> Bool {
        var key = InlineArray<32, UInt8>(repeating: 0)
        var span = key.mutableSpan
        defer { ConstantTime.wipe(&span) }
        return unwrap(packed, entry: entry, attachment: attachment, role: role, into: &span)
    }

    /// Answers the blob behind an address, ready to be opened; nil if it does not unwrap.
    mutating func blob(
        _ packed: Span<UInt8>, entry: EntryID, attachment: AttachmentID, role: BlobRole
    ) -> SealedBlob? {
        var key = InlineArray<32, UInt8>(repeating: 0)
        var span = key.mutableSpan
        defer { ConstantTime.wipe(&span) }
        guard unwrap(packed, entry: entry, attachment: attachment, role: role, into: &span)
        else { return nil }
        return SealedBlob(
            contentKey: span.span, nonce: packed.extracting(CloudBlobRef.nonceRange),
            recordName: packed.extracting(CloudBlobRef.nameStart...))
    }

    /// Wraps a content key for an attachment and role, and joins it with the rest of the address.
    mutating func wrap(
        contentKey: Span<UInt8>, nonce: Span<UInt8>, recordName: RecordName,
        wrapNonce: Span<UInt8>, entry: EntryID, attachment: AttachmentID, role: BlobRole
    ) -> CloudBlobRef {
        precondition(contentKey.count == Self.keyCount && wrapNonce.count == AEAD.nonceBytes)
        let name = Array(recordName.description.utf8)
        fillAAD(nonce: nonce, recordName: name.span, entry, attachment, role)
        var wrapped = start
        wrapped.append(copying: wrapNonce)
        let boxStart = wrapped.count
        wrapped.append(copying: contentKey)
        AEAD.seal(inPlace: &wrapped, from: boxStart, key: kek, nonce: wrapNonce, aad: aad.span)
        guard
            let ref = CloudBlobRef(recordName: recordName, nonce: nonce, wrappedKey: wrapped.span)
        else { preconditionFailure("a wrapped key of another length than the format's") }
        return ref
    }

    /// Wraps the key of an address anew for another item; nil if it does not unwrap.
    ///
    /// The blob stays the same, under the same name.
    mutating func rewrap(
        _ ref: CloudBlobRef, of attachment: AttachmentID, _ role: BlobRole, from entry: EntryID,
        to other: EntryID, _ random: any RandomSource
    ) -> CloudBlobRef? {
        let packed = ref.packed.span
        var key = InlineArray<32, UInt8>(repeating: 0)
        var span = key.mutableSpan
        defer { ConstantTime.wipe(&span) }
        guard let name = RecordName(packed.extracting(CloudBlobRef.nameStart...)),
            unwrap(packed, entry: entry, attachment: attachment, role: role, into: &span)
        else { return nil }
        let wrapNonce = random.bytes(AEAD.nonceBytes)
        return wrap(
            contentKey: span.span, nonce: packed.extracting(CloudBlobRef.nonceRange),
            recordName: name, wrapNonce: wrapNonce.span, entry: other, attachment: attachment,
            role: role)
    }

    /// Unwraps every address of an item once; what does not unwrap counts as invalid.
    mutating func check(
        _ item: inout EntryPayload, of id: EntryID, in payloads: inout PayloadBatch
    ) {
        for index in item.attachments {
            let attachment = payloads.attachments[index]
            if !unwraps(attachment.ref, id, attachment.id, .original, payloads) {
                payloads.attachments[index].ref = .invalid
                item.isLossy = true
            }
            if let ref = attachment.thumb?.ref,
                !unwraps(ref, id, attachment.id, .thumbnail, payloads)
            {
                payloads.attachments[index].thumb?.ref = .invalid
                item.isLossy = true
            }
        }
    }

    private mutating func unwraps(
        _ ref: EntryPayload.Ref, _ entry: EntryID, _ attachment: AttachmentID, _ role: BlobRole,
        _ payloads: PayloadBatch
    ) -> Bool {
        guard case .packed(let range) = ref else { return true }
        return isValid(
            payloads.bytes.span.extracting(range), entry: entry, attachment: attachment, role: role)
    }

    private mutating func fillAAD(
        nonce: Span<UInt8>, recordName: Span<UInt8>,
        _ entry: EntryID, _ attachment: AttachmentID, _ role: BlobRole
    ) {
        aad.removeSubrange((Label.wrap.count + start.count)...)
        aad.append(copying: nonce)
        aad.append(bigEndian: UInt16(AccountID.byteCount))
        account.append(to: &aad)
        aad.append(bigEndian: UInt16(recordName.count))
        aad.append(copying: recordName)
        aad.append(bigEndian: UInt16(EntryID.byteCount + AttachmentID.byteCount + 1))
        entry.append(to: &aad)
        attachment.append(to: &aad)
        aad.append(role.rawValue)
    }
}
