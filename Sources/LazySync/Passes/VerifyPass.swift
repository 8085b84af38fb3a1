internal import SyncPlatform

/// Checks catalog, head, spool, trash and cache against each other, and puts right what is wrong if
/// it is asked to.
///
/// Every file is looked at, and read if it is no longer the one that was proved; of a share that
/// chance chooses, every chunk is proved. Where a check of a share came to is kept, so that the next
/// one goes on there.
struct VerifyPass {
    let account: AccountID
    let catalog: Catalog
    let places: AccountPlaces
    let random: any RandomSource
    let options: VerifyOptions
    /// Asked for the first time that something has to be proved.
    let keys: @Sendable () async throws(SyncError) -> AccountKeys
    var progress: @Sendable (VerifyProgress) -> Void = { _ in }

    var report = VerifyReport()
    /// Where the check of a share before this one was interrupted.
    var resumed: VerifyPlace?
    /// What is newer than this, in Unix seconds, may be somebody's work.
    let start = System.wallClockSeconds
    private var total = 0
    private var unsaved: Int64 = 0

    static let page = 256
    private static let mostListed = 1_000
    /// How much is proved between two notes of where it came to.
    private static let saveBytes: Int64 = 64 << 20

    init(
        account: AccountID, catalog: Catalog, places: AccountPlaces, random: any RandomSource,
        options: VerifyOptions,
        keys: @escaping @Sendable () async throws(SyncError) -> AccountKeys
    ) {
        self.account = account
        self.catalog = catalog
        self.places = places
        self.random = random
        self.options = options
        self.keys = keys
    }

    /// Runs to the end.
    ///
    /// - Throws: `cancelled`; `keyMissing` if something has to be proved; `storage`.
    mutating func run() async throws(SyncError) -> VerifyReport {
        let tallies = try await catalog.tallies()
        total = (tallies[.blobsHere] ?? 0) + (tallies[.thumbnailsHere] ?? 0)
        if let share = options.sample, let place = try await catalog.checkedPlace(share: share) {
            resumed = VerifyPlace(place)
            report.resumed = resumed != nil
        }
        // In a damaged catalog the rest says nothing.
        guard try await checkCatalog() else { return report }
        try await checkSpool()
        try await checkTrash()
        try await checkBlobs()
        try await checkThumbnails()
        try await checkStrays(.blobs)
        try await checkStrays(.thumbnails)
        if options.sample != nil { await keep(nil) }
        return report
    }

    // MARK: The catalog

    private mutating func checkCatalog() async throws(SyncError) -> Bool {
        let found = try await catalog.recount()
        for line in found.damage.prefix(100) { add(VerifyProblem(kind: .catalog, detail: line)) }
        guard found.damage.isEmpty else { return false }
        var wrong = found.wrongCounts.map { VerifyProblem(kind: .count, detail: $0.stored) }
        if !found.digestFits {
            wrong.append(VerifyProblem(kind: .digest, detail: "of all entries"))
        }
        if options.repair, !wrong.isEmpty {
            try await catalog.setCountsRight()
            for index in wrong.indices { wrong[index].repaired = true }
        }
        for problem in wrong { add(problem) }
        report.head = await fits(found)
        if report.head == false {
            add(
                VerifyProblem(
                    kind: .head, detail: "what is here does not add up to the verified head"))
        }
        return true
    }

    private func fits(_ found: CatalogFindings) async -> Bool? {
        let restore = FileLock(path: places.locks + "/outbox")
        guard let head = found.head, (try? restore.isLocked()) == false,
            let keys = try? await keys()
        else { return nil }
        do throws(FormatError) {
            try head.check(
                account: account, count: UInt64(found.entries), digest: found.digest, keys: keys)
            return true
        } catch {
            return false
        }
    }

    // MARK: What no record knows

