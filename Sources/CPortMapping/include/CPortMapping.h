// What is said to a router that may open ports: datagrams and one TCP exchange, each with a limit
// on time and on bytes; NAT-PMP by libnatpmp, XML by libminiupnpc. All of it blocks.
#ifndef EARSHOT_CPORTMAPPING_H
#define EARSHOT_CPORTMAPPING_H

#if !__has_include(<miniupnpc/miniupnpc.h>) || !__has_include(<natpmp.h>)
#error "libminiupnpc or libnatpmp is missing: run tools/setup first (it installs them by apt-get)"
#endif
#include <stddef.h>
#include <stdint.h>

// Addresses are IPv4 in host order.

enum {
  earshot_router_silent = 0,
  /// It speaks NAT-PMP.
  earshot_router_natpmp = 1,
  /// It has answered an SSDP search.
  earshot_router_upnp = 2,
};

/// Reads the kernel's IPv4 routes; how many bytes, or a negated errno.
ptrdiff_t earshot_read_routes(uint8_t *_Nonnull bytes, size_t limit);

/// Asks the router for its external address by NAT-PMP, and sends the SSDP search `search` to it
/// and to the group, all from `own`; again after `again_milliseconds`, by NAT-PMP as RFC 6886 has
/// it. Waits for up to `milliseconds` for the first answer of the router that is no refusal.
///
/// With `earshot_router_upnp` the answer is in `answer`, with `earshot_router_natpmp` the external
/// address in `external`. `refusal` is the code with which NAT-PMP was refused, or 0.
int earshot_router_search(
    uint32_t own, uint32_t router, const uint8_t *_Nonnull search, size_t count, int milliseconds,
    int again_milliseconds, uint32_t *_Nonnull external, int *_Nonnull refusal,
    uint8_t *_Nonnull answer, size_t limit, size_t *_Nonnull answer_count);

/// Asks for a UDP port by NAT-PMP for `own`, or gives it back with 0 seconds. 0, the code of a
/// refusal (RFC 6886, section 3.5), or -1: nothing came, or this host is not `own` any more, and
/// nothing was sent.
int earshot_natpmp_map(
    uint32_t own, uint32_t router, uint16_t inner, uint16_t outer, uint32_t seconds,
    int milliseconds, uint16_t *_Nonnull mapped, uint32_t *_Nonnull granted);

/// Sends a request over TCP and reads until the answer is as long as its Content-Length says, the
/// other end closes, `limit` is reached or the time is over. How many bytes were read, or a negated
/// errno.
ptrdiff_t earshot_tcp_exchange(
    uint32_t own, uint32_t host, uint16_t port, const uint8_t *_Nonnull request, size_t count,
    uint8_t *_Nonnull reply, size_t limit, int milliseconds);

/// The control URL of the first WANIPConnection or WANPPPConnection service of a device
/// description, and the service's type. 0, or -1 if there is none. Both texts end with a zero.
int earshot_find_service(
    const uint8_t *_Nonnull xml, size_t count, char *_Nonnull url, size_t url_limit,
    char *_Nonnull type, size_t type_limit);

/// The value of the element `name` in the answer to an action. 0, or -1 if there is none.
int earshot_reply_value(
    const uint8_t *_Nonnull xml, size_t count, const char *_Nonnull name, char *_Nonnull value,
    size_t limit);

#endif
