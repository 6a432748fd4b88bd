#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

__attribute__((weak)) const char *earshot_commit(void) { return ""; }

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

// MARK: - Addresses

static uint64_t read_word(const uint8_t *bytes, int count) {
  uint64_t word = 0;
  for (int index = 0; index < 8; index++) word = word << 8 | (index < count ? bytes[index] : 0);
  return word;
}

static void write_word(uint64_t word, uint8_t *bytes, int count) {
  for (int index = 0; index < count; index++) bytes[index] = (uint8_t)(word >> (56 - 8 * index));
}

void earshot_read_address(const struct sockaddr *from, earshot_address *to) {
  memset(to, 0, sizeof *to);
  if (from->sa_family == AF_INET) {
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
    to->family = 4;
    to->port = ntohs(v4->sin_port);
    to->high = (uint64_t)ntohl(v4->sin_addr.s_addr) << 32;
  } else if (from->sa_family == AF_INET6) {
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;
    const uint8_t *bytes = v6->sin6_addr.s6_addr;
    to->port = ntohs(v6->sin6_port);
    if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
      to->family = 4;
      to->high = read_word(bytes + 12, 4);
    } else {
      to->family = 6;
      to->high = read_word(bytes, 8);
      to->low = read_word(bytes + 8, 8);
    }
  }
}

/// IPv4 destinations of an IPv6 socket are written as ::ffff:a.b.c.d.
static socklen_t write_address(const earshot_address *from, int is_v6,
                               struct sockaddr_storage *to) {
  if (!is_v6) {
    struct sockaddr_in *v4 = (struct sockaddr_in *)to;
    memset(v4, 0, sizeof *v4);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(from->port);
    v4->sin_addr.s_addr = htonl((uint32_t)(from->high >> 32));
    return sizeof *v4;
  }
  struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)to;
  memset(v6, 0, sizeof *v6);
  v6->sin6_family = AF_INET6;
  v6->sin6_port = htons(from->port);
  uint8_t *bytes = v6->sin6_addr.s6_addr;
  if (from->family == 4) {
    bytes[10] = bytes[11] = 0xff;
    write_word(from->high, bytes + 12, 4);
  } else {
    write_word(from->high, bytes, 8);
    write_word(from->low, bytes + 8, 8);
  }
  return sizeof *v6;
}

// MARK: - Sockets

static int set_int(int fd, int level, int name, int value) {
  return setsockopt(fd, level, name, &value, sizeof value) < 0 ? -errno : 0;
}

static int bind_address(int fd, const earshot_address *local) {
  struct sockaddr_storage address;
  int is_v6 = local->family == 6;
  if (is_v6 && set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, (local->high | local->low) != 0) < 0)
    return -errno;
  socklen_t size = write_address(local, is_v6, &address);
  return bind(fd, (struct sockaddr *)&address, size) < 0 ? -errno : 0;
}

