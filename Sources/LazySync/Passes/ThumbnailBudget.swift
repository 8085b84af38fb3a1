internal import SyncPlatform

/// What thumbnails may take at this moment, inside one transaction: their share of the limit, what
/// is left of the whole limit and of the disk, and what makes room.
///
/// The oldest thumbnails make room for newer ones, and for one that a person asks for, and last those
/// that somebody looked at lately; originals do for all of them, as far as they may go.
struct ThumbnailBudget {
    /// How a thumbnail stands to the room that there is.
    enum Answer { case fits, doesNotFit, diskFull }

    private let connection: Connection
    private let store: ThumbnailStore
    private let share: Int64
    /// What thumbnails and small photos may take by the limit, and by the disk.
    private let byLimit: Int64
    private let byDisk: Int64
    /// The same for small photos, for which nothing else goes.
    private let photosByLimit: Int64
    private let photosByDisk: Int64
    /// A thumbnail that stays: the one that room is made for.
    private let spared: Int64?
    private var taken: Int64
    private var photos: Int64 = 0
    /// What somebody looked at lately, by when.
    private let looks: [Int64: Int]
    private var oldest: [KeptThumbnail] = []
    private var lookedAt: [KeptThumbnail] = []
    private var last: KeptThumbnail?
    /// The thumbnails that went.
    private(set) var gone: [AttachmentKey] = []

    private static let page = 64

    /// Looks at what there is; `wanted` is the most that will be asked for.
    init(
        _ connection: Connection, _ room: CacheRoom, wanted: Int64, looks: RecentLooks,
        sparing row: Int64? = nil
    ) throws {
        self.connection = connection
        store = ThumbnailStore(folder: room.places.thumbnails)
        let limit = try room.limit(connection)
        let use = try room.use(connection)
        share = limit.thumbnails
        taken = use.thumbnails
        spared = row
        self.looks = looks.turns
        let limitLeft = limit.bytes - use.originals - use.thumbnails
        let diskLeft = use.free - limit.keptFree
        let lacking = wanted - min(limitLeft, diskLeft)
        let evictable = try room.evictable(connection, upTo: lacking, sparing: nil)
        (photosByLimit, photosByDisk) = (taken + limitLeft, taken + diskLeft)
        (byLimit, byDisk) = (photosByLimit + evictable, photosByDisk + evictable)
    }

    /// Takes room for a thumbnail of its own; `isWanted` if a person asks for it, however old it is.
    mutating func take(_ work: ThumbnailWork, isWanted: Bool = false) throws -> Answer {
        let cost = DiskCost.file(Int64(work.size))
        guard cost <= share else { return .doesNotFit }
        let overLimit = max(taken + cost - share, taken + photos + cost - byLimit)
        let overDisk = taken + photos + cost - byDisk
        let age = isWanted ? nil : work
        guard try letGo(max(overLimit, overDisk), olderThan: age) else {
            // If it is the disk alone, the thumbnail comes when there is room on it.
            return try couldLetGo(overLimit, olderThan: age) ? .diskFull : .doesNotFit
        }
        taken += cost
        return .fits
    }

    /// Takes room for a small photo that is its own thumbnail; nothing goes for it.
    mutating func take(photo work: ThumbnailWork) throws -> Answer {
        guard let record = try connection.addresses(row: work.row)?.original?.recordName,
            try connection.blobRecord(record)?.mark == nil
        else { return .fits }
        let cost = DiskCost.blob(Int64(work.size))
        guard taken + photos + cost <= photosByLimit else { return .doesNotFit }
        guard taken + photos + cost <= photosByDisk else { return .diskFull }
        photos += cost
        return .fits
    }

    private mutating func couldLetGo(
        _ excess: Int64, olderThan work: ThumbnailWork?
    ) throws -> Bool {
        try thoseToGo(atLeast: excess, olderThan: work) != nil
    }

    /// Removes the oldest thumbnails; none if that could not be enough.
    private mutating func letGo(
        _ excess: Int64, olderThan work: ThumbnailWork?
    ) throws -> Bool {
        guard let leaving = try thoseToGo(atLeast: excess, olderThan: work) else { return false }
        guard !leaving.isEmpty else { return true }
        let before = taken
        for thumbnail in leaving {
            // One that cannot be removed now stays on the account.
            guard let key = try connection.letGo(thumbnail, in: store) else { continue }
            gone.append(key)
            taken -= thumbnail.cost
        }
        let rows = Set(leaving.map(\.row))
        oldest.removeAll { rows.contains($0.row) }
        lookedAt.removeAll { rows.contains($0.row) }
        return before - taken >= excess
    }

    /// Those that have to go, the oldest first, and last what somebody looked at lately; nil if all
    /// that may are not enough.
    private mutating func thoseToGo(
        atLeast excess: Int64, olderThan work: ThumbnailWork?
    ) throws -> [KeptThumbnail]? {
        var leaving: [KeptThumbnail] = []
        var freed: Int64 = 0
        func mayGo(_ one: KeptThumbnail) -> Bool {
            guard let work else { return true }
            return (one.createdAt, one.row) < (work.createdAt, work.row)
        }
        while freed < excess {
            if leaving.count == oldest.count, try !readPage() { break }
            guard leaving.count < oldest.count else { continue }
            let next = oldest[leaving.count]
            guard mayGo(next) else { break }
            freed += next.cost
            leaving.append(next)
        }
        for next in lookedAt where freed < excess && mayGo(next) {
            freed += next.cost
            leaving.append(next)
        }
        return freed >= excess ? leaving : nil
    }

    /// Reads more of the oldest; false if there are no more.
    private mutating func readPage() throws -> Bool {
        let page = try connection.oldestThumbnails(after: last, limit: Self.page)
        guard let end = page.last else { return false }
        last = end
        for thumbnail in page where thumbnail.row != spared {
            if looks[thumbnail.row] == nil {
                oldest.append(thumbnail)
            } else {
                lookedAt.append(thumbnail)
            }
        }
        lookedAt.sort { looks[$0.row, default: 0] < looks[$1.row, default: 0] }
        return true
    }
}

extension Connection {
    /// Removes a thumbnail's file and what is known of it; nil if it cannot be removed now.
    func letGo(_ thumbnail: KeptThumbnail, in store: ThumbnailStore) throws -> AttachmentKey? {
        do throws(FileError) {
            try FileSystem.remove(store.path(thumbnail.ref.recordName, type: thumbnail.type))
        } catch {
            return nil
        }
        try forget(thumbnail, .notEager)
        return try attachmentKey(row: thumbnail.row)
    }

    /// Forgets that a thumbnail is here; it is due from then on, or was not to be kept.
    func forget(_ thumbnail: KeptThumbnail, _ state: ThumbnailState) throws {
        try setThumbnail(thumbnail.row, state)
        var tally = Tally()
        tally.count(.here, bytes: thumbnail.cost, -1)
        tally.count(state, bytes: 0, 1)
        try tally.save(self)
    }
}
