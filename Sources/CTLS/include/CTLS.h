// A TLS client over memory: bytes of the connection in and out, nothing of the system's (OpenSSL 3).
#ifndef EARSHOT_CTLS_H
#define EARSHOT_CTLS_H

#if !__has_include(<openssl/ssl.h>)
#error "OpenSSL is not installed: run tools/setup first (it installs what is missing with apt-get)"
#endif
#include <stddef.h>
#include <stdint.h>

typedef struct earshot_tls earshot_tls;

enum {
  earshot_tls_no_memory = 1,
  /// The file of authorities holds none.
  earshot_tls_no_authorities = 2,
};

/// A client of `host`, which the server's certificate must name. Authorities are those of the file,
/// or of the system where it is NULL. NULL on failure, with the reason in `problem`: one of the
/// above, or a negated errno where the file cannot be read.
earshot_tls *_Nullable earshot_tls_open(
    const char *_Nonnull host, const char *_Nullable authorities, int *_Nonnull problem);
void earshot_tls_close(earshot_tls *_Nonnull tls);

/// Takes bytes of the connection; 0, or -1 without memory.
int earshot_tls_feed(earshot_tls *_Nonnull tls, const uint8_t *_Nonnull bytes, size_t count);
/// How many bytes wait for the connection, and up to `limit` of them.
size_t earshot_tls_pending(const earshot_tls *_Nonnull tls);
size_t earshot_tls_take(earshot_tls *_Nonnull tls, uint8_t *_Nonnull bytes, size_t limit);

/// 1 = done, 0 = waits for the server, -1 = failed.
int earshot_tls_handshake(earshot_tls *_Nonnull tls);
/// How many bytes of the server's were read; 0 = none yet, -1 = the session is over.
ptrdiff_t earshot_tls_read(earshot_tls *_Nonnull tls, uint8_t *_Nonnull bytes, size_t limit);
/// Seals all of the bytes; 0, or -1 when the session is over.
int earshot_tls_write(earshot_tls *_Nonnull tls, const uint8_t *_Nonnull bytes, size_t count);

/// Whether the handshake failed for the sake of the server's certificate.
int earshot_tls_is_untrusted(const earshot_tls *_Nonnull tls);
/// Why the handshake failed, in a few words; room for `limit` with the final zero.
void earshot_tls_reason(const earshot_tls *_Nonnull tls, char *_Nonnull text, size_t limit);

#endif
