internal import SyncPlatform

/// Changes to the catalog's counts, saved by the transaction that makes what they count.
struct Tally {
    /// What is counted.
    enum Name: Int, CaseIterable {
        case items, attachments, addressesComplete, addressesMissing
        /// Attachments that can be opened: complete, or with an older address that is kept.
        case addressesUsable
        case thumbnailsDue, thumbnailsHere, thumbnailsFailed
        case blobsHere, blobsFailed
        /// What originals may take on the disk, and what thumbnails of their own take.
        case cacheBytes, thumbnailBytes
        /// Entries that came from a file and that the server has not sent since.
        case unconfirmed

        /// The name in the catalog.
        var stored: String { "\(self)" }
    }

    // By the names' order; a restore counts millions of times.
    private var changes = [Int](repeating: 0, count: Name.allCases.count)

    subscript(name: Name) -> Int {
        get { changes[name.rawValue] }
        set { changes[name.rawValue] = newValue }
    }

    /// Counts an attachment in (1) or out (-1) by its address and thumbnail, which takes `bytes` of
    /// the disk if it is here.
    mutating func count(
        _ address: AddressState, _ thumbnail: ThumbnailState, bytes: Int64, _ sign: Int
    ) {
        self[.attachments] += sign
        if address == .complete { self[.addressesComplete] += sign }
        if address.reason == nil { self[.addressesUsable] += sign }
        if address.countsAsMissing { self[.addressesMissing] += sign }
        count(thumbnail, bytes: bytes, sign)
    }

    /// Counts a thumbnail in (1) or out (-1).
    mutating func count(_ thumbnail: ThumbnailState, bytes: Int64, _ sign: Int) {
        if thumbnail == .due { self[.thumbnailsDue] += sign }
        if thumbnail == .here {
            self[.thumbnailsHere] += sign
            self[.thumbnailBytes] += sign * Int(bytes)
        }
        if thumbnail.countsAsFailed { self[.thumbnailsFailed] += sign }
    }

    func save(_ connection: Connection) throws {
        for name in Name.allCases where self[name] != 0 {
            let add = try connection.prepare(.addToTally)
            add.bind(text: name.stored, at: 1)
            add.bind(Int64(self[name]), at: 2)
            try add.run()
        }
    }
}

extension Connection {
    /// A count as it stands.
    func tally(_ name: Tally.Name) throws -> Int {
        let query = try prepare(.tally)
        query.bind(text: name.stored, at: 1)
        return try query.step() ? Int(query.int(0)) : 0
    }
}
