#include "SFrameReference.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <string.h>

int sframe_reference_hkdf(
    int is_long, const uint8_t *secret, size_t secret_count, const uint8_t *info,
    size_t info_count, uint8_t *out, size_t count) {
  EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
  EVP_KDF_CTX *context = EVP_KDF_CTX_new(kdf);
  char *digest = is_long ? "SHA512" : "SHA256";
  OSSL_PARAM params[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)secret, secret_count),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)info, info_count),
      OSSL_PARAM_construct_end()};
  int result = EVP_KDF_derive(context, out, count, params) == 1 ? 0 : -1;
  EVP_KDF_CTX_free(context);
  EVP_KDF_free(kdf);
  return result;
}

static ptrdiff_t gcm(
    const EVP_CIPHER *cipher, const uint8_t *key, const uint8_t *nonce, const uint8_t *aad,
    size_t aad_count, const uint8_t *text, size_t text_count, uint8_t *out) {
  int count = 0, ignored = 0;
  EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
  int ok = EVP_EncryptInit_ex(context, cipher, NULL, key, nonce) == 1 &&
           EVP_EncryptUpdate(context, NULL, &ignored, aad, (int)aad_count) == 1 &&
           EVP_EncryptUpdate(context, out, &count, text, (int)text_count) == 1 &&
           EVP_EncryptFinal_ex(context, out + count, &ignored) == 1 &&
           EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, 16, out + count) == 1;
  EVP_CIPHER_CTX_free(context);
  return ok ? count + 16 : -1;
}

static void put(uint8_t *out, size_t value) {
  for (int i = 0; i < 8; i++) out[i] = (uint8_t)(value >> (56 - 8 * i));
}

static ptrdiff_t counter_mode(
    int is_long, size_t tag_count, const uint8_t *key, const uint8_t *nonce, const uint8_t *aad,
    size_t aad_count, const uint8_t *text, size_t text_count, uint8_t *out) {
  size_t cipher_count = is_long ? 32 : 16, hash_count = is_long ? 64 : 32;
  uint8_t block[16] = {0}, joined[8192], tag[64];
  int count = 0;
  if (aad_count + text_count + 36 > sizeof joined) return -1;
  memcpy(block, nonce, 12);
  EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
  int ok = EVP_EncryptInit_ex(
               context, is_long ? EVP_aes_256_ctr() : EVP_aes_128_ctr(), NULL, key, block) == 1 &&
           EVP_EncryptUpdate(context, out, &count, text, (int)text_count) == 1;
  EVP_CIPHER_CTX_free(context);
  if (!ok) return -1;
  put(joined, aad_count);
  put(joined + 8, text_count);
  put(joined + 16, tag_count);
  memcpy(joined + 24, nonce, 12);
  memcpy(joined + 36, aad, aad_count);
  memcpy(joined + 36 + aad_count, out, text_count);
  unsigned int length = 0;
  HMAC(is_long ? EVP_sha512() : EVP_sha256(), key + cipher_count, (int)hash_count, joined,
       36 + aad_count + text_count, tag, &length);
  memcpy(out + text_count, tag, tag_count);
  return (ptrdiff_t)(text_count + tag_count);
}

ptrdiff_t sframe_reference_seal(
    uint16_t suite, const uint8_t *key, const uint8_t *nonce, const uint8_t *aad,
    size_t aad_count, const uint8_t *text, size_t text_count, uint8_t *out) {
  static const size_t tags[] = {0, 10, 8, 4, 16, 16, 10, 8, 4};
  switch (suite) {
  case 1:
  case 2:
  case 3:
    return counter_mode(0, tags[suite], key, nonce, aad, aad_count, text, text_count, out);
  case 4: return gcm(EVP_aes_128_gcm(), key, nonce, aad, aad_count, text, text_count, out);
  case 5: return gcm(EVP_aes_256_gcm(), key, nonce, aad, aad_count, text, text_count, out);
  case 6:
  case 7:
  case 8:
    return counter_mode(1, tags[suite], key, nonce, aad, aad_count, text, text_count, out);
  default: return -1;
  }
}
