/// Entries of a manifest page, decoded and checked, in the shape that the catalog stores.
struct EntryBatch: Sendable {
    /// One entry as it came.
    struct Change: Sendable {
        /// What the entry says.
        enum Content: Sendable {
            /// An item; the range is the payload's own bytes, if they say more than the values do.
            case live(EntryPayload, raw: Range<Int>?)
            case tombstone
            /// Sealed bytes that cannot be read.
            case unreadable(Range<Int>)
        }

        let facts: EntryFacts
        let leaf: SetDigest
        let content: Content
    }

    /// Texts, addresses, raw payloads and sealed bytes.
    var payloads = PayloadBatch()
    var changes: [Change] = []
    /// The highest seq of them.
    var seq: UInt64 = 0
}
