internal import SyncPlatform

/// The first 8 bytes of the hash that stands for a record's name: enough to tell which of the files
/// in the cache some record knows.
enum RecordHash {
    static func of(_ record: String) -> UInt64 {
        let hash = Hash.blake2b256(record.utf8Span.span)
        return hash.span.bigEndian(at: 0, as: UInt64.self)
    }

    /// The hash of the record that a folder or a file of the cache is named after; nil for another
    /// name.
    static func of(folder: String, name: String) -> UInt64? {
        guard folder.utf8.count == 2, name.utf8.count == 30,
            (folder + name).utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) })
        else { return nil }
        return UInt64(folder + name.prefix(14), radix: 16)
    }
}

/// The hashes of all records that the catalog knows: 8 bytes each, however long their names.
struct KnownRecords: Sendable {
    private var hashes: [UInt64]

    init(_ hashes: consuming [UInt64]) {
        hashes.sort()
        self.hashes = hashes
    }

    func contains(_ hash: UInt64) -> Bool {
        var (low, high) = (0, hashes.count)
        while low < high {
            let middle = (low + high) / 2
            if hashes[middle] < hash { low = middle + 1 } else { high = middle }
        }
        return low < hashes.count && hashes[low] == hash
    }
}
