internal import SyncPlatform

/// What was removed and may come back: the rows of the trash, and the folders with its bytes.
extension VerifyPass {
    mutating func checkTrash() async throws(SyncError) {
        let decoder = EntryDecoder()
        var place = (removedAt: Int64.max, row: Int64.max)
        while true {
            let page = try await catalog.trash(before: place, limit: Self.page)
            guard let end = page.last else { break }
            place = (end.removedAt, end.row)
            for trashed in page {
                try await checkCancellation(at: nil)
                if (try? ItemDraft(trashed.payload, using: decoder)) != nil { continue }
                var problem = VerifyProblem(kind: .trashDamaged)
                problem.key = trashed.attachment.map { AttachmentKey(item: trashed.entry, id: $0) }
                problem.detail = "\(trashed.entry) cannot be brought back"
                add(problem)
            }
        }
        try await checkTrashFolders()
    }

    /// Folders of records that nothing in the trash names.
    private mutating func checkTrashFolders() async throws(SyncError) {
        let walk = CacheWalk(folder: places.trash, kind: .blobs)
        let start = start
        let known = KnownRecords(try await catalog.knownRecords(.trash, RecordHash.of))
        let found: [CacheWalk.Stray]? = try await blocking {
            guard let parts = try? walk.parts() else { return nil }
            var strays: [CacheWalk.Stray] = []
            for part in parts {
                guard let found = try? walk.strays(in: part, known: known, before: start) else {
                    return nil
                }
                strays += found
            }
            return strays
        }
        guard let found else {
            report.skipped += 1
            return
        }
        if found.isEmpty { return }
        // A folder that has come meanwhile was named before it came, however old it is.
        let repair = CacheRepair(catalog: catalog, places: places)
        let removed = options.repair ? await repair.removeTrash(found, of: walk, before: start) : []
        let now = KnownRecords(try await catalog.knownRecords(.trash, RecordHash.of))
        for stray in found {
            let isRemoved = removed.contains(stray.path)
            if !isRemoved, stray.hash.map(now.contains) == true { continue }
            add(VerifyProblem(kind: .trashOrphan, path: stray.path, repaired: isRemoved))
        }
    }
}