int earshot_udp_open(const earshot_address *local, int buffer_byte_count) {
  int is_v6 = local->family == 6;
  int fd = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  int failure = bind_address(fd, local);
  if (failure < 0) {
    close(fd);
    return failure;
  }
  // Each of these is a help, not a need: an old kernel may refuse it.
  // Whoever may administer the network may have more than the system's limit.
  if (set_int(fd, SOL_SOCKET, SO_RCVBUFFORCE, buffer_byte_count) < 0)
    set_int(fd, SOL_SOCKET, SO_RCVBUF, buffer_byte_count);
  set_int(fd, SOL_SOCKET, SO_SNDBUF, buffer_byte_count);
  set_int(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1);
  set_int(fd, IPPROTO_IP, IP_RECVTOS, 1);
  if (is_v6) set_int(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
  return fd;
}

int earshot_udp_connect(const earshot_address *remote) {
  int is_v6 = remote->family == 6;
  int fd = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  struct sockaddr_storage address;
  socklen_t size = write_address(remote, is_v6, &address);
  if (connect(fd, (struct sockaddr *)&address, size) < 0) {
    int failure = -errno;
    close(fd);
    return failure;
  }
  return fd;
}

int earshot_udp_set_gro(int fd, int is_on) { return set_int(fd, IPPROTO_UDP, UDP_GRO, is_on); }

int earshot_udp_report_destinations(int fd, int is_v6) {
  // An IPv6 socket reports IPv4 destinations in the same form, as ::ffff:a.b.c.d.
  return is_v6 ? set_int(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1)
               : set_int(fd, IPPROTO_IP, IP_PKTINFO, 1);
}

// The kernel doubles what it was asked for, for its own records (socket(7)).
static int buffer_byte_count(int fd, int option) {
  int value = 0;
  socklen_t length = sizeof value;
  return getsockopt(fd, SOL_SOCKET, option, &value, &length) == 0 ? value / 2 : -errno;
}

int earshot_udp_receive_buffer(int fd) { return buffer_byte_count(fd, SO_RCVBUF); }
int earshot_udp_send_buffer(int fd) { return buffer_byte_count(fd, SO_SNDBUF); }

// Packets that came and found the socket's buffer full (SK_MEMINFO_DROPS, since Linux 4.12).
uint32_t earshot_udp_overflow_count(int fd) {
  uint32_t figures[SK_MEMINFO_VARS] = {0};
  socklen_t length = sizeof figures;
  if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, figures, &length) < 0) return 0;
  return length >= sizeof figures ? figures[SK_MEMINFO_DROPS] : 0;
}

int earshot_udp_set_traffic_class(int fd, int is_v6, int bits) {
  int failure = set_int(fd, IPPROTO_IP, IP_TOS, bits);
  return is_v6 ? set_int(fd, IPPROTO_IPV6, IPV6_TCLASS, bits) : failure;
}

int earshot_tcp_listen(const earshot_address *local, int backlog) {
  int family = local->family == 6 ? AF_INET6 : AF_INET;
  int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  int failure = bind_address(fd, local);
  if (failure == 0 && listen(fd, backlog) < 0) failure = -errno;
  if (failure < 0) {
    close(fd);
    return failure;
  }
  return fd;
}

int earshot_tcp_accept(int fd) {
  int accepted = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  return accepted < 0 ? -errno : accepted;
}

int earshot_tcp_connect(const earshot_address *remote) {
  int is_v6 = remote->family == 6;
  int fd = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  // A way that carries nothing for 10 s is lost; an idle one is asked every 30 s, which also keeps
  // translators' mappings.
  set_int(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 10000);
  set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  struct sockaddr_storage address;
  socklen_t size = write_address(remote, is_v6, &address);
  if (connect(fd, (struct sockaddr *)&address, size) < 0 && errno != EINPROGRESS) {
    int failure = -errno;
    close(fd);
    return failure;
  }
  return fd;
}

int earshot_tcp_connect_result(int fd) {
  int failure = 0;
  socklen_t size = sizeof failure;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) < 0) return -errno;
  if (failure != 0) return -failure;
  struct sockaddr_storage address;
  size = sizeof address;
  if (getpeername(fd, (struct sockaddr *)&address, &size) == 0) return 0;
  return errno == ENOTCONN ? -EINPROGRESS : -errno;
}

int earshot_tcp_unsent(int fd) {
  int count = 0;
  return ioctl(fd, SIOCOUTQNSD, &count) < 0 ? -errno : count;
}

int earshot_local_address(int fd, earshot_address *address) {
  struct sockaddr_storage storage;
  socklen_t size = sizeof storage;
  if (getsockname(fd, (struct sockaddr *)&storage, &size) < 0) return -errno;
  earshot_read_address((struct sockaddr *)&storage, address);
  if (storage.ss_family == AF_INET6) address->family = 6;
  return 0;
}

/// Where a packet to `remote` would come from: a connected socket's own address. Nothing is sent.
int earshot_source_address(const earshot_address *remote, earshot_address *local) {
  int is_v6 = remote->family == 6;
  int fd = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  struct sockaddr_storage address;
  socklen_t size = write_address(remote, is_v6, &address);
  int result = connect(fd, (struct sockaddr *)&address, size) < 0
                   ? -errno : earshot_local_address(fd, local);
  close(fd);
  return result;
}

