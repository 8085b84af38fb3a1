/// What files take on the disk, as the cache counts them: whole blocks of 4 KiB.
enum DiskCost {
    private static let block: Int64 = 4_096

    /// What one file of a length takes.
    static func file(_ length: Int64) -> Int64 {
        (length + block - 1) / block * block
    }

    /// What one blob takes: its bytes, its tags, and its folder.
    static func blob(_ length: Int64) -> Int64 {
        let chunk = Int64(BlobGeometry.chunkSize)
        let chunks = max((length + chunk - 1) / chunk, 1)
        return file(length) + file(chunks * Int64(BlobGeometry.tagSize)) + block
    }
}
