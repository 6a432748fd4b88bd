#define _GNU_SOURCE  // memmem
#include "CPortMapping.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <miniupnpc/miniupnpc.h>
#include <miniupnpc/upnpreplyparse.h>
#include <natpmp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const uint16_t ssdp_port = 1900;
static const uint32_t ssdp_group = 0xEFFFFFFA;  // 239.255.255.250
/// Datagrams of others that are looked at in one search.
static const int ssdp_limit = 64;
/// A head, and what comes with it, that is looked at for the length of all.
static const size_t head_limit = 8192;
/// What the XML readers may look at behind the end.
static const size_t xml_margin = 32;

static int64_t present(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int time_left(int64_t deadline) {
  int64_t left = deadline - present();
  return left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

static struct sockaddr_in address(uint32_t host, uint16_t port) {
  struct sockaddr_in result = {.sin_family = AF_INET, .sin_port = htons(port)};
  result.sin_addr.s_addr = htonl(host);
  return result;
}

ptrdiff_t earshot_read_routes(uint8_t *bytes, size_t limit) {
  int file = open("/proc/net/route", O_RDONLY | O_CLOEXEC);
  if (file < 0) return -errno;
  size_t used = 0;
  while (used < limit) {
    ssize_t count = read(file, bytes + used, limit - used);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    used += (size_t)count;
  }
  close(file);
  return (ptrdiff_t)used;
}

/// A socket for the search; negative on failure.
static int ssdp_open(uint32_t own) {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  struct sockaddr_in local = address(own, 0);
  struct in_addr interface = {htonl(own)};
  unsigned char hops = 2;  // UPnP Device Architecture 1.1 §1.3.2
  setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &interface, sizeof interface);
  setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &hops, sizeof hops);
  if (bind(fd, (struct sockaddr *)&local, sizeof local) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

/// Sends the search to the group and to the router.
static void ssdp_ask(int fd, uint32_t router, const uint8_t *search, size_t count) {
  struct sockaddr_in group = address(ssdp_group, ssdp_port), one = address(router, ssdp_port);
  sendto(fd, search, count, 0, (struct sockaddr *)&group, sizeof group);
  sendto(fd, search, count, 0, (struct sockaddr *)&one, sizeof one);
}

/// How many bytes of the router's answer; 0 = none is there now.
static size_t ssdp_read(int fd, uint32_t router, uint8_t *answer, size_t limit, int *seen) {
  while (*seen < ssdp_limit) {
    struct sockaddr_in source;
    socklen_t length = sizeof source;
    ssize_t count = recvfrom(fd, answer, limit, 0, (struct sockaddr *)&source, &length);
    if (count < 0) return 0;
    *seen += 1;
    if (count > 0 && source.sin_addr.s_addr == htonl(router)) return (size_t)count;
  }
  return 0;
}

/// A conversation with the router that leaves from `own`, and from nowhere else: a mapping is that
/// of the address that asks for it. 0, or an error of libnatpmp.
static int natpmp_open(natpmp_t *natpmp, uint32_t own, uint32_t router) {
  memset(natpmp, 0, sizeof *natpmp);
  int result = initnatpmp(natpmp, 1, htonl(router));
  if (result != 0) return result;
  // Its socket has been bound to an address of the kernel's choice.
  close(natpmp->s);
  natpmp->s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (natpmp->s < 0) return NATPMP_ERR_SOCKETERROR;
  struct sockaddr_in local = address(own, 0), remote = address(router, NATPMP_PORT);
  if (bind(natpmp->s, (struct sockaddr *)&local, sizeof local) == 0 &&
      connect(natpmp->s, (struct sockaddr *)&remote, sizeof remote) == 0) {
    return 0;
  }
  closenatpmp(natpmp);
  return NATPMP_ERR_CONNECTERR;
}

/// How long to wait for what was asked by NAT-PMP before it is asked again, in ms.
static int natpmp_wait(natpmp_t *natpmp, int64_t deadline) {
  struct timeval wait = {0, 0};
  getnatpmprequesttimeout(natpmp, &wait);
  int64_t again = (int64_t)wait.tv_sec * 1000 + wait.tv_usec / 1000 + 1;
  int left = time_left(deadline);
  // Negative = it is due.
  return again < 1 ? 1 : again < left ? (int)again : left;
}

/// The code of the router's refusal (RFC 6886, section 3.5); 0 = it is none.
static int natpmp_refusal(int result) {
  switch (result) {
    case NATPMP_ERR_UNSUPPORTEDVERSION: return 1;
    case NATPMP_ERR_NOTAUTHORIZED: return 2;
    case NATPMP_ERR_NETWORKFAILURE: return 3;
    case NATPMP_ERR_OUTOFRESOURCES: return 4;
    case NATPMP_ERR_UNSUPPORTEDOPCODE: return 5;
    case NATPMP_ERR_UNDEFINEDERROR: return 6;
    default: return 0;
  }
}

int earshot_router_search(
    uint32_t own, uint32_t router, const uint8_t *search, size_t count, int milliseconds,
    int again_milliseconds, uint32_t *external, int *refusal, uint8_t *answer, size_t limit,
    size_t *answer_count) {
  int64_t deadline = present() + milliseconds, again = present() + again_milliseconds;
  int found = earshot_router_silent, seen = 0, times = 1;
  natpmp_t natpmp;
  int is_open = natpmp_open(&natpmp, own, router) == 0;
  int asks = is_open && sendpublicaddressrequest(&natpmp) == 2;
  int fd = ssdp_open(own);
  *refusal = 0;
  if (fd >= 0) ssdp_ask(fd, router, search, count);
  while (found == earshot_router_silent && time_left(deadline) > 0 && (asks || fd >= 0)) {
    struct pollfd both[2] = {
        {asks ? natpmp.s : -1, POLLIN, 0}, {seen < ssdp_limit ? fd : -1, POLLIN, 0}};
    int wait = asks ? natpmp_wait(&natpmp, deadline) : time_left(deadline);
    if (fd >= 0 && times == 1 && time_left(again) < wait) wait = time_left(again);
    poll(both, 2, wait);
    if (fd >= 0 && times == 1 && time_left(again) == 0) {
      ssdp_ask(fd, router, search, count);
      times = 2;
    }
    if (asks) {
      // Also asks again where that is due.
      natpmpresp_t response;
      int result = readnatpmpresponseorretry(&natpmp, &response);
      if (result == 0 && response.type == NATPMP_RESPTYPE_PUBLICADDRESS) {
        *external = ntohl(response.pnu.publicaddress.addr.s_addr);
        found = earshot_router_natpmp;
      } else if (result != NATPMP_TRYAGAIN) {
        *refusal = natpmp_refusal(result);
        asks = 0;
      }
    }
    if (found == earshot_router_silent && both[1].revents) {
      *answer_count = ssdp_read(fd, router, answer, limit, &seen);
      if (*answer_count > 0) found = earshot_router_upnp;
    }
  }
  if (fd >= 0) close(fd);
  if (is_open) closenatpmp(&natpmp);
  return found;
}

int earshot_natpmp_map(
    uint32_t own, uint32_t router, uint16_t inner, uint16_t outer, uint32_t seconds,
    int milliseconds, uint16_t *mapped, uint32_t *granted) {
  int64_t deadline = present() + milliseconds;
  natpmp_t natpmp;
  if (natpmp_open(&natpmp, own, router) != 0) return -1;
  int result = NATPMP_TRYAGAIN;
  if (sendnewportmappingrequest(&natpmp, NATPMP_PROTOCOL_UDP, inner, outer, seconds) != 12) {
    result = NATPMP_ERR_SENDERR;
  }
  while (result == NATPMP_TRYAGAIN && time_left(deadline) > 0) {
    struct pollfd one = {natpmp.s, POLLIN, 0};
    poll(&one, 1, natpmp_wait(&natpmp, deadline));
    natpmpresp_t response;
    result = readnatpmpresponseorretry(&natpmp, &response);
    if (result == 0) {
      if (response.type != NATPMP_RESPTYPE_UDPPORTMAPPING ||
          response.pnu.newportmapping.privateport != inner) {
        result = NATPMP_ERR_UNDEFINEDERROR;
        break;
      }
      *mapped = response.pnu.newportmapping.mappedpublicport;
      *granted = response.pnu.newportmapping.lifetime;
    }
  }
  closenatpmp(&natpmp);
  int refusal = natpmp_refusal(result);
  return refusal > 0 ? refusal : result == 0 ? 0 : -1;
}

/// Waits until the socket can do what is asked; 0, or a negated errno.
static int await_socket(int fd, short events, int64_t deadline) {
  for (;;) {
    struct pollfd one = {fd, events, 0};
    int left = time_left(deadline);
    if (left == 0) return -ETIMEDOUT;
    int count = poll(&one, 1, left);
    if (count > 0) return 0;
    if (count < 0 && errno != EINTR) return -errno;
  }
}

/// How long all of an answer of HTTP is, by what has come of it; `limit` where that does not say.
static size_t whole_length(const uint8_t *reply, size_t used, size_t limit) {
  static const char length_name[] = "content-length:", coding_name[] = "transfer-encoding:";
  const uint8_t *end = memmem(reply, used, "\r\n\r\n", 4);
  if (!end) return limit;
  size_t head = (size_t)(end - reply) + 4, whole = limit;
  for (const uint8_t *line = reply; line < end;) {
    const uint8_t *next = memmem(line, (size_t)(end + 2 - line), "\r\n", 2);
    size_t left = (size_t)(next - line);
    if (left >= sizeof coding_name - 1 &&
        strncasecmp((const char *)line, coding_name, sizeof coding_name - 1) == 0) {
      return limit;  // Chunks say for themselves where they end.
    }
    if (left > sizeof length_name - 1 &&
        strncasecmp((const char *)line, length_name, sizeof length_name - 1) == 0) {
      const uint8_t *digit = line + sizeof length_name - 1;
      while (digit < next && (*digit == ' ' || *digit == '\t')) digit++;
      if (digit == next || *digit < '0' || *digit > '9') return limit;
      size_t length = 0;
      for (; digit < next && *digit >= '0' && *digit <= '9' && length < limit; digit++) {
        length = length * 10 + (size_t)(*digit - '0');
      }
      whole = length < limit - head ? head + length : limit;
    }
    line = next + 2;
  }
  return whole;
}

static ptrdiff_t exchange(
    int fd, const uint8_t *request, size_t count, uint8_t *reply, size_t limit, int64_t deadline) {
  size_t sent = 0, used = 0, whole = limit;
  while (sent < count) {
    int fault = await_socket(fd, POLLOUT, deadline);
    if (fault != 0) return fault;
    ssize_t step = send(fd, request + sent, count - sent, MSG_NOSIGNAL);
    if (step < 0 && errno != EAGAIN && errno != EINTR) return -errno;
    if (step > 0) sent += (size_t)step;
  }
  // Some routers keep the connection: what it says of its length is where an answer ends.
  while (used < whole) {
    int fault = await_socket(fd, POLLIN, deadline);
    if (fault != 0) return used > 0 ? (ptrdiff_t)used : fault;
    ssize_t step = recv(fd, reply + used, limit - used, 0);
    if (step == 0) break;
    if (step < 0 && errno != EAGAIN && errno != EINTR) return used > 0 ? (ptrdiff_t)used : -errno;
    if (step > 0) used += (size_t)step;
    if (whole == limit && used <= head_limit) whole = whole_length(reply, used, limit);
  }
  return (ptrdiff_t)used;
}

ptrdiff_t earshot_tcp_exchange(
    uint32_t own, uint32_t host, uint16_t port, const uint8_t *request, size_t count,
    uint8_t *reply, size_t limit, int milliseconds) {
  int64_t deadline = present() + milliseconds;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -errno;
  struct sockaddr_in local = address(own, 0), remote = address(host, port);
  ptrdiff_t result = 0;
  if (bind(fd, (struct sockaddr *)&local, sizeof local) != 0) result = -errno;
  if (result == 0 && connect(fd, (struct sockaddr *)&remote, sizeof remote) != 0) {
    result = errno == EINPROGRESS ? await_socket(fd, POLLOUT, deadline) : -errno;
    int fault = 0;
    socklen_t length = sizeof fault;
    if (result == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &fault, &length) == 0) result = -fault;
  }
  if (result == 0) result = exchange(fd, request, count, reply, limit, deadline);
  close(fd);
  return result;
}

/// A copy with a margin of zeros, for readers that may look too far; NULL without memory.
static char *with_margin(const uint8_t *xml, size_t count) {
  if (count > INT_MAX - xml_margin) return NULL;
  char *copy = calloc(1, count + xml_margin);
  if (copy) memcpy(copy, xml, count);
  return copy;
}

static int copy_text(const char *text, size_t length, char *result, size_t limit) {
  if (length == 0 || length >= limit) return -1;
  memcpy(result, text, length);
  result[length] = 0;
  return 0;
}

int earshot_find_service(
    const uint8_t *xml, size_t count, char *url, size_t url_limit, char *type,
    size_t type_limit) {
  char *copy = with_margin(xml, count);
  if (!copy) return -1;
  struct IGDdatas data;
  memset(&data, 0, sizeof data);
  parserootdesc(copy, (int)count, &data);
  free(copy);
  const struct IGDdatas_service *service = data.first.controlurl[0] ? &data.first : &data.second;
  size_t url_length = strnlen(service->controlurl, sizeof service->controlurl);
  size_t type_length = strnlen(service->servicetype, sizeof service->servicetype);
  if (copy_text(service->controlurl, url_length, url, url_limit) != 0) return -1;
  return copy_text(service->servicetype, type_length, type, type_limit);
}

int earshot_reply_value(
    const uint8_t *xml, size_t count, const char *name, char *value, size_t limit) {
  char *copy = with_margin(xml, count);
  if (!copy) return -1;
  struct NameValueParserData data;
  memset(&data, 0, sizeof data);
  ParseNameValue(copy, (int)count, &data);
  const char *found = GetValueFromNameValueList(&data, name);
  int result = found ? copy_text(found, strnlen(found, 128), value, limit) : -1;
  ClearNameValueList(&data);
  free(copy);
  return result;
}
