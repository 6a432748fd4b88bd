/* Earshot for C: encrypted calls between two hosts, in a library. docs/from-c.md has a first call.
 *
 * Link with -learshot. Every function may be called from any thread, and from the handler unless it
 * says that it waits. Once earshot_close begins, no other function may run or begin with that
 * endpoint: stop your sound threads first. Functions that wait say for how long.
 *
 * Texts are UTF-8 and end with 0. What the library gives to a callback is its own and lives until
 * the callback returns. Structures begin with their size: set it with EARSHOT_INIT, so that a
 * program keeps working with a library that has more fields. */
#ifndef EARSHOT_H
#define EARSHOT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows when something is added; what is there keeps its meaning. */
#define EARSHOT_ABI 1

/* A structure of zeros but for its size: struct earshot_options options = EARSHOT_INIT(options); */
#define EARSHOT_INIT(name) {.size = sizeof(name)}

/* What became of a function; earshot_error has the sentence. */
enum earshot_status {
  EARSHOT_OK = 0,
  EARSHOT_FAILED = 1,
  EARSHOT_BAD_ARGUMENT = 2,
  EARSHOT_UNREACHABLE = 3,
  EARSHOT_REFUSED = 4,
  EARSHOT_IDENTITY_CHANGED = 7,
  EARSHOT_FILE = 8
};

enum earshot_event_kind {
  EARSHOT_REGISTRATION = 1,  /* name: connecting, registered, reconnecting, failed */
  EARSHOT_INCOMING_CALL = 2, /* peer_id, peer_name; answer with earshot_accept or earshot_reject */
  EARSHOT_CALL_STATE = 3,    /* name: calling, connecting, connected, ended; reason */
  EARSHOT_CALL_PROGRESS = 4, /* name: firstFrameReceived, remoteAudioMuted, interrupted, ... */
  EARSHOT_MESSAGE = 5,       /* stream, data, data_size */
  EARSHOT_STATISTICS = 6,    /* mos, rtt_ms, lost_fraction; each 2 s */
  EARSHOT_CALL_ENDED = 7,    /* name: completed, rejected, busy, ..., replaced (the call goes on
                                as the one that was made here); text: the sentence */
  EARSHOT_OTHER = 8          /* name and text: what has no kind of its own */
};

typedef struct earshot_endpoint earshot_endpoint;
/* A call of one endpoint; 0 is none. */
typedef uint64_t earshot_call;

struct earshot_event {
  uint32_t size;
  uint32_t kind;         /* enum earshot_event_kind */
  earshot_call call;     /* 0 where it is about no call */
  const char *name;      /* never NULL; as in docs/from-agora.md and in the lines of --json */
  const char *reason;    /* "" where there is none */
  const char *text;      /* for people; "" where there is none */
  const char *peer_id;   /* "" where it is not known */
  const char *peer_name; /* what the other side claims, or what was dialled; "" */
  const void *data;      /* of a message; NULL */
  size_t data_size;
  uint32_t stream;       /* of a message */
  double mos;            /* what is heard, 1 to 4.5; 0 where it is not known */
  double rtt_ms;         /* 0 where it is not known */
  double lost_fraction;  /* of the packets to this side, before repair: 0 to 1 */
};

/* On a thread of the library, one event after the other. It must return soon; it may call
 * everything here but the functions that wait and earshot_close. */
typedef void (*earshot_event_handler)(void *context, const struct earshot_event *event);

struct earshot_options {
  uint32_t size;
  uint32_t maximum_calls;    /* at a time, 1 to 32; 0 = 1 */
  const char *rendezvous;    /* HOST:PORT or HOST:PORT#ID; must be given */
  const char *identity_file; /* NULL: a fresh identity that lives in memory only */
  const char *name;          /* to be reached by; NULL: by the ID alone */
  const char *token;         /* access token; NULL */
};

