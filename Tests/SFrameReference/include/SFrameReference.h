// SFrame by OpenSSL alone, for tests: all suites of RFC 9605, apart from the code that ships.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// HKDF (RFC 5869) with an empty salt, SHA-256 or with `is_long` SHA-512; 0 or -1.
int sframe_reference_hkdf(
    int is_long, const uint8_t *_Nonnull secret, size_t secret_count,
    const uint8_t *_Nonnull info, size_t info_count, uint8_t *_Nonnull out, size_t count);

/// The AEAD of a registered suite (1 to 8). `out` has room for the text and 16 bytes; the count of
/// what was written, or -1.
ptrdiff_t sframe_reference_seal(
    uint16_t suite, const uint8_t *_Nonnull key, const uint8_t *_Nonnull nonce,
    const uint8_t *_Nonnull aad, size_t aad_count, const uint8_t *_Nonnull text,
    size_t text_count, uint8_t *_Nonnull out);
