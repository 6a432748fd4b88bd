// AES-128 in counter mode (NIST SP 800-38A §6.5), in place, by OpenSSL 3.
#ifndef EARSHOT_CAES_H
#define EARSHOT_CAES_H

#if !__has_include(<openssl/evp.h>)
#error "OpenSSL is not installed: run tools/setup first (it installs what is missing with apt-get)"
#endif
#include <stddef.h>
#include <stdint.h>

typedef struct earshot_aes earshot_aes;

/// Room for one key schedule; NULL without memory.
earshot_aes *_Nullable earshot_aes_open(void);
void earshot_aes_close(earshot_aes *_Nonnull aes);

/// XORs the key stream over `bytes`, in place; 0, or -1 where OpenSSL refuses. The key schedule is
/// overwritten before it returns. `key` and `counter`, the first counter block, are 16 bytes each.
int earshot_aes_apply(
    earshot_aes *_Nonnull aes, const uint8_t *_Nonnull key, const uint8_t *_Nonnull counter,
    uint8_t *_Nonnull bytes, size_t count);

#endif