struct earshot_call_options {
  uint32_t size;
  int32_t send_rate;         /* of what earshot_write gives, 8000 to 192000; 0 = 48000 */
  int32_t send_channels;     /* 1 or 2; 0 = 1 */
  int32_t receive_channels;  /* of what earshot_read gives, at 48000; 1 or 2; 0 = 1 */
  int32_t bitrate;           /* of the codec, bit/s; 0 = 32000 */
  int32_t starts_muted;      /* 0 or 1 */
  const char *user_data;     /* JSON for the other side, at most 1024 bytes; NULL */
};

struct earshot_probe_result {
  uint32_t size;
  uint32_t is_complete;      /* 0: it ended early; what was measured by then */
  double rtt_ms;             /* of the idle line, median; 0 where nothing came back */
  double uplink_bps;         /* 0 = not measured */
  double downlink_bps;
  double uplink_lost;        /* 0 to 1 */
  double downlink_lost;
};

/* EARSHOT_ABI of the library, and its version as text. */
uint32_t earshot_abi(void);
const char *earshot_version(void);

/* The sentence about what last failed on this thread, with what to do; "" at first. It lives until
 * the next function fails on this thread. */
const char *earshot_error(void);

/* Opens an endpoint: makes or reads its identity and begins to register. Waits for the name
 * server, 15 s at most. On success *endpoint is for earshot_close. */
int32_t earshot_open(const struct earshot_options *options, earshot_event_handler handler,
                     void *context, earshot_endpoint **endpoint);

/* Waits until the rendezvous has answered, 15 s at most. */
int32_t earshot_wait_registered(earshot_endpoint *endpoint);

/* The ID of the endpoint's identity as text; "" when size is below 53. */
int32_t earshot_id(earshot_endpoint *endpoint, char *text, size_t size);

/* Invites somebody by name or ID. Returns at once; events tell what comes of it. */
int32_t earshot_dial(earshot_endpoint *endpoint, const char *target,
                     const struct earshot_call_options *options, earshot_call *call);

/* Answers a call that EARSHOT_INCOMING_CALL told. */
int32_t earshot_accept(earshot_endpoint *endpoint, earshot_call call,
                       const struct earshot_call_options *options);
int32_t earshot_reject(earshot_endpoint *endpoint, earshot_call call, const char *reason);

/* Ends a call, whatever its state; reason may be NULL. */
int32_t earshot_hang_up(earshot_endpoint *endpoint, earshot_call call, const char *reason);

int32_t earshot_set_muted(earshot_endpoint *endpoint, earshot_call call, int32_t is_muted);

/* Gives interleaved samples to be sent. Returns how many samples were taken: fewer than given where
 * three seconds wait already; 0 for a call that there is not. Never waits; from any thread. */
size_t earshot_write(earshot_endpoint *endpoint, earshot_call call, const int16_t *samples,
                     size_t count);

/* Takes what was heard: 48 kHz, interleaved. Returns how many samples there were, 0 when nothing
 * new came. A second waits at the most. Never waits; from any thread. */
size_t earshot_read(earshot_endpoint *endpoint, earshot_call call, int16_t *samples, size_t count);

/* Sends a message of at most 65536 bytes, reliable and in order; stream 8 to 127. */
int32_t earshot_send_message(earshot_endpoint *endpoint, earshot_call call, uint32_t stream,
                             const void *data, size_t size);

/* Measures the line to the rendezvous (target NULL) or to a peer; waits for the result, seconds + 12
 * at most. seconds: 4 to 30; 0 = 8. Not while there is a call. */
int32_t earshot_probe(earshot_endpoint *endpoint, const char *target, uint32_t seconds,
                      struct earshot_probe_result *result);

/* Ends all calls and frees the endpoint; waits 15 s at most, and as long as the handler that runs
 * meanwhile: it must not wait for this thread. The last events may be told on this thread. When it
 * has returned, no event comes any more. */
void earshot_close(earshot_endpoint *endpoint);

#ifdef __cplusplus
}
#endif

#endif
