import CSodium

/// Makes keys out of keys, and out of passphrases.
package enum KeyDerivation {
    /// Derives 32-byte subkey `id` of a 32-byte key (`crypto_kdf_derive_from_key`).
    ///
    /// `context` must be eight characters of ASCII.
    package static func subkey(
        _ id: UInt64, context: StaticString, of key: SecretBytes
    ) -> SecretBytes {
        precondition(context.utf8CodeUnitCount == 8 && key.count == 32)
        return SecretBytes(count: 32) { out in
            out.withPointer { out, length in
                context.withUTF8Buffer { context in
                    _ = context.withMemoryRebound(to: CChar.self) { context in
                        context.baseAddress.map {
                            crypto_kdf_derive_from_key(out, length, id, $0, key.pointer)
                        }
                    }
                }
            }
        }
    }

    /// Stretches a password with Argon2id 1.3 into 32 bytes; takes `memory` bytes and its time.
    ///
    /// Bounds that defend against a hostile server are the caller's, before this.
    /// - Throws: `CryptoError`: the library refuses the cost, or the memory is not there.
    package static func argon2id(
        password: SecretBytes, salt: Span<UInt8>, operations: UInt32, memory: UInt64
    ) throws(CryptoError) -> SecretBytes {
        guard salt.count == Int(crypto_pwhash_SALTBYTES),
            UInt64(operations) >= UInt64(crypto_pwhash_argon2id_OPSLIMIT_MIN),
            memory >= UInt64(crypto_pwhash_argon2id_MEMLIMIT_MIN),
            memory <= UInt64(crypto_pwhash_argon2id_memlimit_max())
        else { throw CryptoError(.cost, "stretch a passphrase") }
        return try SecretBytes(count: 32) { out throws(CryptoError) in
            let code = out.withPointer { out, length in
                salt.withPointer { salt, _ in
                    password.pointer.withMemoryRebound(to: CChar.self, capacity: password.count) {
                        crypto_pwhash(
                            out, UInt64(length), $0, UInt64(password.count), salt,
                            UInt64(operations), Int(memory), crypto_pwhash_ALG_ARGON2ID13)
                    }
                }
            }
            guard code == 0 else { throw CryptoError(.outOfMemory, "stretch a passphrase") }
        }
    }
}
