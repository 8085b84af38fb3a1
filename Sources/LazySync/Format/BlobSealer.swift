internal import SyncPlatform

/// Seals a byte source of known length, in pieces of any size, as it is read.
///
/// A key and nonce encrypt one byte string, ever: if the source turns out shorter, longer or
/// changed, what was written is to be dropped and both are to be drawn again.
struct BlobSealer {
    private let blob: SealedBlob
    private let geometry: BlobGeometry
    private var chunk = 0
    private var pending: [UInt8] = []
    /// What makes room for a chunk, which is then sealed in its place.
    private static let zeros = [UInt8](
        repeating: 0, count: BlobGeometry.chunkSize + BlobGeometry.tagSize)

    /// Begins a blob of exactly `geometry.length` bytes.
    init(_ blob: SealedBlob, geometry: BlobGeometry) {
        self.blob = blob
        self.geometry = geometry
    }

    /// Takes the next bytes and appends to `out` what they complete, the header first of all.
    ///
    /// - Throws: `FormatError` (`length`): the source has more bytes than it should have.
    mutating func append(_ bytes: Span<UInt8>, to out: inout [UInt8]) throws(FormatError) {
        var rest = bytes
        while !rest.isEmpty {
            guard chunk < geometry.chunkCount else { throw FormatError(.length, "seal a blob") }
            let wanted = geometry.plainSize(chunk)
            if pending.isEmpty, rest.count >= wanted, wanted > 0 {
                seal(rest.extracting(0..<wanted), to: &out)
                rest = rest.extracting(wanted...)
            } else {
                let missing = min(wanted - pending.count, rest.count)
                guard missing > 0 else { throw FormatError(.length, "seal a blob") }
                pending.append(copying: rest.extracting(0..<missing))
                rest = rest.extracting(missing...)
                if pending.count == wanted { sealPending(to: &out) }
            }
        }
    }

    /// Ends the blob.
    ///
    /// - Throws: `FormatError` (`length`): the source had fewer bytes than it should have.
    mutating func finish(to out: inout [UInt8]) throws(FormatError) {
        if geometry.length == 0, chunk == 0 { sealPending(to: &out) }
        guard chunk == geometry.chunkCount else { throw FormatError(.length, "seal a blob") }
    }

    private mutating func sealPending(to out: inout [UInt8]) {
        let bytes = pending
        pending.removeAll(keepingCapacity: true)
        seal(bytes.span, to: &out)
    }

    private mutating func seal(_ plaintext: Span<UInt8>, to out: inout [UInt8]) {
        if chunk == 0 { out.append(copying: blob.header.span) }
        let start = out.count
        let sealedCount = plaintext.count + BlobGeometry.tagSize
        let zeros = Self.zeros
        out.append(copying: zeros.span.extracting(0..<sealedCount))
        var whole = out.mutableSpan
        var sealed = whole._mutatingExtracting(start...)
        blob.seal(chunk: chunk, of: geometry, plaintext, into: &sealed)
        chunk += 1
    }
}
