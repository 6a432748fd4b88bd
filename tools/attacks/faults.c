// A kernel that refuses and a clock that is wrong, for one program: preloaded with LD_PRELOAD.
//
// EARSHOT_FAULTS names a file of 16 64-bit words, which the tool that started the program shares
// with it and changes while it runs:
//
//   0  of 1000 calls that send, so many fail with EAGAIN, ENOBUFS, EPERM, ECONNREFUSED, EMSGSIZE
//   1  of 1000 calls that receive or wait, so many fail with EAGAIN, ENOBUFS, ECONNREFUSED, EINTR
//   2  of 1000 calls that open a file or a socket, so many fail with EMFILE
//   3  nanoseconds that the wall clock is ahead
//   4  nanoseconds that the clock that goes on while a host sleeps is ahead: it has slept
//   5  calls that were made to fail       6  datagrams sent       7  bytes sent
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

enum { send_rate, receive_rate, open_rate, wall_shift, boot_shift, failed, datagrams, bytes };

static _Atomic int64_t idle[16];
static _Atomic int64_t *words = idle;
static _Atomic uint64_t turn = 88172645463325252u;

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("EARSHOT_FAULTS");
  int (*really_open)(const char *, int, ...) = next("open");
  int file = path ? really_open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *shared = mmap(NULL, 128, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (shared != MAP_FAILED) words = shared;
}

// Whether this call fails, and with which of `count` errors.
static int fails(int rate, const int *errors, int count) {
  int64_t per_mille = words[rate];
  if (per_mille <= 0) return 0;
  uint64_t number = ++turn * 0x9E3779B97F4A7C15u;
  number ^= number >> 29;
  number *= 0xBF58476D1CE4E5B9u;
  number ^= number >> 32;
  if ((int64_t)(number % 1000) >= per_mille) return 0;
  words[failed]++;
  errno = errors[(number >> 32) % (uint64_t)count];
  return 1;
}

static int sending_fails(void) {
  static const int errors[] = {EAGAIN, ENOBUFS, EPERM, ECONNREFUSED, EMSGSIZE};
  return fails(send_rate, errors, 5);
}

static int receiving_fails(void) {
  static const int errors[] = {EAGAIN, ENOBUFS, ECONNREFUSED, EINTR};
  return fails(receive_rate, errors, 4);
}

static int opening_fails(void) {
  static const int errors[] = {EMFILE};
  return fails(open_rate, errors, 1);
}

static void add(struct timespec *time, int64_t nanoseconds) {
  int64_t total = (int64_t)time->tv_sec * 1000000000 + time->tv_nsec + nanoseconds;
  time->tv_sec = total / 1000000000;
  time->tv_nsec = total % 1000000000;
}

// The kernel notes arrivals by the wall clock.
static void shift_stamps(struct msghdr *header) {
  for (struct cmsghdr *item = CMSG_FIRSTHDR(header); item; item = CMSG_NXTHDR(header, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_TIMESTAMPNS) continue;
    struct timespec time;
    memcpy(&time, CMSG_DATA(item), sizeof time);
    add(&time, words[wall_shift]);
    memcpy(CMSG_DATA(item), &time, sizeof time);
  }
}

// A message may be a run of datagrams that the kernel cuts.
static void count_sent(struct mmsghdr *message) {
  uint16_t size = 0;
  for (struct cmsghdr *item = CMSG_FIRSTHDR(&message->msg_hdr); item;
       item = CMSG_NXTHDR(&message->msg_hdr, item)) {
    if (item->cmsg_level == IPPROTO_UDP && item->cmsg_type == UDP_SEGMENT)
      memcpy(&size, CMSG_DATA(item), sizeof size);
  }
  words[datagrams] += size ? (message->msg_len + size - 1) / size : 1;
  words[bytes] += message->msg_len;
}

int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags) {
  int (*really)(int, struct mmsghdr *, unsigned, int) = next("sendmmsg");
  if (sending_fails()) return -1;
  int done = really(fd, messages, count, flags);
  for (int index = 0; index < done; index++) count_sent(&messages[index]);
  return done;
}

int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *wait) {
  int (*really)(int, struct mmsghdr *, unsigned, int, struct timespec *) = next("recvmmsg");
  if (receiving_fails()) return -1;
  int done = really(fd, messages, count, flags, wait);
  for (int index = 0; index < done; index++) shift_stamps(&messages[index].msg_hdr);
  return done;
}

int epoll_wait(int fd, struct epoll_event *events, int count, int wait) {
  static const int interrupted[] = {EINTR};
  int (*really)(int, struct epoll_event *, int, int) = next("epoll_wait");
  return fails(receive_rate, interrupted, 1) ? -1 : really(fd, events, count, wait);
}

int socket(int family, int type, int protocol) {
  int (*really)(int, int, int) = next("socket");
  return opening_fails() ? -1 : really(family, type, protocol);
}

int accept4(int fd, struct sockaddr *address, socklen_t *size, int flags) {
  int (*really)(int, struct sockaddr *, socklen_t *, int) = next("accept4");
  return opening_fails() ? -1 : really(fd, address, size, flags);
}

#define OPEN(name)                                                    \
  int name(const char *path, int flags, ...) {                        \
    int (*really)(const char *, int, ...) = next(#name);              \
    va_list rest;                                                     \
    va_start(rest, flags);                                            \
    mode_t mode = va_arg(rest, mode_t);                               \
    va_end(rest);                                                     \
    return opening_fails() ? -1 : really(path, flags, mode);          \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                  \
  int name(int folder, const char *path, int flags, ...) {            \
    int (*really)(int, const char *, int, ...) = next(#name);         \
    va_list rest;                                                     \
    va_start(rest, flags);                                            \
    mode_t mode = va_arg(rest, mode_t);                               \
    va_end(rest);                                                     \
    return opening_fails() ? -1 : really(folder, path, flags, mode);  \
  }
OPENAT(openat)
OPENAT(openat64)

int clock_gettime(clockid_t clock, struct timespec *time) {
  int (*really)(clockid_t, struct timespec *) = next("clock_gettime");
  int result = really(clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) add(time, words[wall_shift]);
  if (result == 0 && clock == CLOCK_BOOTTIME) add(time, words[boot_shift]);
  return result;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old) {
  int (*really)(int, int, const struct itimerspec *, struct itimerspec *) = next("timerfd_settime");
  struct itimerspec shifted = *new;
  if (flags & TFD_TIMER_ABSTIME && (new->it_value.tv_sec || new->it_value.tv_nsec)) {
    add(&shifted.it_value, -words[boot_shift]);
    if (shifted.it_value.tv_sec < 1) shifted.it_value.tv_sec = 1;  // long ago
  }
  return really(fd, flags, &shifted, old);
}
