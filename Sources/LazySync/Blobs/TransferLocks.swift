internal import SyncPlatform

/// The locks that make `pending` true: one byte of one file a record, held while it is fetched, and
/// one for all thumbnails that are due, held while they are worked off.
///
/// They die with their holder, so a crash leaves no spinner, and the survivor goes on.
struct TransferLocks: Sendable {
    private let lock: FileLock

    init(_ places: AccountPlaces) {
        self.init(places, "transfers")
    }

    private init(_ places: AccountPlaces, _ name: String) {
        lock = FileLock(path: places.locks + "/" + name)
    }

    /// The same for what is being sent.
    static func uploads(_ places: AccountPlaces) -> TransferLocks {
        TransferLocks(places, "uploads")
    }

    /// Takes a record's lock; nil if somebody is fetching it.
    func tryLock(_ record: String) throws(FileError) -> FileLock.Token? {
        try lock.tryLock(.exclusive, Self.range(record))
    }

    /// Opens the locks for many records, which are taken and let go one by one.
    func many() throws(FileError) -> Many { Many(ranges: try lock.ranges()) }

    /// The locks of many records, over one open file.
    struct Many: Sendable {
        fileprivate let ranges: FileLock.Ranges

        /// Takes a record's lock, if nobody has it.
        func take(_ record: String) throws(FileError) {
            _ = try ranges.take(TransferLocks.range(record))
        }

        /// Lets a record's lock go.
        func letGo(_ record: String) { ranges.letGo(TransferLocks.range(record)) }
    }

    /// Takes the lock of a record of which only the hash is known.
    func tryLock(hash: UInt64) throws(FileError) -> FileLock.Token? {
        try lock.tryLock(.exclusive, Self.range(hash: hash))
    }

    /// Takes the lock of the thumbnails that are due; nil if somebody is working them off.
    func tryLockThumbnails() throws(FileError) -> FileLock.Token? {
        try lock.tryLock(.exclusive, Self.thumbnails)
    }

    /// Promises room to thumbnails that are about to come: a lock as long as they are large.
    ///
    /// The caller has the thumbnails' lock, so there is one promise at the most.
    func promise(thumbnails bytes: Int64) throws(FileError) -> FileLock.Token? {
        let start = Self.promises.lowerBound
        return try lock.tryLock(.exclusive, start..<start + max(bytes, 1))
    }

    /// What is being fetched now, by any process.
    struct Held: Sendable {
        let ranges: [Range<Int64>]
        /// Records of this process whose transfer is paused and has let its lock go meanwhile.
        var paused: Set<String> = []

        var isEmpty: Bool { ranges.isEmpty && paused.isEmpty }

        /// Whether the thumbnails that are due are being worked off.
        var thumbnails: Bool { ranges.contains { $0.overlaps(TransferLocks.thumbnails) } }

        /// The room that is promised to thumbnails that are about to come, in bytes.
        var promised: Int64 {
            ranges.reduce(0) { $0 + Int64($1.clamped(to: TransferLocks.promises).count) }
        }

        /// Whether a record is being fetched.
        func contains(_ record: String) -> Bool {
            // Hashing is worth it only if there is anything to find.
            if paused.contains(record) { return true }
            return !ranges.isEmpty
                && ranges.contains { $0.overlaps(TransferLocks.range(record)) }
        }
    }

    /// Looks once at all locks.
    func held() throws(FileError) -> Held {
        Held(ranges: try lock.lockedRanges())
    }

    /// Above all records' bytes.
    private static let thumbnails: Range<Int64> = 1 << 62..<1 << 62 + 1
    /// Above that.
    private static let promises: Range<Int64> = 1 << 62 + 1..<Int64.max

    /// The record's byte: two records share one so rarely that waiting for each other is no harm.
    static func range(_ record: String) -> Range<Int64> {
        range(hash: RecordHash.of(record))
    }

    /// The byte of a record of which only the hash is known.
    static func range(hash: UInt64) -> Range<Int64> {
        let byte = Int64(hash >> 2)
        return byte..<byte + 1
    }
}
