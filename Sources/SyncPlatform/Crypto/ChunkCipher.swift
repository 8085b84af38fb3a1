import CSodium

/// Seals and opens the chunks of one stream under one key (the STREAM construction).
///
/// The nonce of chunk `i` is the prefix, `i` as a big-endian u32, and 1 for the last chunk or 0.
/// The key is one stream's and short-lived, so it is held here and wiped at the end, and not in
/// guarded pages, which cost more than a small stream does.
package final class ChunkCipher: Sendable {
    /// How many bytes of the nonce all chunks share.
    package static let prefixBytes = 19
    /// How much longer a sealed chunk is.
    package static let tagBytes = AEAD.tagBytes

    // Written only in `init`, read until `deinit`.
    nonisolated(unsafe) private let key: UnsafeMutablePointer<UInt8>
    private let prefix: InlineArray<24, UInt8>

    /// Copies a 32-byte key, and the first 19 bytes of `nonce`.
    package init(key: Span<UInt8>, nonce: Span<UInt8>) {
        precondition(key.count == AEAD.keyBytes && nonce.count >= Self.prefixBytes)
        _ = Sodium.ready
        self.key = .allocate(capacity: AEAD.keyBytes)
        for index in key.indices { self.key[index] = key[index] }
        var prefix = InlineArray<24, UInt8>(repeating: 0)
        for index in 0..<Self.prefixBytes { prefix[index] = nonce[index] }
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
        let nonce = nonce(index, isLast)
        AEAD.seal(plaintext, key: key, nonce: nonce.span, aad: Span(), into: &sealed)
    }

    /// Opens chunk `index` into `plaintext`, which must be exactly `tagBytes` shorter.
    ///
    /// False: the bytes are not that chunk of this stream, and `plaintext` holds nothing of use.
    package func open(
        chunk index: UInt32, isLast: Bool, _ sealed: Span<UInt8>,
        into plaintext: inout MutableSpan<UInt8>
    ) -> Bool {
        let nonce = nonce(index, isLast)
        return AEAD.open(sealed, key: key, nonce: nonce.span, aad: Span(), into: &plaintext)
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
                plaintext.withPointer { plaintext, length in
                    nonce.span.withPointer { nonce, _ in
                        _ = crypto_aead_xchacha20poly1305_ietf_encrypt_detached(
                            scratch, tag, nil, plaintext, UInt64(length), nil, 0, nil, nonce, key)
                    }
                }
            }
        }
        return tag
    }

    private func nonce(_ index: UInt32, _ isLast: Bool) -> InlineArray<24, UInt8> {
        var nonce = prefix
        nonce[19] = UInt8(truncatingIfNeeded: index >> 24)
        nonce[20] = UInt8(truncatingIfNeeded: index >> 16)
        nonce[21] = UInt8(truncatingIfNeeded: index >> 8)
        nonce[22] = UInt8(truncatingIfNeeded: index)
        nonce[23] = isLast ? 1 : 0
        return nonce
    }
}
