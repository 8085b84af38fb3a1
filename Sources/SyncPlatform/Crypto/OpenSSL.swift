import COpenSSL
import Glibc

/// OpenSSL's ChaCha20-Poly1305, three times as fast as libsodium's where the processor has AVX-512.
///
/// The library is loaded on first use; by then libcurl has mostly brought it along.
struct OpenSSL: @unchecked Sendable {
    // Sendable: addresses of functions, and a cipher that is only read; neither ever goes.
    private let cipher: OpaquePointer
    private let newContext: evp_cipher_ctx_new_fn
    private let freeContext: evp_cipher_ctx_free_fn
    private let control: evp_cipher_ctx_ctrl_fn
    private let begin: evp_cipher_init_fn
    private let update: evp_cipher_update_fn
    private let end: evp_cipher_final_fn

    /// The library; nil if it, or this cipher, is not there: a policy may forbid it.
    static let loaded = OpenSSL()

    private init?() {
        guard let library = dlopen("libcrypto.so.3", RTLD_LAZY | RTLD_LOCAL) else { return nil }
        func function<Function>(_ name: String, as _: Function.Type = Function.self) -> Function? {
            dlsym(library, name).map { unsafeBitCast($0, to: Function.self) }
        }
        guard
            let initialise = function("OPENSSL_init_crypto", as: openssl_init_crypto_fn.self),
            let fetch = function("EVP_CIPHER_fetch", as: evp_cipher_fetch_fn.self),
            let newContext = function("EVP_CIPHER_CTX_new", as: evp_cipher_ctx_new_fn.self),
            let freeContext = function("EVP_CIPHER_CTX_free", as: evp_cipher_ctx_free_fn.self),
            let control = function("EVP_CIPHER_CTX_ctrl", as: evp_cipher_ctx_ctrl_fn.self),
            let begin = function("EVP_CipherInit_ex", as: evp_cipher_init_fn.self),
            let update = function("EVP_CipherUpdate", as: evp_cipher_update_fn.self),
            let end = function("EVP_CipherFinal_ex", as: evp_cipher_final_fn.self)
        else { return nil }
        // It would tidy up when the process exits, under the feet of threads that still work.
        _ = initialise(UInt64(COPENSSL_NO_ATEXIT), nil)
        guard let cipher = fetch(nil, "ChaCha20-Poly1305", nil) else { return nil }
        self.cipher = cipher
        self.newContext = newContext
        self.freeContext = freeContext
        self.control = control
        self.begin = begin
        self.update = update
        self.end = end
    }

    /// Seals `count` bytes; the tag has 16 bytes, the key 32, the nonce 12.
    ///
    /// False: it could not be done, for want of memory.
    func seal(
        _ text: UnsafePointer<UInt8>, _ count: Int, key: UnsafePointer<UInt8>,
        nonce: UnsafePointer<UInt8>, into sealed: UnsafeMutablePointer<UInt8>,
        tag: UnsafeMutablePointer<UInt8>
    ) -> Bool {
        run(text, count, key: key, nonce: nonce, into: sealed, encrypts: true) { context in
            var rest: CInt = 0
            return end(context, sealed, &rest) == 1
                && control(context, CInt(COPENSSL_AEAD_GET_TAG), CInt(AEAD.tagBytes), tag) == 1
        }
    }

    /// Opens `count` bytes that have this tag.
    ///
    /// False: they do not belong together, or it could not be done; `text` then holds what must not
    /// be used.
    func open(
        _ sealed: UnsafePointer<UInt8>, _ count: Int, tag: UnsafePointer<UInt8>,
        key: UnsafePointer<UInt8>, nonce: UnsafePointer<UInt8>,
        into text: UnsafeMutablePointer<UInt8>
    ) -> Bool {
        run(sealed, count, key: key, nonce: nonce, into: text, encrypts: false) { context in
            var rest: CInt = 0
            let expected = UnsafeMutableRawPointer(mutating: tag)
            return control(context, CInt(COPENSSL_AEAD_SET_TAG), CInt(AEAD.tagBytes), expected) == 1
                && end(context, text, &rest) == 1
        }
    }

    private func run(
        _ input: UnsafePointer<UInt8>, _ count: Int, key: UnsafePointer<UInt8>,
        nonce: UnsafePointer<UInt8>, into output: UnsafeMutablePointer<UInt8>, encrypts: Bool,
        finish: (OpaquePointer) -> Bool
    ) -> Bool {
        guard let context = newContext() else { return false }
        defer { freeContext(context) }
        var written: CInt = 0
        return begin(context, cipher, nil, key, nonce, encrypts ? 1 : 0) == 1
            && (count == 0 || update(context, output, &written, input, CInt(count)) == 1)
            && finish(context)
    }
}
