internal import SyncPlatform

/// Changes that are made here: at once, offline, and durable when they return.
extension SyncEngine {
    /// Items that one transaction adds, at the most.
    private static let batch = 1_000
    /// Sealed bytes after which what was added so far is made durable.
    private static let batchBytes: Int64 = 64 << 20

    /// Adds each file as an item of its own, called as the file is.
    ///
    /// The bytes are sealed into a private spool before it returns, so what is pushed is what was
    /// added, whatever becomes of the files. If one of them is no file, nothing is added; should one
    /// fail later, those before it are added. `added` is told of each part as soon as it is durable.
    /// - Throws: `invalidInput` for what is no file; `unavailable(.keyMissing)`, `.diskFull`.
    public func add(
        files: [String], progress: (@Sendable (AddProgress) -> Void)? = nil,
        added: (@Sendable (AddReport) -> Void)? = nil
    ) async throws(SyncError) -> AddReport {
        try await working("add") { () async throws(SyncError) in
            try await self.addEach(files, progress, added)
        }
    }

    /// Adds one item with all of the files.
    ///
    /// - Throws: as the other `add`; `invalidInput` also for more than an item can have. Then
    ///   nothing is added.
    public func add(
        title: String, text: String? = nil, files: [String] = [],
        progress: (@Sendable (AddProgress) -> Void)? = nil
    ) async throws(SyncError) -> AddReport {
        try await working("add") { () async throws(SyncError) in
            let id = EntryID(random: self.configuration.random)
            let now = await self.currentTime
            return try await self.attach(files, to: id, progress) { before in
                guard before == nil else { throw CatalogDamage(what: "an id drawn twice") }
                var draft = ItemDraft(title: title, text: text)
                draft.created = now.description
                return draft
            }
        }
    }

    /// Adds files to an item.
    ///
    /// - Throws: as the other `add`; `noSuchID`. Then nothing is added.
    public func add(
        files: [String], to item: EntryID,
        progress: (@Sendable (AddProgress) -> Void)? = nil
    ) async throws(SyncError) -> AddReport {
        try await working("add") { () async throws(SyncError) in
            let now = await self.currentTime
            return try await self.attach(files, to: item, progress) { before in
                guard var draft = before else { throw Self.noItem(item, "add to \(item)") }
                draft.modified = now.description
                return draft
            }
        }
    }

    /// Changes an item's title or text.
    ///
    /// - Throws: `noSuchID`; `invalidInput` for what an item cannot have.
    public func edit(_ item: EntryID, _ edit: ItemEdit) async throws(SyncError) {
        let now = currentTime
        try await change("edit \(item)") { store in
            try store.change(item) { before in
                guard let before else { throw Self.noItem(item, "edit \(item)") }
                var draft = before
                if let title = edit.title { draft.title = title }
                if let text = edit.text { draft.text = text.isEmpty ? nil : text }
                if draft != before { draft.modified = now.description }
                return draft
            }
        }
    }

    /// Removes an item, into the trash.
    public func remove(_ item: EntryID) async throws(SyncError) {
        try await change("remove \(item)") { store in
            try store.change(item) { before in
                guard before != nil else { throw Self.noItem(item, "remove \(item)") }
                return nil
            }
        }
        try await sweepDropped()
    }

    /// Takes an attachment out of its item, into the trash.
    public func remove(_ attachment: AttachmentKey) async throws(SyncError) {
        let now = currentTime
        try await change("remove \(attachment.id)") { store in
            try store.change(attachment.item) { before in
                guard var draft = before,
                    let index = draft.attachments.firstIndex(where: { $0.id == attachment.id })
                else {
                    throw SyncError(
                        .noSuchID, "remove \(attachment.id)", "there is no attachment \(attachment)"
                    )
                }
                draft.attachments.remove(at: index)
                draft.modified = now.description
                return draft
            }
        }
        try await sweepDropped()
    }

    // MARK: Adding

