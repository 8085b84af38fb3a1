import LazySync

extension Verb {
    static let remove = Verb(
        name: "remove",
        summary: "remove an item, or an attachment from its item",
        usage: """
            usage: sync remove ID

            Removes an item with all its attachments, if the id is an item's, or takes one attachment
            out of its item. It works offline, and 'sync push' sends it. What was removed lies in the
            trash for 30 days: 'sync untrash ID' brings it back. Prints the id.

            examples
              sync remove 9d41c7e0
              sync remove 9d41c7e0/4f2a9c01
              sync trash
            """,
        operands: .one("ID"),
        run: remove)

    private static func remove(_ context: Context) async throws -> ExitCode {
        let text = context.arguments.operands[0]
        let engine = try await context.openEngine()
        let changed = try await find(text, engine)
        if let id = changed.attachment {
            try await engine.remove(AttachmentKey(item: changed.item, id: id))
        } else {
            try await engine.remove(changed.item)
        }
        context.console.print(context.console.output.lines([changed]))
        return .done
    }

    private static func find(_ text: String, _ engine: SyncEngine) async throws -> Changed {
        let attachment = await result { () async throws(SyncError) in
            try await engine.resolveAttachment(text)
        }
        if text.contains("/") {
            let key = try attachment.get()
            return Changed(item: key.item, attachment: key.id)
        }
        let item = await result { () async throws(SyncError) in
            try await engine.resolveItem(text)
        }
        return try Changed(text, item, attachment)
    }

    private static func result<Value>(
        _ body: () async throws(SyncError) -> Value
    ) async -> Result<Value, SyncError> {
        do throws(SyncError) {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }
}

extension Changed {
    /// What a word names, which could be an item or an attachment.
    ///
    /// - Throws: `ambiguousID` with all that it could be; `noSuchID`, or what went wrong.
    init(
        _ text: String, _ item: Result<EntryID, SyncError>,
        _ attachment: Result<AttachmentKey, SyncError>
    ) throws(SyncError) {
        var could: [String] = []
        var missing: SyncError?
        func note(_ error: SyncError) throws(SyncError) {
            switch error.code {
            case .ambiguousID(let ids): could += ids
            case .noSuchID: missing = error
            default: throw error
            }
        }
        do throws(SyncError) { could.append("\(try item.get())") } catch { try note(error) }
        do throws(SyncError) { could.append("\(try attachment.get())") } catch { try note(error) }
        guard could.count <= 1 else {
            throw SyncError(
                .ambiguousID(could), "remove \(text)",
                "\(text) could be \(could.count) items and attachments")
        }
        if case .success(let item) = item {
            self.init(item: item)
        } else if case .success(let key) = attachment {
            self.init(item: key.item, attachment: key.id)
        } else {
            throw SyncError(
                missing?.code ?? .noSuchID, "remove \(text)",
                "there is no item or attachment \(text)")
        }
    }
}
