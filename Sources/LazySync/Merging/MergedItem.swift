/// One item out of two that were changed: each field by itself, and what lost.
struct MergedItem: Sendable {
    /// The item.
    var item: ItemDraft
    /// What the item has no place for, as the server has it; nil if no word is lost without it.
    private(set) var copy: ItemDraft?

    /// Takes an item as it is.
    init(item: ItemDraft) { self.item = item }

    /// Merges; all three have the addresses that are known.
    init(base: ItemDraft?, local: ItemDraft, remote: ItemDraft) {
        let title = MergedField(base: base?.title, local: local.title, remote: remote.title)
        let text = MergedField(
            base: base.map { $0.text }, local: local.text, remote: remote.text)
        // Times are no words: that both changed them makes no copy.
        let created = MergedField(
            base: base.map { $0.created }, local: local.created, remote: remote.created)
        let modified = MergedField(
            base: base.map { $0.modified }, local: local.modified, remote: remote.modified)
        let attachments = MergedAttachments(base: base, local: local, remote: remote)
        item = ItemDraft(
            title: title.value, text: text.value, created: created.value,
            modified: modified.value, attachments: attachments.kept)
        let losesWord =
            title.isConflict && !remote.title.isEmpty
            || text.isConflict && remote.text?.isEmpty == false
        guard losesWord || !attachments.lost.isEmpty else { return }
        copy = remote
        copy?.attachments = attachments.lost
    }
}

/// One value of three.
private struct MergedField<Value> {
    let value: Value
    /// Whether both changed it, to different values; then the local one stays.
    let isConflict: Bool

    /// No base: both sides made it.
    init(base: Value?, local: Value, remote: Value, by isSame: (Value, Value) -> Bool) {
        if isSame(local, remote) {
            (value, isConflict) = (remote, false)
        } else if let base, isSame(base, local) {
            (value, isConflict) = (remote, false)
        } else if let base, isSame(base, remote) {
            (value, isConflict) = (local, false)
        } else {
            (value, isConflict) = (local, true)
        }
    }
}

extension MergedField where Value: Equatable {
    fileprivate init(base: Value?, local: Value, remote: Value) {
        self.init(base: base, local: local, remote: remote, by: ==)
    }
}

/// The attachments of two items, by their ids: the server's order, then what is only here.
private struct MergedAttachments {
    var kept: [ItemDraft.Attachment] = []
    /// What goes into the copy: no id twice, and none that the local item lacks.
    ///
    /// That is what the server has of those that both changed, and what is only here and has no
    /// place in the item.
    var lost: [ItemDraft.Attachment] = []

    init(base: ItemDraft?, local: ItemDraft, remote: ItemDraft) {
        let before = base?.attachmentsByID ?? [:]
        let ours = local.attachmentsByID
        for there in remote.attachments {
            if let here = ours[there.id] {
                keep(base: before[there.id], local: here, remote: there)
            } else if !there.isSame(as: before[there.id]) {
                kept.append(there)
            }
        }
        let theirs = remote.attachmentsByID
        let new = local.attachments.filter { here in
            theirs[here.id] == nil && !here.isSame(as: before[here.id])
        }
        if !new.isEmpty { add(new) }
    }

    private mutating func keep(
        base: ItemDraft.Attachment?, local: ItemDraft.Attachment, remote: ItemDraft.Attachment
    ) {
        let name = MergedField(base: base?.name, local: local.name, remote: remote.name)
        let type = MergedField(base: base?.type, local: local.type, remote: remote.type)
        let bytes = MergedField(base: base, local: local, remote: remote) { $0.hasBytes(of: $1) }
        // Bytes that nobody can open are none: they make way, and are not lost.
        let canOpenHere = local.ref.record != nil
        let stays = bytes.isConflict && !canOpenHere ? remote : bytes.value
        var merged = stays
        merged.name = name.value
        merged.type = type.value
        if local.hasBytes(of: remote) {
            // A thumbnail is made of the bytes: nothing is lost if one of two goes.
            merged.thumb =
                MergedField(base: base.map { $0.thumb }, local: local.thumb, remote: remote.thumb) {
                    $0.isSame(as: $1)
                }.value
        }
        kept.append(merged)
        let losesBytes = bytes.isConflict && canOpenHere && remote.ref.record != nil
        if name.isConflict || type.isConflict || losesBytes { lost.append(remote) }
    }

    /// Adds what is only here, as far as the limit goes, and unless it would name a record twice.
    private mutating func add(_ new: [ItemDraft.Attachment]) {
        var records = Set(kept.flatMap { $0.recordNames })
        for attachment in new {
            let names = attachment.recordNames
            if kept.count < EntryPayload.maximumAttachments, records.isDisjoint(with: names) {
                records.formUnion(names)
                kept.append(attachment)
            } else {
                lost.append(attachment)
            }
        }
    }
}
