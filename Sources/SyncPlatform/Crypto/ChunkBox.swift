import CSodium

/// Seals and opens boxes with ChaCha20-Poly1305 (RFC 8439), the tag apart, no further data.
///
/// It is what is left of XChaCha20-Poly1305 when the key that HChaCha20 makes of the first 16 bytes
/// of the nonce is known. OpenSSL does it if it is there, else libsodium; the bytes are the same.
struct ChunkBox {
    /// Nil has libsodium do it.
    var openSSL = OpenSSL.loaded

    /// The key for all nonces that begin with the same 16 bytes.
    static func subkey(
        of key: UnsafePointer<UInt8>, nonce: UnsafePointer<UInt8>,
        into subkey: UnsafeMutablePointer<UInt8>
    ) {
        crypto_core_hchacha20(subkey, nonce, key, nil)
    }

    /// Seals `count` bytes; the tag has 16 bytes, the key 32, the nonce 12.
    func seal(
        _ text: UnsafePointer<UInt8>, _ count: Int, key: UnsafePointer<UInt8>,
        nonce: UnsafePointer<UInt8>, into sealed: UnsafeMutablePointer<UInt8>,
        tag: UnsafeMutablePointer<UInt8>
    ) {
        if let openSSL,
            openSSL.seal(text, count, key: key, nonce: nonce, into: sealed, tag: tag)
        {
            return
        }
        crypto_aead_chacha20poly1305_ietf_encrypt_detached(
            sealed, tag, nil, text, UInt64(count), nil, 0, nil, nonce, key)
    }

    /// Opens `count` bytes that have this tag; false: they do not, and `text` is all zero.
    func open(
        _ sealed: UnsafePointer<UInt8>, _ count: Int, tag: UnsafePointer<UInt8>,
        key: UnsafePointer<UInt8>, nonce: UnsafePointer<UInt8>,
        into text: UnsafeMutablePointer<UInt8>
    ) -> Bool {
        if let openSSL,
            openSSL.open(sealed, count, tag: tag, key: key, nonce: nonce, into: text)
        {
            return true
        }
        // A refusal has a second look, for it may be for want of memory; nothing is lost by it.
        let fits =
            crypto_aead_chacha20poly1305_ietf_decrypt_detached(
                text, nil, sealed, UInt64(count), tag, nil, 0, nonce, key) == 0
        if !fits { sodium_memzero(text, count) }
        return fits
    }
}
