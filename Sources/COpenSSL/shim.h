// libcrypto is loaded on first use and called through dlsym. These are the types of the calls that are
// used, as OpenSSL 3.0 declares them; all of 3 keeps their ABI. No function is declared, so that none
// can be linked.
#ifndef COPENSSL_SHIM_H
#define COPENSSL_SHIM_H
#include <stdint.h>

typedef struct evp_cipher_st EVP_CIPHER;
typedef struct evp_cipher_ctx_st EVP_CIPHER_CTX;

// Macros there.
enum {
    COPENSSL_NO_ATEXIT = 0x00080000,
    COPENSSL_AEAD_GET_TAG = 0x10,
    COPENSSL_AEAD_SET_TAG = 0x11,
};

typedef int (*openssl_init_crypto_fn)(uint64_t options, const void *settings);
typedef EVP_CIPHER *(*evp_cipher_fetch_fn)(void *context, const char *name, const char *properties);
typedef EVP_CIPHER_CTX *(*evp_cipher_ctx_new_fn)(void);
typedef void (*evp_cipher_ctx_free_fn)(EVP_CIPHER_CTX *);
typedef int (*evp_cipher_ctx_ctrl_fn)(EVP_CIPHER_CTX *, int kind, int count, void *bytes);
typedef int (*evp_cipher_init_fn)(
    EVP_CIPHER_CTX *, const EVP_CIPHER *, void *engine, const uint8_t *key, const uint8_t *nonce,
    int encrypts);
typedef int (*evp_cipher_update_fn)(
    EVP_CIPHER_CTX *, uint8_t *out, int *written, const uint8_t *in, int count);
typedef int (*evp_cipher_final_fn)(EVP_CIPHER_CTX *, uint8_t *out, int *written);

#endif