// MARK: - Changes of addresses

int earshot_route_open(void) {
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  if (fd < 0) return -errno;
  struct sockaddr_nl address = {
      .nl_family = AF_NETLINK,
      .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE |
                   RTMGRP_IPV6_ROUTE | RTMGRP_IPV4_RULE,
  };
  if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
  int error = errno;
  close(fd);
  return -error;
}

int earshot_route_drain(int fd) {
  uint8_t bytes[8192];
  int count = 0;
  while (1) {
    ssize_t size = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    // The queue overflowed: something changed.
    if (size < 0 && errno == ENOBUFS) return count + 1;
    if (size <= 0) return count;
    count++;
  }
}

// MARK: - Receiving

/// Room for a time stamp, two traffic classes, a segment size and a destination.
enum { control_byte_count = 256 };

struct earshot_receiver {
  uint32_t slot_count;
  uint32_t slot_byte_count;
  uint8_t *slots;
  earshot_received results[earshot_batch_limit];
  struct mmsghdr headers[earshot_batch_limit];
  struct iovec vectors[earshot_batch_limit];
  struct sockaddr_storage sources[earshot_batch_limit];
  _Alignas(struct cmsghdr) uint8_t control[earshot_batch_limit][control_byte_count];
};

static void rearm(earshot_receiver *receiver, uint32_t index) {
  struct msghdr *header = &receiver->headers[index].msg_hdr;
  header->msg_namelen = sizeof receiver->sources[index];
  header->msg_controllen = control_byte_count;
  header->msg_flags = 0;
}

earshot_receiver *earshot_receiver_create(uint32_t slot_count, uint32_t slot_byte_count) {
  if (slot_count > earshot_batch_limit) slot_count = earshot_batch_limit;
  earshot_receiver *receiver = calloc(1, sizeof *receiver);
  if (receiver == NULL) return NULL;
  receiver->slot_count = slot_count;
  receiver->slot_byte_count = slot_byte_count;
  receiver->slots = malloc((size_t)slot_count * slot_byte_count);
  if (receiver->slots == NULL) {
    free(receiver);
    return NULL;
  }
  for (uint32_t index = 0; index < slot_count; index++) {
    struct msghdr *header = &receiver->headers[index].msg_hdr;
    receiver->vectors[index].iov_base = receiver->slots + (size_t)index * slot_byte_count;
    receiver->vectors[index].iov_len = slot_byte_count;
    header->msg_name = &receiver->sources[index];
    header->msg_iov = &receiver->vectors[index];
    header->msg_iovlen = 1;
    header->msg_control = receiver->control[index];
    rearm(receiver, index);
  }
  return receiver;
}

void earshot_receiver_destroy(earshot_receiver *receiver) {
  free(receiver->slots);
  free(receiver);
}

uint8_t *earshot_receiver_slots(earshot_receiver *receiver) { return receiver->slots; }

const earshot_received *earshot_receiver_results(const earshot_receiver *receiver) {
  return receiver->results;
}

static void read_control(struct msghdr *header, earshot_received *result) {
  for (struct cmsghdr *item = CMSG_FIRSTHDR(header); item; item = CMSG_NXTHDR(header, item)) {
    const uint8_t *value = CMSG_DATA(item);
    if (item->cmsg_level == SOL_SOCKET && item->cmsg_type == SCM_TIMESTAMPNS) {
      struct timespec time;
      memcpy(&time, value, sizeof time);
      result->arrival_ns = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    } else if (item->cmsg_level == IPPROTO_IP && item->cmsg_type == IP_TOS) {
      result->ecn = value[0] & 3;
    } else if (item->cmsg_level == IPPROTO_IPV6 && item->cmsg_type == IPV6_TCLASS) {
      int traffic_class;
      memcpy(&traffic_class, value, sizeof traffic_class);
      result->ecn = traffic_class & 3;
    } else if (item->cmsg_level == IPPROTO_UDP && item->cmsg_type == UDP_GRO) {
      int size;
      memcpy(&size, value, sizeof size);
      if (size > 0) result->segment_byte_count = (uint32_t)size;
    } else if (item->cmsg_level == IPPROTO_IP && item->cmsg_type == IP_PKTINFO) {
      struct in_pktinfo info;
      memcpy(&info, value, sizeof info);
      // Not ipi_addr, which may be a broadcast address.
      struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr = info.ipi_spec_dst};
      earshot_read_address((struct sockaddr *)&name, &result->local);
      result->interface = (uint32_t)info.ipi_ifindex;
    } else if (item->cmsg_level == IPPROTO_IPV6 && item->cmsg_type == IPV6_PKTINFO) {
      struct in6_pktinfo info;
      memcpy(&info, value, sizeof info);
      struct sockaddr_in6 name = {.sin6_family = AF_INET6, .sin6_addr = info.ipi6_addr};
      earshot_read_address((struct sockaddr *)&name, &result->local);
      result->interface = info.ipi6_ifindex;
    }
  }
}

