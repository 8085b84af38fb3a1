// Texts are compared as people see them: an accent written in another way is no change.

extension ItemDraft {
    /// The attachments by their ids; of two equal ids the first.
    var attachmentsByID: [AttachmentID: Attachment] {
        Dictionary(attachments.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Whether people see the same: keys that are only wrapped anew are no difference.
    func isSame(as other: ItemDraft) -> Bool {
        title == other.title && text == other.text && created == other.created
            && modified == other.modified
            && attachments.elementsEqual(other.attachments) { $0.isSame(as: $1) }
    }

    /// The same with the addresses that it lacks and another has, where the size is the same.
    ///
    /// An address that is absent is not known, which is no change; `null` takes it away. What the
    /// item names already for another attachment is not taken: no record may be named twice.
    func completed(from other: ItemDraft?) -> ItemDraft {
        guard let other else { return self }
        let names = Set(attachments.flatMap(\.recordNames))
        return withRefs(of: other) { own, other, sizeStays in
            let isFree = other.record.map { !names.contains($0) } ?? true
            return own == .absent && sizeStays && isFree ? other : own
        }
    }

    /// The same with keys wrapped as another has them, where they are of the same record.
    func rewrapped(as other: ItemDraft) -> ItemDraft {
        withRefs(of: other) { own, other, _ in own.isSame(as: other) ? other : own }
    }

    private func withRefs(
        of other: ItemDraft, _ choose: (Ref, Ref, _ sizeStays: Bool) -> Ref
    ) -> ItemDraft {
        let others = other.attachmentsByID
        var changed = self
        for index in attachments.indices {
            let own = attachments[index]
            guard let other = others[own.id] else { continue }
            changed.attachments[index].ref = choose(own.ref, other.ref, own.size == other.size)
            guard let thumb = own.thumb, let theirs = other.thumb else { continue }
            changed.attachments[index].thumb?.ref = choose(
                thumb.ref, theirs.ref, thumb.size == theirs.size)
        }
        return changed
    }
}

extension ItemDraft.Attachment {
    /// The names of the records that it names.
    var recordNames: [String] { [ref, thumb?.ref].compactMap { $0?.record } }

    /// Whether people see the same; never the same as none.
    func isSame(as other: Self?) -> Bool {
        guard let other else { return false }
        return id == other.id && name == other.name && type == other.type && hasBytes(of: other)
            && thumb.isSame(as: other.thumb)
    }

    /// Whether it is the same file, whatever its name.
    func hasBytes(of other: Self) -> Bool { size == other.size && ref.isSame(as: other.ref) }
}

extension ItemDraft.Ref {
    /// The name of the record, if there is an address.
    var record: String? {
        if case .address(let address) = self { address.recordName } else { nil }
    }

    /// Whether both lead to the same bytes: by record and nonce, since a key may be wrapped anew.
    func isSame(as other: Self) -> Bool {
        guard case .address(let own) = self, case .address(let other) = other else {
            return self == other
        }
        return own.packed[CloudBlobRef.nonceRange] == other.packed[CloudBlobRef.nonceRange]
            && own.packed[CloudBlobRef.nameStart...] == other.packed[CloudBlobRef.nameStart...]
    }
}

extension ItemDraft.Thumb? {
    /// Whether both are none, or the same picture.
    func isSame(as other: Self) -> Bool {
        guard let self, let other else { return (self == nil) == (other == nil) }
        return self.type == other.type && self.size == other.size && self.ref.isSame(as: other.ref)
    }
}
