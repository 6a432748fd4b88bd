#include "CTLS.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

struct earshot_tls {
  SSL_CTX *context;
  SSL *session;
  // Both belong to the session.
  BIO *in;
  BIO *out;
  unsigned long error;
};

static int names_address(const char *host) {
  unsigned char room[16];
  return inet_pton(AF_INET, host, room) == 1 || inet_pton(AF_INET6, host, room) == 1;
}

// TLS 1.2 at least (RFC 9325 §3.1.1), and a certificate that a known authority has signed.
static SSL_CTX *make_context(const char *authorities, int *problem) {
  SSL_CTX *context = SSL_CTX_new(TLS_client_method());
  *problem = earshot_tls_no_memory;
  if (context == NULL) return NULL;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  // One certificate for each connection: nothing is resumed.
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) goto failed;
  *problem = earshot_tls_no_authorities;
  int isKnown = authorities == NULL ? SSL_CTX_set_default_verify_paths(context)
                                    : SSL_CTX_load_verify_locations(context, authorities, NULL);
  if (isKnown == 1) return context;
  // The first error says why the file could not be opened; the last one only that it was no use.
  unsigned long first = ERR_peek_error();
  if (ERR_SYSTEM_ERROR(first)) *problem = -ERR_GET_REASON(first);
failed:
  SSL_CTX_free(context);
  return NULL;
}

// Whom the certificate must name; a name is also told to the server (RFC 6066 §3), an address not.
static int expect_host(SSL *session, const char *host) {
  SSL_set_hostflags(session, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (names_address(host)) {
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host) == 1;
  }
  return SSL_set1_host(session, host) == 1 && SSL_set_tlsext_host_name(session, host) == 1;
}

earshot_tls *earshot_tls_open(const char *host, const char *authorities, int *problem) {
  ERR_clear_error();
  SSL_CTX *context = make_context(authorities, problem);
  if (context == NULL) return NULL;
  *problem = earshot_tls_no_memory;
  earshot_tls *tls = calloc(1, sizeof *tls);
  SSL *session = SSL_new(context);
  BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
  if (tls == NULL || session == NULL || in == NULL || out == NULL || !expect_host(session, host)) {
    BIO_free(in);
    BIO_free(out);
    SSL_free(session);
    SSL_CTX_free(context);
    free(tls);
    return NULL;
  }
  // An empty memory is one that waits, not an end.
  BIO_set_mem_eof_return(in, -1);
  BIO_set_mem_eof_return(out, -1);
  SSL_set_bio(session, in, out);
  SSL_set_connect_state(session);
  *tls = (earshot_tls){context, session, in, out, 0};
  *problem = 0;
  return tls;
}

void earshot_tls_close(earshot_tls *tls) {
  SSL_free(tls->session);
  SSL_CTX_free(tls->context);
  free(tls);
}

int earshot_tls_feed(earshot_tls *tls, const uint8_t *bytes, size_t count) {
  size_t written = 0;
  if (count == 0) return 0;
  return BIO_write_ex(tls->in, bytes, count, &written) == 1 && written == count ? 0 : -1;
}

size_t earshot_tls_pending(const earshot_tls *tls) { return BIO_ctrl_pending(tls->out); }

size_t earshot_tls_take(earshot_tls *tls, uint8_t *bytes, size_t limit) {
  size_t count = 0;
  return limit > 0 && BIO_read_ex(tls->out, bytes, limit, &count) == 1 ? count : 0;
}

// Whether the library only waits for more of the connection.
static int waits(earshot_tls *tls, int result) {
  switch (SSL_get_error(tls->session, result)) {
  case SSL_ERROR_WANT_READ:
  case SSL_ERROR_WANT_WRITE: return 1;
  default: tls->error = ERR_peek_error(); return 0;
  }
}

int earshot_tls_handshake(earshot_tls *tls) {
  ERR_clear_error();
  int result = SSL_do_handshake(tls->session);
  if (result == 1) return 1;
  return waits(tls, result) ? 0 : -1;
}

ptrdiff_t earshot_tls_read(earshot_tls *tls, uint8_t *bytes, size_t limit) {
  size_t count = 0;
  ERR_clear_error();
  if (SSL_read_ex(tls->session, bytes, limit, &count) == 1) return (ptrdiff_t)count;
  return waits(tls, 0) ? 0 : -1;
}

int earshot_tls_write(earshot_tls *tls, const uint8_t *bytes, size_t count) {
  size_t written = 0;
  if (count == 0) return 0;
  ERR_clear_error();
  return SSL_write_ex(tls->session, bytes, count, &written) == 1 && written == count ? 0 : -1;
}

int earshot_tls_is_untrusted(const earshot_tls *tls) {
  return SSL_get_verify_result(tls->session) != X509_V_OK;
}

void earshot_tls_reason(const earshot_tls *tls, char *text, size_t limit) {
  const char *reason = NULL;
  long verdict = SSL_get_verify_result(tls->session);
  if (verdict != X509_V_OK) {
    reason = X509_verify_cert_error_string(verdict);
  } else if (tls->error != 0) {
    reason = ERR_reason_error_string(tls->error);
  }
  snprintf(text, limit, "%s", reason != NULL ? reason : "the connection ended");
}
