import CSodium

/// Seals and opens boxes with XChaCha20-Poly1305 (libsodium's combined form: text, then a tag).
///
/// Lengths of keys and nonces, and of the buffers that are written, are the caller's to get right
/// and are checked as preconditions; the length of what came from outside is not.
package enum AEAD {
    /// The length of a key.
    package static let keyBytes = 32
    /// The length of a nonce.
    package static let nonceBytes = 24
    /// How much longer a box is than what is in it.
    package static let tagBytes = 16

    /// Seals `plaintext` into `box`, which must be exactly `tagBytes` longer.
    package static func seal(
        _ plaintext: Span<UInt8>, key: SecretBytes, nonce: Span<UInt8>, aad: Span<UInt8>,
        into box: inout MutableSpan<UInt8>
    ) {
        precondition(key.count == keyBytes && nonce.count == nonceBytes)
        precondition(box.count == plaintext.count + tagBytes)
        _ = box.withPointer { box, _ in
            plaintext.withPointer { plaintext, length in
                nonce.withPointer { nonce, _ in
                    aad.withPointer { aad, aadBytes in
                        crypto_aead_xchacha20poly1305_ietf_encrypt(
                            box, nil, plaintext, UInt64(length), aad, UInt64(aadBytes), nil,
                            nonce, key.pointer)
                    }
                }
            }
        }
    }

    /// Opens `box` into `plaintext`, which must be exactly `tagBytes` shorter.
    ///
    /// False means that box, nonce, key and `aad` do not belong together, or that the box is
    /// shorter than a tag; `plaintext` then holds nothing of use.
    package static func open(
        _ box: Span<UInt8>, key: SecretBytes, nonce: Span<UInt8>, aad: Span<UInt8>,
        into plaintext: inout MutableSpan<UInt8>
    ) -> Bool {
        precondition(key.count == keyBytes && nonce.count == nonceBytes)
        guard box.count >= tagBytes else { return false }
        precondition(plaintext.count == box.count - tagBytes)
        return plaintext.withPointer { plaintext, _ in
            box.withPointer { box, length in
                nonce.withPointer { nonce, _ in
                    aad.withPointer { aad, aadBytes in
                        crypto_aead_xchacha20poly1305_ietf_decrypt(
                            plaintext, nil, nil, box, UInt64(length), aad, UInt64(aadBytes),
                            nonce, key.pointer) == 0
                    }
                }
            }
        }
    }

    /// Seals the end of `buffer`, from `start` on, where it stands, and appends the tag.
    package static func seal(
        inPlace buffer: inout [UInt8], from start: Int,
        key: SecretBytes, nonce: Span<UInt8>, aad: Span<UInt8>
    ) {
        precondition(key.count == keyBytes && nonce.count == nonceBytes)
        let length = buffer.count - start
        buffer.append(contentsOf: repeatElement(0, count: tagBytes))
        var whole = buffer.mutableSpan
        whole.withPointer { whole, _ in
            nonce.withPointer { nonce, _ in
                aad.withPointer { aad, aadBytes in
                    let text = whole + start
                    crypto_aead_xchacha20poly1305_ietf_encrypt(
                        text, nil, text, UInt64(length), aad, UInt64(aadBytes), nil, nonce,
                        key.pointer)
                }
            }
        }
    }

    /// Opens what `buffer` holds from `start` on where it stands, and cuts the tag off.
    ///
    /// If it does not fit, the answer is false and `buffer` ends at `start`.
    package static func open(
        inPlace buffer: inout [UInt8], from start: Int,
        key: SecretBytes, nonce: Span<UInt8>, aad: Span<UInt8>
    ) -> Bool {
        precondition(key.count == keyBytes && nonce.count == nonceBytes)
        let length = buffer.count - start
        guard length >= tagBytes else {
            buffer.removeSubrange(start...)
            return false
        }
        var whole = buffer.mutableSpan
        let fits = whole.withPointer { whole, _ in
            nonce.withPointer { nonce, _ in
                aad.withPointer { aad, aadBytes in
                    let box = whole + start
                    return crypto_aead_xchacha20poly1305_ietf_decrypt(
                        box, nil, nil, box, UInt64(length), aad, UInt64(aadBytes), nonce,
                        key.pointer) == 0
                }
            }
        }
        buffer.removeLast(fits ? tagBytes : length)
        return fits
    }
}
