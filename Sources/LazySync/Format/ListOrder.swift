internal import SyncPlatform

/// Orders a list of items: newest first.
enum ListOrder {
    /// The length of a key.
    static let byteCount = 29

    /// Answers the key by which rows are sorted; a descending walk is the list's order.
    ///
    /// It is the time (a byte 1, seconds, nanoseconds; all zeros without a valid one) and the
    /// item's id.
    static func key(created time: Timestamp?, entry: EntryID) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(byteCount)
        if let time {
            key.append(1)
            // With its sign turned over, a number before 1970 is below one after, as bytes too.
            key.append(bigEndian: UInt64(bitPattern: time.seconds) ^ 1 << 63)
            key.append(bigEndian: time.nanoseconds)
        } else {
            key.append(contentsOf: repeatElement(0, count: 13))
        }
        entry.append(to: &key)
        return key
    }
}