int earshot_receive(earshot_receiver *receiver, int fd, uint32_t limit) {
  if (limit > receiver->slot_count) limit = receiver->slot_count;
  int count = recvmmsg(fd, receiver->headers, limit, MSG_DONTWAIT, NULL);
  if (count < 0) return -errno;
  for (int index = 0; index < count; index++) {
    struct msghdr *header = &receiver->headers[index].msg_hdr;
    earshot_received *result = &receiver->results[index];
    result->arrival_ns = 0;
    result->ecn = 0;
    result->local.family = 0;
    result->interface = 0;
    result->byte_count = receiver->headers[index].msg_len;
    result->segment_byte_count = result->byte_count ? result->byte_count : 1;
    result->is_truncated = (header->msg_flags & MSG_TRUNC) != 0;
    earshot_read_address((struct sockaddr *)&receiver->sources[index], &result->source);
    read_control(header, result);
    rearm(receiver, (uint32_t)index);
  }
  return count;
}

// MARK: - Sending

/// Room for a segment size, an own address and a hop limit.
enum {
  send_control_byte_count = CMSG_SPACE(sizeof(uint16_t)) + CMSG_SPACE(sizeof(struct in6_pktinfo)) +
                            CMSG_SPACE(sizeof(int))
};

static void attach(struct msghdr *header, uint8_t *control, int level, int type, const void *value,
                   size_t byte_count) {
  struct cmsghdr *item = (struct cmsghdr *)(control + header->msg_controllen);
  memset(item, 0, CMSG_SPACE(byte_count));
  item->cmsg_level = level;
  item->cmsg_type = type;
  item->cmsg_len = CMSG_LEN(byte_count);
  memcpy(CMSG_DATA(item), value, byte_count);
  header->msg_control = control;
  header->msg_controllen += CMSG_SPACE(byte_count);
}

static void attach_own_address(struct msghdr *header, uint8_t *control, int is_v6,
                               const earshot_own_address *own) {
  struct sockaddr_storage name;
  write_address(&own->address, is_v6, &name);
  if (is_v6) {
    struct in6_pktinfo info = {.ipi6_addr = ((struct sockaddr_in6 *)&name)->sin6_addr,
                               .ipi6_ifindex = own->interface};
    attach(header, control, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof info);
  } else {
    struct in_pktinfo info = {.ipi_spec_dst = ((struct sockaddr_in *)&name)->sin_addr,
                              .ipi_ifindex = (int)own->interface};
    attach(header, control, IPPROTO_IP, IP_PKTINFO, &info, sizeof info);
  }
}

/// An IPv6 socket sends to IPv4 addresses too, and there it is IPv4's field.
static void attach_hop_limit(struct msghdr *header, uint8_t *control,
                             const earshot_outgoing *message) {
  int limit = message->hop_limit;
  int is_v4 = message->destination.family == 4;
  attach(header, control, is_v4 ? IPPROTO_IP : IPPROTO_IPV6, is_v4 ? IP_TTL : IPV6_HOPLIMIT, &limit,
         sizeof limit);
}

