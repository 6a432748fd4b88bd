#include "CAES.h"

#include <limits.h>
#include <openssl/evp.h>
#include <stdlib.h>

struct earshot_aes {
  EVP_CIPHER_CTX *context;
};

static const uint8_t no_key[16];

earshot_aes *earshot_aes_open(void) {
  earshot_aes *aes = calloc(1, sizeof *aes);
  if (aes == NULL) return NULL;
  aes->context = EVP_CIPHER_CTX_new();
  if (aes->context != NULL &&
      EVP_EncryptInit_ex(aes->context, EVP_aes_128_ctr(), NULL, no_key, no_key) == 1) {
    return aes;
  }
  earshot_aes_close(aes);
  return NULL;
}

void earshot_aes_close(earshot_aes *aes) {
  EVP_CIPHER_CTX_free(aes->context);
  free(aes);
}

int earshot_aes_apply(
    earshot_aes *aes, const uint8_t *key, const uint8_t *counter, uint8_t *bytes, size_t count) {
  int written = 0;
  if (count > INT_MAX) return -1;
  int done = EVP_EncryptInit_ex(aes->context, NULL, NULL, key, counter) == 1 &&
             EVP_EncryptUpdate(aes->context, bytes, &written, bytes, (int)count) == 1;
  // The schedule of the zero key replaces that of the key.
  int erased = EVP_EncryptInit_ex(aes->context, NULL, NULL, no_key, no_key) == 1;
  return done && erased ? 0 : -1;
}
