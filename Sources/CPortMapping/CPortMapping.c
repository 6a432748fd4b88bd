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
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const uint16_t ssdp_port = 1900;
static const uint32_t ssdp_group = 0xEFFFFFFA;  // 239.255.255.250
/// Datagrams of others that are looked at in one search.
static const int ssdp_limit = 64;
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

/// A socket that has sent the search; negative on failure.
static int ssdp_open(uint32_t own, uint32_t router, const uint8_t *search, size_t count) {
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
  struct sockaddr_in group = address(ssdp_group, ssdp_port), one = address(router, ssdp_port);
  sendto(fd, search, count, 0, (struct sockaddr *)&group, sizeof group);
  sendto(fd, search, count, 0, (struct sockaddr *)&one, sizeof one);
  return fd;
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

int earshot_router_search(
    uint32_t own, uint32_t router, const uint8_t *search, size_t count, int milliseconds,
    uint32_t *external, uint8_t *answer, size_t limit, size_t *answer_count) {
  int64_t deadline = present() + milliseconds;
  int found = earshot_router_silent, seen = 0;
  natpmp_t natpmp;
  memset(&natpmp, 0, sizeof natpmp);
  int is_open = initnatpmp(&natpmp, 1, htonl(router)) == 0;
  int asks = is_open && sendpublicaddressrequest(&natpmp) == 2;
  int fd = ssdp_open(own, router, search, count);
  while (found == earshot_router_silent && time_left(deadline) > 0 && (asks || fd >= 0)) {
    struct pollfd both[2] = {
        {asks ? natpmp.s : -1, POLLIN, 0}, {seen < ssdp_limit ? fd : -1, POLLIN, 0}};
    if (poll(both, 2, time_left(deadline)) <= 0) continue;
    if (both[0].revents) {
      natpmpresp_t response;
      int result = readnatpmpresponseorretry(&natpmp, &response);
      if (result == 0 && response.type == NATPMP_RESPTYPE_PUBLICADDRESS) {
        *external = ntohl(response.pnu.publicaddress.addr.s_addr);
        found = earshot_router_natpmp;
      } else if (result != NATPMP_TRYAGAIN) {
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
    uint32_t router, uint16_t inner, uint16_t outer, uint32_t seconds, int milliseconds,
    uint16_t *mapped, uint32_t *granted) {
  int64_t deadline = present() + milliseconds;
  natpmp_t natpmp;
  memset(&natpmp, 0, sizeof natpmp);
  int result = initnatpmp(&natpmp, 1, htonl(router));
  if (result != 0) return result;
  result = NATPMP_TRYAGAIN;
  if (sendnewportmappingrequest(&natpmp, NATPMP_PROTOCOL_UDP, inner, outer, seconds) != 12) {
    result = NATPMP_ERR_SENDERR;
  }
  while (result == NATPMP_TRYAGAIN && time_left(deadline) > 0) {
    struct timeval wait = {0, 0};
    getnatpmprequesttimeout(&natpmp, &wait);
    int64_t again = (int64_t)wait.tv_sec * 1000 + wait.tv_usec / 1000 + 1;
    int left = time_left(deadline);
    struct pollfd one = {natpmp.s, POLLIN, 0};
    poll(&one, 1, again > 0 && again < left ? (int)again : left);
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
  return result;
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

static ptrdiff_t exchange(
    int fd, const uint8_t *request, size_t count, uint8_t *reply, size_t limit, int64_t deadline) {
  size_t sent = 0, used = 0;
  while (sent < count) {
    int fault = await_socket(fd, POLLOUT, deadline);
    if (fault != 0) return fault;
    ssize_t step = send(fd, request + sent, count - sent, MSG_NOSIGNAL);
    if (step < 0 && errno != EAGAIN && errno != EINTR) return -errno;
    if (step > 0) sent += (size_t)step;
  }
  while (used < limit) {
    int fault = await_socket(fd, POLLIN, deadline);
    // What has come may be all: some routers keep the connection.
    if (fault != 0) return used > 0 ? (ptrdiff_t)used : fault;
    ssize_t step = recv(fd, reply + used, limit - used, 0);
    if (step == 0) break;
    if (step < 0 && errno != EAGAIN && errno != EINTR) return used > 0 ? (ptrdiff_t)used : -errno;
    if (step > 0) used += (size_t)step;
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
