internal import SyncPlatform

/// Makes a catalog out of an export beside the one that is there, and puts it in its place.
///
/// Nothing of the file is to be seen before all of it was read and its digest fits. The caller
/// holds the account's lock alone. Killed anywhere, the old catalog is in its place or the new one.
struct ImportPass {
    let lines: ImportLines
    let header: ExportHeader
    let places: AccountPlaces
    /// For the name of the copy of a catalog that is replaced.
    let now: Int64
    let isCancelled: @Sendable () -> Bool

    /// Entries a transaction, and attachments that are as much work.
    private static let batchCount = 10_000

    /// Reads the rest of the file.
    ///
    /// - Throws: `invalidInput` with the line that is wrong; `newerCatalog` and `notACatalog` for a
    ///   catalog that is there, unless `replacing`.
    func run(replacing: Bool) throws -> ImportReport {
        try places.clearUpImport()
        let old = try standing()
        switch old {
        case .rows(let isWhole):
            guard replacing, try !isWhole() else {
                throw SyncError(
                    .invalidInput, "import", "the catalog on this device is not empty",
                    hint: "'sync restore' brings it up to date; to begin anew, log out first")
            }
        case .unusable(let error):
            guard replacing else {
                throw SyncError(
                    error.code, error.operation, error.detail,
                    hint: "import with --replace puts the file in its place and keeps a copy")
            }
        case .free: break
        }
        var report = ImportReport(account: header.name)
        do {
            try fill(&report)
            if case .free = old {} else { report.kept = try keepCopy() }
            try publish()
            if let kept = report.kept { try places.setFoldersAside(beside: kept) }
        } catch {
            try? places.clearUpImport()
            throw error
        }
        report.head = header.head?.seq ?? 0
        report.leftOut = lines.leftOut
        return report
    }

    // MARK: What is there

    private enum Standing {
        case free
        /// There are rows; whether the file is whole takes long to tell.
        case rows(isWhole: () throws -> Bool)
        /// Of a newer version, damaged, or no catalog.
        case unusable(SyncError)
    }

    private func standing() throws -> Standing {
        let isThere =
            try FileSystem.facts(places.catalog) != nil
            || FileSystem.facts(places.catalog + ".restoring") != nil
        guard isThere else { return .free }
        do {
            let connection = try Migrator().open(places.catalog, create: false, isExclusive: true)
            guard try connection.hasEntries() else { return .free }
            return .rows { try connection.integrityCheck().isEmpty }
        } catch {
            let known =
                (error as? SQLiteError).map {
                    SyncError("open the catalog", $0, at: places.catalog)
                } ?? SyncError("open the catalog", error)
            guard known.code == .newerCatalog || known.code == .notACatalog else { throw known }
            return .unusable(known)
        }
    }

    // MARK: The new catalog

    private func fill(_ report: inout ImportReport) throws {
        let connection = try Migrator().open(places.importing, create: true, isExclusive: true)
        // Until it has its name, nothing of it must outlast a crash.
        try connection.execute(
            "PRAGMA synchronous = OFF; PRAGMA cache_size = -24576; PRAGMA wal_autocheckpoint = 4000"
        )
        try connection.makeAccount(header.account)
        var store = ImportStore(connection)
        var entries: [ExportedEntry] = []
        var staged: [ExportedStaged] = []
        var work = 0
        reading: while true {
            switch try lines.next() {
            case .entry(let entry):
                work += entry.work
                entries.append(entry)
            case .staged(let one):
                work += 1 + (one.sealed?.count ?? 0) / ExportedEntry.bytesOfWork
                staged.append(one)
            case .end: break reading
            case .header: break
            }
            guard work >= Self.batchCount else { continue }
            guard !isCancelled() else { throw CancellationError() }
            try store.write(entries)
            try store.write(staged)
            (entries, staged, work) = ([], [], 0)
        }
        guard !isCancelled() else { throw CancellationError() }
        try store.write(entries)
        try store.write(staged)
        try store.finish(header.head)
        report.items = store.items
        report.attachments = store.counts.attachments
        try connection.execute("PRAGMA optimize")
        try connection.checkpoint(.truncate)
    }

    private func publish() throws {
        for suffix in AccountPlaces.sideFiles { try FileSystem.remove(places.importing + suffix) }
        try File(places.importing, for: .readWrite).sync()
        // The new catalog keeps no account of what the old one had fetched, and so it would never
        // go: it comes again when it is opened.
        for folder in [places.blobs, places.thumbnails] { try Directory.removeTree(folder) }
        // A log of the old catalog must not be replayed over the new one.
        for suffix in AccountPlaces.sideFiles + [".before", ".before.tmp"] {
            try FileSystem.remove(places.catalog + suffix)
        }
        try FileSystem.rename(places.importing, to: places.catalog)
        try Directory.sync(places.data)
    }

    /// Keeps the catalog that goes, with its log, under the day and time.
    private func keepCopy() throws -> String {
        let stamp = (Timestamp(seconds: now)?.description ?? "old").filter {
            $0 != ":" && $0 != "-"
        }
        var name = "\(places.data)/catalog-\(stamp).sqlite"
        var count = 1
        while try FileSystem.facts(name) != nil || FileSystem.facts(name + "-wal") != nil {
            count += 1
            name = "\(places.data)/catalog-\(stamp)-\(count).sqlite"
        }
        // The log first: where the file is, all of it is.
        for suffix in ["-journal", "-wal", ""] {
            guard let facts = try FileSystem.facts(places.catalog + suffix), facts.size > 0 else {
                continue
            }
            try FileSystem.copy(File(places.catalog + suffix, for: .read), to: name + suffix)
        }
        return name
    }
}

extension ExportedEntry {
    fileprivate static let bytesOfWork = 1_024

    /// How much it is to write, in entries.
    fileprivate var work: Int {
        guard let item else { return 1 }
        let bytes = (item.text?.utf8.count ?? 0) + (item.payload?.count ?? 0)
        return 1 + item.attachments.count + bytes / Self.bytesOfWork
    }
}
