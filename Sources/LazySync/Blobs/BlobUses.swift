internal import SyncPlatform

/// Who uses a record's files: one byte of one file a record, shared by all who read or write them,
/// and held alone by whoever removes them.
///
/// The locks die with their holder, so nothing stays in use by a process that is gone.
struct BlobUses: Sendable {
    private let lock: FileLock

    init(_ places: AccountPlaces) {
        lock = FileLock(path: places.locks + "/uses")
    }

    /// Joins those who use a record's files; waits while somebody removes them.
    func share(_ record: String) throws(FileError) -> FileLock.Token {
        try lock.lock(.shared, TransferLocks.range(record))
    }

    /// Has a record's files alone; nil if somebody uses them.
    func tryAlone(_ record: String) throws(FileError) -> FileLock.Token? {
        try lock.tryLock(.exclusive, TransferLocks.range(record))
    }

    /// The same for a record of which only the hash is known.
    func tryAlone(hash: UInt64) throws(FileError) -> FileLock.Token? {
        try lock.tryLock(.exclusive, TransferLocks.range(hash: hash))
    }

    /// The records that are in use now.
    func held() throws(FileError) -> TransferLocks.Held {
        TransferLocks.Held(ranges: try lock.lockedRanges())
    }
}