    private func addEach(
        _ files: [String], _ progress: (@Sendable (AddProgress) -> Void)?,
        _ added: (@Sendable (AddReport) -> Void)?
    ) async throws(SyncError) -> AddReport {
        try await check(files)
        let now = currentTime
        var report = AddReport()
        var rest = files[...]
        while !rest.isEmpty {
            let some = rest
            let done = files.count - rest.count
            let sealed = try await sealing { [random = configuration.random] sealer in
                var drafts: [(EntryID, ItemDraft)] = []
                var failure: SyncError?
                for file in some.prefix(Self.batch) {
                    let id = EntryID(random: random)
                    do {
                        let attachment = try sealer.seal(file, for: id)
                        var draft = ItemDraft(title: attachment.name)
                        draft.created = now.description
                        draft.attachments = [attachment]
                        drafts.append((id, draft))
                    } catch {
                        failure = SyncError("add \(file)", error)
                        break
                    }
                    progress?(AddProgress(done: done + drafts.count, total: files.count))
                    if sealer.byteCount >= Self.batchBytes { break }
                }
                return (drafts, failure)
            } keeping: { drafts, store in
                for (id, draft) in drafts.0 { try store.change(id) { _ in draft } }
            }
            var part = AddReport()
            for (id, draft) in sealed.0 {
                part.items.append(id)
                part.attachments += draft.attachments.map { AttachmentKey(item: id, id: $0.id) }
            }
            report.items += part.items
            report.attachments += part.attachments
            if !part.items.isEmpty { added?(part) }
            // Those before it are kept, and it is said which they are.
            if let failure = sealed.1 { throw failure }
            rest = rest.dropFirst(sealed.0.count)
        }
        return report
    }

    /// Looks at all files before the first is sealed: a mistyped name costs nothing.
    private func check(_ files: [String]) async throws(SyncError) {
        try await SyncError.mapping("add") {
            try await Blocking.run { for file in files { try FileSealer.check(file) } }
        }
    }

    private func attach(
        _ files: [String], to item: EntryID, _ progress: (@Sendable (AddProgress) -> Void)?,
        _ edit: @escaping @Sendable (ItemDraft?) throws -> ItemDraft
    ) async throws(SyncError) -> AddReport {
        try await check(files)
        let added = try await sealing { sealer in
            try files.enumerated().map { index, file in
                let attachment = try sealer.seal(file, for: item)
                progress?(AddProgress(done: index + 1, total: files.count))
                return attachment
            }
        } keeping: { attachments, store in
            try store.change(item) { before in
                var draft = try edit(before)
                draft.attachments += attachments
                return draft
            }
        }
        return AddReport(
            items: [item], attachments: added.map { AttachmentKey(item: item, id: $0.id) })
    }

    /// Seals files, and names in one transaction what was sealed; killed anywhere, both are there or
    /// neither.
    private func sealing<Sealed: Sendable>(
        _ seal: @escaping @Sendable (FileSealer) throws -> Sealed,
        keeping keep: @escaping @Sendable (Sealed, inout EntryStore) throws -> Void
    ) async throws(SyncError) -> Sealed {
        let spool = Spool(opened.places)
        let tools = try await mergeTools()
        // What one that was killed has left.
        try await catalog.sweepSpool(spool)
        let entered = try SyncError.mapping("add") { try spool.enter() }
        defer { withExtendedLifetime(entered) {} }
        let (random, thumbnail) = (configuration.random, configuration.thumbnail)
        let isCancelled = Locked(false)
        let (sealed, spooled) = try await SyncError.mapping("add") {
            try await withTaskCancellationHandler {
                try await Blocking.run {
                    let sealer = FileSealer(
                        tools.opener, random, spool, isCancelled: { isCancelled.withLock { $0 } },
                        thumbnail: thumbnail)
                    let sealed = try seal(sealer)
                    try sealer.finish()
                    return (sealed, sealer.spooled)
                }
            } onCancel: {
                isCancelled.withLock { $0 = true }
            }
        }
        try SyncError.mapping("add") { try configuration.reached("sealed") }
        try await catalog.change("add", with: tools, spooled: spooled) { store in
            try keep(sealed, &store)
        }
        try SyncError.mapping("add") { try configuration.reached("rows kept") }
        try requireOpen("add")
        changed()
        return sealed
    }

    // MARK: The trash