int earshot_send(int fd, int is_v6, const earshot_own_address *own, const uint8_t *arena,
                 const earshot_outgoing *messages, uint32_t count) {
  struct mmsghdr headers[earshot_batch_limit];
  struct iovec vectors[earshot_batch_limit];
  struct sockaddr_storage names[earshot_batch_limit];
  _Alignas(struct cmsghdr) uint8_t control[earshot_batch_limit][send_control_byte_count];
  if (count > earshot_batch_limit) count = earshot_batch_limit;
  for (uint32_t index = 0; index < count; index++) {
    const earshot_outgoing *message = &messages[index];
    struct msghdr *header = &headers[index].msg_hdr;
    vectors[index].iov_base = (void *)(arena + message->offset);
    vectors[index].iov_len = message->byte_count;
    header->msg_name = &names[index];
    header->msg_namelen = write_address(&message->destination, is_v6, &names[index]);
    header->msg_iov = &vectors[index];
    header->msg_iovlen = 1;
    header->msg_control = NULL;
    header->msg_controllen = 0;
    header->msg_flags = 0;
    if (message->segment_byte_count < message->byte_count) {
      uint16_t size = (uint16_t)message->segment_byte_count;
      attach(header, control[index], IPPROTO_UDP, UDP_SEGMENT, &size, sizeof size);
    }
    if (message->local != 0)
      attach_own_address(header, control[index], is_v6, &own[message->local - 1]);
    if (message->hop_limit != 0) attach_hop_limit(header, control[index], message);
  }
  int sent = sendmmsg(fd, headers, count, MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent < 0 ? -errno : sent;
}

int earshot_send_split(int fd, int is_v6, const earshot_own_address *own, const uint8_t *arena,
                       const earshot_outgoing *message, uint32_t first_segment) {
  earshot_outgoing parts[earshot_batch_limit];
  uint32_t count = 0;
  uint32_t size = message->segment_byte_count;
  for (uint32_t start = first_segment * size; start < message->byte_count; start += size) {
    if (count == earshot_batch_limit) break;
    uint32_t left = message->byte_count - start;
    parts[count] = *message;
    parts[count].offset = message->offset + start;
    parts[count].byte_count = left < size ? left : size;
    parts[count].segment_byte_count = parts[count].byte_count;
    count++;
  }
  return earshot_send(fd, is_v6, own, arena, parts, count);
}

// MARK: - Waiting

static int or_errno(int result) { return result < 0 ? -errno : result; }

int earshot_poll_open(void) { return or_errno(epoll_create1(EPOLL_CLOEXEC)); }

static int control(int poll_fd, int operation, int fd, uint32_t events, uint64_t token) {
  struct epoll_event event = {.events = events, .data.u64 = token};
  return or_errno(epoll_ctl(poll_fd, operation, fd, &event));
}

int earshot_poll_add(int poll_fd, int fd, uint32_t events, int is_edge_triggered,
                     uint64_t token) {
  uint32_t edge = is_edge_triggered ? (uint32_t)EPOLLET : 0;
  return control(poll_fd, EPOLL_CTL_ADD, fd, events | edge, token);
}

int earshot_poll_change(int poll_fd, int fd, uint32_t events, uint64_t token) {
  return control(poll_fd, EPOLL_CTL_MOD, fd, events, token);
}

int earshot_poll_remove(int poll_fd, int fd) { return control(poll_fd, EPOLL_CTL_DEL, fd, 0, 0); }

int earshot_poll_wait(int poll_fd, earshot_readiness *ready, int limit, int timeout_ms) {
  struct epoll_event events[earshot_batch_limit];
  if (limit > earshot_batch_limit) limit = earshot_batch_limit;
  int count = epoll_wait(poll_fd, events, limit, timeout_ms);
  if (count < 0) return -errno;
  for (int index = 0; index < count; index++) {
    ready[index].token = events[index].data.u64;
    ready[index].events = events[index].events;
  }
  return count;
}

int earshot_wake_open(void) { return or_errno(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)); }
int earshot_wake_read(int fd) {
  eventfd_t count;
  return or_errno(eventfd_read(fd, &count));
}
int earshot_flush_output(void) {
  errno = 0;
  int failed = fflush(stdout) != 0 || ferror(stdout);
  return failed ? -(errno != 0 ? errno : EIO) : 0;
}

