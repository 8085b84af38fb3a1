internal import SyncPlatform

/// The locks that make `pending` true: one byte of one file a record, held while it is fetched, and
/// one for all thumbnails that are due, held while they are worked off.
///
/// They die with their holder, so a crash leaves no spinner, and the survivor goes on.
struct TransferLocks: Sendable {
    private let lock: FileLock

    init(_ places: AccountPlaces) {
        lock = FileLock(path: places.locks + "/transfers")
    }

    /// Takes a record's lock; nil if somebody is fetching it.
    func tryLock(_ record: String) throws(FileError) -> FileLock.Token? {
        try lock.tryLock(.exclusive, Self.range(record))
    }

    /// Takes the lock of the thumbnails that are due; nil if somebody is working them off.
    func tryLockThumbnails() throws(FileError) -> FileLock.Token? {
        try lock.tryLock(.exclusive, Self.thumbnails)
    }

    /// What is being fetched now, by any process.
    struct Held: Sendable {
        let ranges: [Range<Int64>]

        /// Whether the thumbnails that are due are being worked off.
        var thumbnails: Bool { ranges.contains { $0.overlaps(TransferLocks.thumbnails) } }

        /// Whether a record is being fetched.
        func contains(_ record: String) -> Bool {
            // Hashing is worth it only if there is anything to find.
            !ranges.isEmpty && ranges.contains { $0.overlaps(TransferLocks.range(record)) }
        }
    }

    /// Looks once at all locks.
    func held() throws(FileError) -> Held {
        Held(ranges: try lock.lockedRanges())
    }

    /// Above all records' bytes.
    private static let thumbnails: Range<Int64> = 1 << 62..<1 << 62 + 1

    /// The record's byte: two records share one so rarely that waiting for each other is no harm.
    static func range(_ record: String) -> Range<Int64> {
        let hash = Hash.blake2b256(record.utf8Span.span)
        let byte = Int64(hash.span.bigEndian(at: 0, as: UInt64.self) >> 2)
        return byte..<byte + 1
    }
}