    /// What was removed and may come back, the latest first.
    public func trash(limit: Int = 1_000) async throws(SyncError) -> [TrashedItem] {
        try requireOpen("list the trash")
        let decoder = EntryDecoder()
        let found = try await catalog.trash(limit: limit)
        return found.compactMap { trashed in
            guard let draft = try? ItemDraft(trashed.payload, using: decoder),
                let removed = Timestamp(seconds: trashed.removedAt)
            else { return nil }
            let title =
                trashed.attachment == nil
                ? draft.title : draft.attachments.first?.name ?? draft.title
            return TrashedItem(
                item: trashed.entry, attachment: trashed.attachment, title: title,
                attachmentCount: draft.attachments.count, removed: removed)
        }
    }

    /// Brings an item back as it was, or one attachment into its item.
    ///
    /// - Throws: `noSuchID` if it is not in the trash; `invalidInput` if the attachment's item is not
    ///   here.
    public func untrash(
        _ item: EntryID, attachment: AttachmentID? = nil
    ) async throws(SyncError) {
        let name = attachment.map { "\($0)" } ?? "\(item)"
        try await change("untrash \(name)") { store in
            guard let trashed = try store.connection.trashed(item, attachment) else {
                throw SyncError(.noSuchID, "untrash \(name)", "there is no \(name) in the trash")
            }
            let (payload, batch) = try store.read(trashed.payload, of: item)
            let draft = ItemDraft(payload, in: batch)
            try store.change(item, over: trashed.payload) { before in
                try Self.restored(draft, attachment != nil, over: before, item)
            }
            try store.forgetTrash(item, attachment)
        }
        await bringBack(item)
    }

    /// Takes what lies in the trash of an item's bytes back into the cache, as far as there is room.
    private func bringBack(_ item: EntryID) async {
        let trash = TrashFolder(opened.places)
        // What cannot come back now comes from the store when it is opened.
        for row in (try? await catalog.item(item)?.attachments) ?? [] {
            guard let record = row.ref?.recordName, trash.holds(record) else { continue }
            _ = try? await materializer.file(row.key, handsOut: false)
        }
        try? await sweepDropped()
    }

    /// Removes what nothing names any more, or moves it into the trash.
    func sweepDropped() async throws(SyncError) {
        let tenant = try enter("sweep the cache")
        defer { withExtendedLifetime(tenant) {} }
        try await Sweep(catalog: catalog, places: opened.places).run()
        try await catalog.sweepSpool(Spool(opened.places))
    }

    private static func restored(
        _ draft: ItemDraft, _ isAttachment: Bool, over before: ItemDraft?, _ item: EntryID
    ) throws -> ItemDraft {
        guard var now = before else {
            guard !isAttachment else {
                throw SyncError(
                    .invalidInput, "untrash", "the attachment's item \(item) is not here",
                    hint: "bring the item back first, if it is in the trash")
            }
            return draft
        }
        // The item is here: what it lacks comes back.
        let ids = Set(now.attachments.map(\.id))
        now.attachments += draft.attachments.filter { !ids.contains($0.id) }
        return now
    }

    // MARK: Kit

    /// Runs a change in one transaction that is on the disk when it returns.
    func change<Result: Sendable>(
        _ operation: String, _ body: @escaping @Sendable (inout EntryStore) throws -> Result
    ) async throws(SyncError) -> Result {
        let tenant = try enter(operation)
        defer { withExtendedLifetime(tenant) {} }
        let result = try await catalog.change(operation, with: try await mergeTools(), body)
        // A logout that came in between has seen no change: it must not count as made.
        try requireOpen(operation)
        changed()
        return result
    }

    /// What merging needs: the account's key, if it is this catalog's.
    func mergeTools() async throws(SyncError) -> MergeTools {
        MergeTools(
            opener: RefOpener(keys: try await accountKeys(), account: opened.scope.account),
            random: configuration.random, now: configuration.clock.now)
    }

    var currentTime: Timestamp {
        Timestamp(seconds: configuration.clock.now) ?? .beginning
    }

    private func changed() {
        broadcast.send(.catalog)
    }

    private static func noItem(_ item: EntryID, _ operation: String) -> SyncError {
        SyncError(.noSuchID, operation, "there is no item \(item)")
    }
}