int earshot_rename_new(int folder, const char *from, const char *to) {
  return or_errno(renameat2(folder, from, folder, to, RENAME_NOREPLACE));
}

int earshot_wake_write(int fd) { return or_errno(eventfd_write(fd, 1)); }

int earshot_timer_open(void) {
  return or_errno(timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC));
}

static struct timespec time_of(uint64_t ns) {
  return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

/// Waits for the timer (gives 1), or for somebody to write to `wake_fd` (gives 0).
int earshot_timer_wait(int fd, int wake_fd) {
  struct pollfd waiting[2] = {{.fd = wake_fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
  int count = poll(waiting, 2, -1);
  if (count < 0) return -errno;
  return waiting[0].revents == 0;
}

static void fill(sigset_t *set, const int *numbers, int count) {
  sigemptyset(set);
  for (int index = 0; index < count; index++) sigaddset(set, numbers[index]);
}

int earshot_signals_block(const int *numbers, int count) {
  sigset_t set;
  fill(&set, numbers, count);
  return -pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int earshot_signals_open(const int *numbers, int count) {
  sigset_t set;
  fill(&set, numbers, count);
  return or_errno(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
}

int earshot_signal_is_ignored(int number) {
  struct sigaction action;
  return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int earshot_signals_read(int fd) {
  struct signalfd_siginfo news;
  ssize_t count = read(fd, &news, sizeof news);
  if (count < 0) return -errno;
  return count == (ssize_t)sizeof news ? (int)news.ssi_signo : -EIO;
}

// MARK: - Time and threads

static uint64_t read_clock(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t earshot_boottime_ns(void) { return read_clock(CLOCK_BOOTTIME); }
uint64_t earshot_realtime_ns(void) { return read_clock(CLOCK_REALTIME); }
uint64_t earshot_thread_cpu_ns(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
void __tsan_acquire(void *address);
void __tsan_release(void *address);
static char lock_marks[65536];
void earshot_lock_taken(int key) { __tsan_acquire(&lock_marks[key & 65535]); }
void earshot_lock_left(int key) { __tsan_release(&lock_marks[key & 65535]); }
#define EARSHOT_LOCKS_ARE_SEEN
#endif
#endif
#ifndef EARSHOT_LOCKS_ARE_SEEN
void earshot_lock_taken(int key) { (void)key; }
void earshot_lock_left(int key) { (void)key; }
#endif

int earshot_timer_arm(int fd, uint64_t boottime_ns) {
  if (boottime_ns == 0) boottime_ns = 1;  // 0 would disarm
  struct itimerspec time = {.it_value = time_of(boottime_ns)};
  return or_errno(timerfd_settime(fd, TFD_TIMER_ABSTIME, &time, NULL));
}

// pthread_self is declared const, so an optimiser may carry its value across a suspension to
// another thread; nobody can do that to the address of a thread-local behind a call.
static _Thread_local char thread_mark;
__attribute__((noinline)) uintptr_t earshot_thread_mark(void) {
  __asm__ volatile("");
  return (uintptr_t)&thread_mark;
}

static uint64_t limit_of(int resource) {
  struct rlimit limit;
  if (getrlimit(resource, &limit) != 0) return 0;
  return limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

uint64_t earshot_locked_memory_limit(void) { return limit_of(RLIMIT_MEMLOCK); }
uint64_t earshot_real_time_limit(void) { return limit_of(RLIMIT_RTPRIO); }

int earshot_can_lock_memory(size_t byte_count) {
  void *memory = mmap(NULL, byte_count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 0;
  int is_locked = mlock(memory, byte_count) == 0;
  munmap(memory, byte_count);
  return is_locked;
}

void earshot_kernel_version(char *text, size_t byte_count) {
  struct utsname name;
  if (byte_count > 0) text[0] = 0;
  if (uname(&name) == 0) snprintf(text, byte_count, "%s %s", name.sysname, name.release);
}

int earshot_forbid_core_dumps(void) {
  struct rlimit none = {0, 0};
  if (setrlimit(RLIMIT_CORE, &none) != 0) return or_errno(-1);
  return or_errno(prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL));
}

void earshot_thread_sharpen_timers(void) { prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

// SCHED_RESET_ON_FORK: threads and processes that such a thread starts are ordinary ones.
static int set_scheduling(int policy, int priority) {
  struct sched_param parameters = {.sched_priority = priority};
  return or_errno(sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, &parameters));
}

int earshot_thread_go_real_time(int priority) { return set_scheduling(SCHED_FIFO, priority); }
int earshot_thread_leave_real_time(void) { return set_scheduling(SCHED_OTHER, 0); }

int earshot_thread_start(void *(*body)(void *), void *context, const char *name,
                         unsigned long *thread) {
  pthread_t started;
  int failure = pthread_create(&started, NULL, body, context);
  if (failure != 0) return -failure;
  pthread_setname_np(started, name);
  *thread = started;
  return 0;
}

// MARK: - TCP

ptrdiff_t earshot_tcp_read(int fd, uint8_t *bytes, size_t limit) {
  ssize_t count = recv(fd, bytes, limit, MSG_DONTWAIT);
  return count < 0 ? -errno : count;
}

ptrdiff_t earshot_tcp_write(int fd, const uint8_t *bytes, size_t count) {
  ssize_t written = send(fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
  return written < 0 ? -errno : written;
}

// MARK: - Terminal

static struct termios saved_terminal;
static volatile sig_atomic_t is_terminal_raw;

void earshot_terminal_leave_raw_mode(void) {  // async-signal-safe
  if (!is_terminal_raw) return;
  is_terminal_raw = 0;
  tcsetattr(STDIN_FILENO, TCSANOW, &saved_terminal);
}

static void leave_and_die(int signal_number) {
  earshot_terminal_leave_raw_mode();
  raise(signal_number);  // SA_RESETHAND has put the default action back
}

static void restore_on_death(void) {
  static const int deadly[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
  for (size_t index = 0; index < sizeof deadly / sizeof *deadly; index++) {
    struct sigaction current;
    if (sigaction(deadly[index], NULL, &current) < 0 || current.sa_handler != SIG_DFL) continue;
    struct sigaction action = {.sa_handler = leave_and_die, .sa_flags = SA_RESETHAND};
    sigaction(deadly[index], &action, NULL);
  }
}

int earshot_terminal_enter_raw_mode(void) {
  static int is_registered;
  if (is_terminal_raw) return 0;
  if (!isatty(STDIN_FILENO)) return -ENOTTY;
  // A background job that touches the terminal would be stopped (SIGTTIN, SIGTTOU).
  if (tcgetpgrp(STDIN_FILENO) != getpgrp()) return -EPERM;
  if (tcgetattr(STDIN_FILENO, &saved_terminal) < 0) return -errno;
  struct termios raw = saved_terminal;
  raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  raw.c_cc[VSUSP] = _POSIX_VDISABLE;  // stopping in mid-call would only look like a dead peer
  if (!is_registered) {
    is_registered = 1;
    atexit(earshot_terminal_leave_raw_mode);
    restore_on_death();
  }
  if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) < 0) return -errno;
  is_terminal_raw = 1;
  return 0;
}

int earshot_terminal_column_count(int fd) {
  struct winsize size;
  if (ioctl(fd, TIOCGWINSZ, &size) < 0) return -errno;
  return size.ws_col;
}

int earshot_bytes_held(int descriptor, int32_t *count) {
  int held = 0;
  if (ioctl(descriptor, FIONREAD, &held) != 0) return -errno;
  *count = held;
  return 0;
}

void earshot_notify(const char *path, const char *text) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen(path);
  if (length >= sizeof address.sun_path) return;
  memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = 0;
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
  (void)sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address, size);
  close(fd);
}

int earshot_process_open(int32_t process) {
  long number = syscall(SYS_pidfd_open, process, 0);
  return number < 0 ? -errno : (int)number;
}
