internal import SyncPlatform

/// Seals and opens the chunks of one blob ("CBL1"), under the key that its address gives.
///
/// Opening is in this order: the header, then each chunk before any of its bytes is handed out.
final class SealedBlob: Sendable {
    /// Why a header is refused.
    enum HeaderProblem: Error, Sendable, Equatable {
        /// Another suite, chunk size or flag than this format has, or no blob at all.
        case unknown
        /// It was sealed under another key, nonce or record name.
        case commitment
    }

    /// "CBL1", suite 1, chunks of 2^16, no flags; nothing else is accepted.
    static let header8: [UInt8] = Array("CBL1".utf8) + [1, 16, 0, 0]

    /// The first 40 bytes of the blob.
    let header: InlineArray<40, UInt8>
    private let cipher: ChunkCipher

    /// Derives the blob's key and its header from content key, nonce and record name.
    init(contentKey: Span<UInt8>, nonce: Span<UInt8>, recordName: Span<UInt8>) {
        precondition(contentKey.count == 32 && nonce.count == 24)
        var message = Label.payload
        message.append(contentsOf: Self.header8)
        message.append(copying: nonce)
        message.append(bigEndian: UInt16(recordName.count))
        message.append(copying: recordName)
        var keys = Hash.blake2b512(key: contentKey, message.span)
        cipher = ChunkCipher(key: keys.span.extracting(0..<32), nonce: nonce)
        var header = InlineArray<40, UInt8>(repeating: 0)
        for index in 0..<8 { header[index] = Self.header8[index] }
        for index in 0..<32 { header[8 + index] = keys[32 + index] }
        self.header = header
        var secret = keys.mutableSpan
        ConstantTime.wipe(&secret)
    }

    /// Checks the first 40 bytes of a blob.
    func check(header bytes: Span<UInt8>) throws(HeaderProblem) {
        guard bytes.count == BlobGeometry.headerSize,
            bytes.extracting(0..<8).equals(Self.header8.span)
        else { throw .unknown }
        guard ConstantTime.equal(bytes, header.span) else { throw .commitment }
    }

    /// Opens a sealed chunk into `plaintext`, which must be exactly its plain size.
    ///
    /// False: these bytes are not that chunk; `plaintext` then holds nothing of use.
    func open(
        chunk: Int, of geometry: BlobGeometry, _ sealed: Span<UInt8>,
        into plaintext: inout MutableSpan<UInt8>
    ) -> Bool {
        guard let index = UInt32(exactly: chunk), chunk < geometry.chunkCount,
            sealed.count == geometry.plainSize(chunk) + BlobGeometry.tagSize
        else { return false }
        let isLast = geometry.isLast(chunk)
        return cipher.open(chunk: index, isLast: isLast, sealed, into: &plaintext)
    }

    /// Seals a chunk of the plaintext into `sealed`, which must be 16 bytes longer.
    func seal(
        chunk: Int, of geometry: BlobGeometry, _ plaintext: Span<UInt8>,
        into sealed: inout MutableSpan<UInt8>
    ) {
        precondition(chunk < geometry.chunkCount && plaintext.count == geometry.plainSize(chunk))
        let isLast = geometry.isLast(chunk)
        cipher.seal(chunk: UInt32(chunk), isLast: isLast, plaintext, into: &sealed)
    }

    /// Tells whether `plaintext` is that chunk, by the tag that came with it; needs no network.
    ///
    /// `scratch` is for the work, kept by the caller for its memory.
    func proves(
        chunk: Int, of geometry: BlobGeometry, _ plaintext: Span<UInt8>, tag: Span<UInt8>,
        scratch: inout [UInt8]
    ) -> Bool {
        guard let index = UInt32(exactly: chunk), chunk < geometry.chunkCount,
            plaintext.count == geometry.plainSize(chunk)
        else { return false }
        let isLast = geometry.isLast(chunk)
        return cipher.proves(
            chunk: index, isLast: isLast, plaintext, tag: tag, scratch: &scratch)
    }

    /// Opens a whole blob that is in memory; for thumbnails and other small ones.
    ///
    /// - Throws: `FormatError`.
    func open(_ blob: Span<UInt8>, of geometry: BlobGeometry) throws(FormatError) -> [UInt8] {
        let operation = "open a blob"
        guard UInt64(blob.count) == geometry.sealedLength else {
            throw FormatError(.length, operation)
        }
        do {
            try check(header: blob.extracting(0..<BlobGeometry.headerSize))
        } catch {
            throw FormatError(error == .unknown ? .unknown : .wrongKey, operation)
        }
        var plaintext = [UInt8](repeating: 0, count: Int(geometry.length))
        for chunk in 0..<geometry.chunkCount {
            let plain = geometry.plainRange(chunk)
            let sealed = geometry.sealedRange(chunk)
            var whole = plaintext.mutableSpan
            var target = whole._mutatingExtracting(Int(plain.lowerBound)..<Int(plain.upperBound))
            let part = blob.extracting(Int(sealed.lowerBound)..<Int(sealed.upperBound))
            guard open(chunk: chunk, of: geometry, part, into: &target) else {
                throw FormatError(.authentication, operation)
            }
        }
        return plaintext
    }
}
