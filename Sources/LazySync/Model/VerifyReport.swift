/// How thoroughly everything is checked, and whether what is wrong is put right.
public struct VerifyOptions: Sendable, Hashable {
    /// The share of the files, in percent, of which every chunk is proved; nil for none but those
    /// that were touched since they were proved last.
    public var sample: Int?
    /// Whether what is wrong is put right.
    public var repair: Bool

    /// Asks for a quick check that changes nothing.
    public init(sample: Int? = nil, repair: Bool = false) {
        self.sample = sample
        self.repair = repair
    }
}

/// What a check found.
public struct VerifyReport: Sendable, Hashable {
    /// Files that were looked at: originals and thumbnails that are marked as here.
    public var checked = 0
    /// Blobs in the spool that were looked at: what was added here and was not sent yet.
    public var spooled = 0
    /// Files, and blobs in the spool, of which every chunk was proved.
    public var proved = 0
    /// Bytes that were proved right.
    public var bytes: Int64 = 0
    /// Files that could not be read now; the next check tries again.
    public var skipped = 0
    /// What is wrong, the first thousand.
    public var problems: [VerifyProblem] = []
    /// How many things are wrong in all, and how many of them were put right.
    public var found = 0
    /// How many of them were put right.
    public var repaired = 0
    /// Whether what is here adds up to the verified head; nil if that cannot be told now, without
    /// a head, without the account's key, or in the middle of a restore.
    public var head: Bool?
    /// Whether it went on where a check before it was interrupted.
    public var resumed = false

    /// Whether everything was checked, and all of it is right.
    public var isRight: Bool { found == 0 && skipped == 0 }

    /// Reports nothing yet.
    public init() {}
}

/// One thing that is wrong.
public struct VerifyProblem: Sendable, Hashable {
    /// The kinds of things that can be wrong.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The catalog's file is damaged, or rows in it have lost what they belong to.
        case catalog
        /// The digest of all entries is another one than was kept.
        case digest
        /// What is here does not add up to the verified head.
        case head
        /// A count is another one than was kept.
        case count
        /// A file that should be here is gone.
        case missing
        /// Chunks of a file are not what they should be, or it has another length.
        case damaged
        /// Something lies in the cache that no record knows.
        case orphan
        /// A thumbnail that should be here is gone.
        case thumbnailMissing
        /// A thumbnail is not what it should be.
        case thumbnailDamaged
        /// A file lies among the thumbnails that no record knows.
        case thumbnailOrphan
        /// The file of the spool is gone that has an attachment's bytes: it cannot be sent.
        case spoolMissing
        /// An attachment's bytes in the spool are not what they should be: it cannot be sent.
        case spoolDamaged
        /// A file lies in the spool that no attachment needs.
        case spoolOrphan
        /// Something in the trash cannot be read, and so cannot be brought back.
        case trashDamaged
        /// A folder lies in the trash that nothing there names.
        case trashOrphan
    }

    /// What is wrong.
    public var kind: Kind
    /// The attachment that it is about, if it is about one.
    public var key: AttachmentKey?
    /// The file or folder, if it is about one.
    public var path: String?
    /// The damaged chunks, the first thousand of them.
    public var chunks: [Int] = []
    /// More about it, for a person.
    public var detail: String?
    /// Whether it was put right.
    public var repaired = false
}

/// How far a check is; for a progress bar.
public struct VerifyProgress: Sendable, Hashable {
    /// Files that were looked at.
    public var done: Int
    /// Files that are to be looked at.
    public var total: Int
    /// Bytes that were proved.
    public var bytes: Int64
}
