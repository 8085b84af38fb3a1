import CSodium

/// Hashes with BLAKE2b (libsodium's `crypto_generichash`).
package enum Hash {
    /// Answers the 32-byte hash of a message.
    package static func blake2b256(_ message: Span<UInt8>) -> InlineArray<32, UInt8> {
        var out = InlineArray<32, UInt8>(repeating: 0)
        var span = out.mutableSpan
        digest(message, key: nil, keyBytes: 0, into: &span)
        return out
    }

    /// Answers the 32-byte hash of a message under a key.
    package static func blake2b256(
        key: SecretBytes, _ message: Span<UInt8>
    ) -> InlineArray<32, UInt8> {
        var out = InlineArray<32, UInt8>(repeating: 0)
        var span = out.mutableSpan
        digest(message, key: key.pointer, keyBytes: key.count, into: &span)
        return out
    }

    /// Answers the 64-byte hash of a message under a key; wiping it is the caller's work.
    package static func blake2b512(
        key: Span<UInt8>, _ message: Span<UInt8>
    ) -> InlineArray<64, UInt8> {
        var out = InlineArray<64, UInt8>(repeating: 0)
        var span = out.mutableSpan
        key.withPointer { key, keyBytes in
            digest(message, key: key, keyBytes: keyBytes, into: &span)
        }
        return out
    }

    private static func digest(
        _ message: Span<UInt8>, key: UnsafePointer<UInt8>?, keyBytes: Int,
        into out: inout MutableSpan<UInt8>
    ) {
        _ = Sodium.ready
        let code = out.withPointer { out, outBytes in
            message.withPointer { message, length in
                crypto_generichash(out, outBytes, message, UInt64(length), key, keyBytes)
            }
        }
        // It fails for lengths alone, and those are ours.
        precondition(code == 0, "a key or output length that BLAKE2b does not know")
    }
}

/// Hashes a message that comes in parts (BLAKE2b, 32 bytes).
package struct HashState: ~Copyable {
    // The C type is aligned to 64 bytes, which Swift cannot import; so it stays behind a pointer.
    private let memory: UnsafeMutableRawPointer

    /// Begins a hash, under a key if there is one.
    package init(key: SecretBytes? = nil) {
        _ = Sodium.ready
        memory = .allocate(byteCount: crypto_generichash_statebytes(), alignment: 64)
        let code = crypto_generichash_init(
            OpaquePointer(memory), key?.pointer, key?.count ?? 0, 32)
        precondition(code == 0, "a key length that BLAKE2b does not know")
    }

    deinit {
        sodium_memzero(memory, crypto_generichash_statebytes())
        memory.deallocate()
    }

    /// Takes the next part.
    package mutating func update(_ part: Span<UInt8>) {
        _ = part.withPointer { part, length in
            crypto_generichash_update(OpaquePointer(memory), part, UInt64(length))
        }
    }

    /// Ends the hash.
    package consuming func finish() -> InlineArray<32, UInt8> {
        var out = InlineArray<32, UInt8>(repeating: 0)
        var span = out.mutableSpan
        span.withPointer { out, length in
            _ = crypto_generichash_final(OpaquePointer(memory), out, length)
        }
        return out
    }
}