    private mutating func checkStrays(_ kind: CacheWalk.Kind) async throws(SyncError) {
        let folder = kind == .blobs ? places.blobs : places.thumbnails
        let walk = CacheWalk(folder: folder, kind: kind)
        let repair = CacheRepair(catalog: catalog, places: places)
        guard let parts = try? walk.parts() else {
            report.skipped += 1
            return
        }
        // A record that comes later makes files that are newer.
        let known = KnownRecords(
            try await catalog.knownRecords(
                kind == .thumbnails ? .thumbnails : .blobs, RecordHash.of))
        for part in parts {
            try await checkCancellation(at: nil)
            let (start, repairs) = (start, options.repair)
            let found: [VerifyProblem]? = try await blocking {
                guard let strays = try? walk.strays(in: part, known: known, before: start) else {
                    return nil
                }
                return strays.map { stray in
                    VerifyProblem(
                        kind: kind == .blobs ? .orphan : .thumbnailOrphan, path: stray.path,
                        repaired: repairs && repair.remove(stray, of: walk, before: start))
                }
            }
            guard let found else {
                report.skipped += 1
                continue
            }
            for problem in found { add(problem) }
        }
    }

    // MARK: What all steps need

    mutating func add(_ problem: VerifyProblem) {
        report.found += 1
        if problem.repaired { report.repaired += 1 }
        if report.problems.count < Self.mostListed { report.problems.append(problem) }
    }

    mutating func looked() {
        report.checked += 1
        progress(
            VerifyProgress(
                done: report.checked, total: max(total, report.checked), bytes: report.bytes))
    }

    mutating func proved(_ bytes: Int64) {
        report.proved += 1
        report.bytes += bytes
        unsaved += bytes
    }

    /// Whether chance chooses a file for the share that is proved.
    func isChosen() -> Bool {
        guard let share = options.sample else { return false }
        return random.number() % 100 < UInt64(max(share, 0))
    }

    /// Keeps where a check of a share came to, now and then.
    mutating func came(to place: VerifyPlace, isEndOfPage: Bool = false) async {
        guard options.sample != nil, isEndOfPage || unsaved >= Self.saveBytes else { return }
        if let resumed, place <= resumed { return }
        await keep(place)
    }

    private mutating func keep(_ place: VerifyPlace?) async {
        unsaved = 0
        // On a disk that cannot be written to, the next check begins anew.
        try? await catalog.saveCheckedPlace(place?.bytes, share: options.sample ?? 0)
    }

    mutating func checkCancellation(at place: VerifyPlace?) async throws(SyncError) {
        guard Task.isCancelled else { return }
        if let place { await came(to: place, isEndOfPage: true) }
        throw SyncError(.cancelled, "verify", "cancelled")
    }

    func blocking<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws(SyncError) -> Result {
        try await SyncError.mapping("verify") { try await Blocking.run(body) }
    }
}

/// Where a check of a share of all files came to: a record's name, or behind all of them the
/// place of a thumbnail.
enum VerifyPlace: Sendable, Hashable, Comparable {
    case blob(String)
    case thumbnail(createdAt: Int64, row: Int64)

    /// No record's name begins with it.
    private static let mark = UInt8(ascii: "~")

    /// Reads what was kept; nil for anything else.
    init?(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        guard bytes.first == Self.mark else {
            self = .blob(text)
            return
        }
        let numbers = text.dropFirst().split(separator: "/").compactMap { Int64($0) }
        guard numbers.count == 2 else { return nil }
        self = .thumbnail(createdAt: numbers[0], row: numbers[1])
    }

    /// What is kept.
    var bytes: [UInt8] {
        switch self {
        case .blob(let record): Array(record.utf8)
        case .thumbnail(let createdAt, let row): Array("~\(createdAt)/\(row)".utf8)
        }
    }

    static func < (left: VerifyPlace, right: VerifyPlace) -> Bool {
        switch (left, right) {
        case (.blob(let left), .blob(let right)):
            left.utf8.lexicographicallyPrecedes(right.utf8)
        case (.thumbnail(let left, let row), .thumbnail(let right, let other)):
            (left, row) < (right, other)
        case (.blob, .thumbnail): true
        case (.thumbnail, .blob): false
        }
    }
}
