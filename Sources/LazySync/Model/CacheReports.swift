/// What the cache takes on the disk, in bytes as the disk counts them.
public struct CacheUse: Sendable, Hashable {
    /// What opened files take or may take.
    public var originals: Int64
    /// What thumbnails take.
    public var thumbnails: Int64
    /// What both may take together.
    public var limit: Int64
    /// Whether a person has chosen the limit.
    public var isLimitChosen: Bool
    /// What the files of pinned attachments take.
    public var pinned: Int64
    /// Whether all attachments are pinned, also those to come.
    public var pinsAll = false

    /// What all of it takes.
    public var bytes: Int64 { originals + thumbnails }
}

/// What `evictAll` did.
public struct EvictionReport: Sendable, Hashable {
    /// Files that were removed.
    public var files = 0
    /// What they took on the disk.
    public var bytes: Int64 = 0
    /// Files that stay because they are pinned.
    public var pinned = 0
    /// Files that stay because somebody uses them, or that cannot be removed now.
    public var inUse = 0

    /// Reports nothing yet.
    public init() {}
}

/// What `keepPinned` brought.
public struct PinReport: Sendable, Hashable {
    /// Files that came.
    public var fetched = 0
    /// What came over the wire for them, in bytes of content.
    public var bytes: Int64 = 0
    /// Those that are not here, with the reasons: they did not come, or have no usable address.
    public var missing: [AttachmentKey: UnavailableReason] = [:]
}

/// How far `keepPinned` is; for a progress bar.
public struct PinProgress: Sendable, Hashable {
    /// Files that came or were given up.
    public var done: Int
    /// Those of them that came.
    public var fetched: Int
    /// Files that were not here when it began, also those without a usable address.
    public var total: Int
    /// What came over the wire so far, in bytes of content.
    public var bytes: Int64
    /// How many bytes all these files have; less comes if a part of some is here, or does not come.
    public var totalBytes: Int64
}
