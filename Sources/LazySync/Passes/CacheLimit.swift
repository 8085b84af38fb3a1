/// How much the cache may take of a disk; pure.
struct CacheLimit: Sendable, Hashable {
    /// What all files of the cache may take.
    let bytes: Int64
    /// What stays free on the disk, for the catalog and for others.
    let keptFree: Int64

    /// The usual limit: 2 GiB or a tenth of the disk, whichever is smaller.
    init(chosen: Int64?, diskBytes: Int64) {
        bytes = chosen ?? min(2 << 30, diskBytes / 10)
        keptFree = min(64 << 20, diskBytes / 20)
    }

    /// What thumbnails may take of it.
    var thumbnails: Int64 { bytes / 4 }

    /// Where the cache stands.
    struct Use: Sendable, Hashable {
        /// What originals may take.
        var originals: Int64
        /// What thumbnails take, or are about to.
        var thumbnails: Int64
        /// What is free on the disk.
        var free: Int64
    }

    /// How much has to go before `need` more bytes fit; 0 if they do.
    func excess(_ use: Use, need: Int64) -> Int64 {
        let overLimit = use.originals + use.thumbnails + need - bytes
        let overDisk = need + keptFree - use.free
        return max(overLimit, overDisk, 0)
    }

    /// Whether a blob could ever be here as a whole, with what is pinned.
    func couldHold(_ whole: Int64, pinned: Int64, thumbnails: Int64) -> Bool {
        whole <= bytes - pinned - thumbnails
    }
}
