import CSodium

/// Seals and opens the chunks of one stream under one key with XChaCha20-Poly1305 (the STREAM
/// construction).
///
/// The nonce of chunk `i` is the prefix, `i` as a big-endian u32, and 1 for the last chunk or 0.
/// The key is one stream's and short-lived, so it is held here and wiped at the end, and not in
/// guarded pages, which cost more than a small stream does.
package final class ChunkCipher: Sendable {
    /// How many bytes of the nonce all chunks share.
    package static let prefixBytes = 19
    /// How much longer a sealed chunk is.
    package static let tagBytes = AEAD.tagBytes

    /// How many bytes of the nonce go into the key, which is therefore the same for all chunks.
    private static let keyedBytes = 16

    // Written only in `init`, read until `deinit`.
    nonisolated(unsafe) private let key: UnsafeMutablePointer<UInt8>
    /// What is left of the nonce, behind four zeros, with room for the chunk's number and the mark.
    private let prefix: InlineArray<12, UInt8>
    private let box: ChunkBox

    /// Derives from a 32-byte key, and the first 19 bytes of `nonce`.
    package convenience init(key: Span<UInt8>, nonce: Span<UInt8>) {
        self.init(key: key, nonce: nonce, ChunkBox())
    }

    init(key: Span<UInt8>, nonce: Span<UInt8>, _ box: ChunkBox) {
        precondition(key.count == AEAD.keyBytes && nonce.count >= Self.prefixBytes)
        _ = Sodium.ready
        let subkey = UnsafeMutablePointer<UInt8>.allocate(capacity: AEAD.keyBytes)
        key.withPointer { key, _ in
            nonce.withPointer { nonce, _ in ChunkBox.subkey(of: key, nonce: nonce, into: subkey) }
        }
        self.key = subkey
        self.box = box
        var prefix = InlineArray<12, UInt8>(repeating: 0)
        for index in Self.keyedBytes..<Self.prefixBytes {
            prefix[4 + index - Self.keyedBytes] = nonce[index]
        }
        self.prefix = prefix
    }

    deinit {
        sodium_memzero(key, AEAD.keyBytes)
        key.deallocate()
    }

    /// Seals chunk `index` into `sealed`, which must be exactly `tagBytes` longer.
    package func seal(
        chunk index: UInt32, isLast: Bool, _ plaintext: Span<UInt8>,
        into sealed: inout MutableSpan<UInt8>
    ) {
        precondition(sealed.count == plaintext.count + Self.tagBytes)
        let nonce = nonce(index, isLast)
        sealed.withPointer { sealed, _ in
            plaintext.withPointer { plaintext, count in
                nonce.span.withPointer { nonce, _ in
                    box.seal(
                        plaintext, count, key: key, nonce: nonce, into: sealed,
                        tag: sealed + count)
                }
            }
        }
    }

    /// Opens chunk `index` into `plaintext`, which must be exactly `tagBytes` shorter.
    ///
    /// False: the bytes are not that chunk of this stream, and `plaintext` holds nothing of use.
    package func open(
        chunk index: UInt32, isLast: Bool, _ sealed: Span<UInt8>,
        into plaintext: inout MutableSpan<UInt8>
    ) -> Bool {
        guard sealed.count >= Self.tagBytes else { return false }
        precondition(plaintext.count == sealed.count - Self.tagBytes)
        let nonce = nonce(index, isLast)
        return plaintext.withPointer { plaintext, count in
            sealed.withPointer { sealed, _ in
                nonce.span.withPointer { nonce, _ in
                    box.open(
                        sealed, count, tag: sealed + count, key: key, nonce: nonce,
                        into: plaintext)
                }
            }
        }
    }

    /// Tells whether `plaintext` is chunk `index` of the stream, by the tag that its seal had.
    ///
    /// Seals it again into `scratch`, which must have room for it.
    package func proves(
        chunk index: UInt32, isLast: Bool, _ plaintext: Span<UInt8>, tag: Span<UInt8>,
        scratch: inout [UInt8]
    ) -> Bool {
        guard tag.count == Self.tagBytes else { return false }
        let again = self.tag(chunk: index, isLast: isLast, plaintext, scratch: &scratch)
        return ConstantTime.equal(again.span, tag)
    }

    /// Answers the tag that chunk `index` has when it is sealed.
    package func tag(
        chunk index: UInt32, isLast: Bool, _ plaintext: Span<UInt8>, scratch: inout [UInt8]
    ) -> InlineArray<16, UInt8> {
        if scratch.count < plaintext.count {
            scratch = [UInt8](repeating: 0, count: plaintext.count)
        }
        let nonce = nonce(index, isLast)
        var tag = InlineArray<16, UInt8>(repeating: 0)
        var tagSpan = tag.mutableSpan
        var scratchSpan = scratch.mutableSpan
        tagSpan.withPointer { tag, _ in
            scratchSpan.withPointer { scratch, _ in
                plaintext.withPointer { plaintext, count in
                    nonce.span.withPointer { nonce, _ in
                        box.seal(
                            plaintext, count, key: key, nonce: nonce, into: scratch, tag: tag)
                    }
                }
            }
        }
        return tag
    }

    private func nonce(_ index: UInt32, _ isLast: Bool) -> InlineArray<12, UInt8> {
        var nonce = prefix
        nonce[7] = UInt8(truncatingIfNeeded: index >> 24)
        nonce[8] = UInt8(truncatingIfNeeded: index >> 16)
        nonce[9] = UInt8(truncatingIfNeeded: index >> 8)
        nonce[10] = UInt8(truncatingIfNeeded: index)
        nonce[11] = isLast ? 1 : 0
        return nonce
    }
}
