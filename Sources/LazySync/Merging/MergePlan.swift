/// What one side knows of an item.
enum ItemSide: Sendable, Equatable {
    /// It never existed there.
    case absent
    /// It was there, and somebody removed it.
    case removed
    /// It is there.
    case item(ItemDraft)

    /// The item, if there is one.
    var draft: ItemDraft? {
        if case .item(let draft) = self { draft } else { nil }
    }
}

/// What becomes of an item that was changed here and at the server: the table of docs/DESIGN.md.
///
/// Pure: no clock decides, and no chance. What is here goes to the server after what is there, so
/// where both changed the same to different values, what is here stays in the item, and what the
/// server has becomes the copy.
struct MergePlan: Sendable, Equatable {
    /// What is shown from now on: `.removed` or `.item`, with every address that is known.
    let shown: ItemSide
    /// Whether it differs from what the server has, and so is to be sent.
    let isUnsent: Bool
    /// What lost: becomes an item of its own, under a new id, so that no word is lost.
    ///
    /// Its addresses are still wrapped for the item that it is a copy of.
    let copy: ItemDraft?
    /// The item as the server has it, with the addresses that are known: the base from now on.
    let newBase: ItemSide

    /// Decides about one item.
    ///
    /// `base` is the item as the server had it when it was changed here, with the addresses that
    /// were known here; `local` as it is here now; `remote` as the server has it now, with
    /// `payload`, over which what is shown will be written.
    init(base: ItemSide, local: ItemSide, remote: ItemSide, payload: [UInt8] = []) {
        let there = remote.draft?.completed(from: base.draft)
        let server = there.map { .item($0) } ?? remote
        switch (local, there) {
        case (.item(let here), let there?):
            self.init(base: base.draft, local: here, remote: there, payload: payload)
        case (.item(let here), nil):
            let here = here.completed(from: base.draft)
            // Absence deletes nothing.
            let stays = remote == .absent || base.draft.map { !here.isSame(as: $0) } ?? true
            self.init(stays ? here : nil, isUnsent: stays, server: server)
        case (.removed, let there?):
            let isEdited = base.draft.map { !there.isSame(as: $0) } ?? true
            self.init(isEdited ? there : nil, isUnsent: !isEdited, server: server)
        case (.absent, let there?):
            self.init(there, isUnsent: false, server: server)
        case (.absent, nil), (.removed, nil):
            self.init(nil, isUnsent: false, server: server)
        }
    }

    private init(base: ItemDraft?, local: ItemDraft, remote: ItemDraft, payload: [UInt8]) {
        let local = local.completed(from: base).rewrapped(as: remote)
        var merged = MergedItem(item: remote)
        if let base, remote.isSame(as: base) {
            // Also in the order of here.
            merged.item = local
        } else if !local.isSame(as: remote) {
            merged = MergedItem(base: base, local: local, remote: remote)
        }
        // An address that is absent still leaves the server's in place when the item is written.
        merged.item = merged.item.completed(from: remote)
        var copy = merged.copy?.markedAsCopy
        var isUnsent = !merged.item.isSame(as: remote)
        if isUnsent && !merged.item.fits(over: payload) || copy?.fits(over: []) == false {
            isUnsent = false
            copy = local.markedAsCopy
        }
        self.init(
            isUnsent ? merged.item : remote, isUnsent: isUnsent, copy: copy, server: .item(remote))
    }

    private init(
        _ item: ItemDraft?, isUnsent: Bool, copy: ItemDraft? = nil, server: ItemSide
    ) {
        shown = item.map { .item($0) } ?? .removed
        self.isUnsent = isUnsent
        self.copy = copy
        newBase = server
    }
}

extension ItemDraft {
    /// What the title of a conflict copy ends with.
    static let copyMark = "(conflict copy)"

    /// The same with a title that says that it is a copy.
    ///
    /// A copy of a copy says it once, or titles would grow with every conflict; and a title for
    /// which there is no room stays as it is.
    var markedAsCopy: ItemDraft {
        guard !title.hasSuffix(Self.copyMark) else { return self }
        var marked = self
        marked.title = title.isEmpty ? Self.copyMark : "\(title) \(Self.copyMark)"
        return marked.fits(over: []) ? marked : self
    }

    /// Whether it can be written over a payload within the format's limits.
    func fits(over before: [UInt8]) -> Bool {
        // Most items are small, and a bound says so: no byte takes more than six when escaped.
        let texts = [title, text, created, modified].reduce(0) { $0 + ($1?.utf8.count ?? 0) }
        let bound = attachments.reduce(256 + texts * 6 + before.count) { bound, attachment in
            let words = attachment.name.utf8.count + attachment.type.utf8.count
            return bound + 1_024 + 6 * (words + (attachment.thumb?.type.utf8.count ?? 0))
        }
        if bound <= EntryPayload.maximumCount { return true }
        let written = try? encode(over: before.isEmpty ? nil : before.span, using: EntryDecoder())
        return written != nil
    }
}
