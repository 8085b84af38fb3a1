internal import SyncPlatform

/// Records of an old store, added once.
extension EntryStore {
    /// Adds an old file's items; what was added before, or this very file, is not added again.
    mutating func importLegacy(_ source: LegacySource) throws -> LegacyReport {
        var report = LegacyReport(source.plan)
        let done = try connection.prepare(.isDone)
        done.bind(text: source.name, at: 1)
        if try done.step() {
            report.isRepeated = true
            return report
        }
        let statements = try EntryStatements(connection)
        var payloads: [EntryID: [UInt8]] = [:]
        for item in source.plan.items {
            if try statements.row(item.id) == nil {
                try add(item.draft, item.id, statements)
                report.imported += 1
            } else {
                report.known += 1
                continue
            }
            guard let row = try statements.row(item.id)?.row,
                let draft = try connection.draft(row: row)?.draft
            else { continue }
            payloads[item.id] = try draft.encode(using: decoder)
        }
        let added = source.plan.differences(from: payloads).filter { payloads[$0.id] != nil }
        guard added.isEmpty, payloads.count == report.imported else {
            throw SyncError(
                .storage, "import an old file", "a record does not read back as it was")
        }
        let note = try connection.prepare(.noteDone)
        note.bind(text: source.name, at: 1)
        note.bind(tools?.now ?? 0, at: 2)
        try note.run()
        return report
    }
}
