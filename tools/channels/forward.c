// forward: what a relay that hears nothing has to do, in C: the least that its CPU can be.
//
// usage: forward RECEIVERS SECONDS
//
// One source sends a sealed packet of 80 bytes of audio each 20 ms. The relay opens it, seals it
// anew for each receiver under its own key, masks the header, and sends all of them with sendmmsg.
// Source and receivers are another process, which reads everything. Prints one line of JSON: CPU
// time of the relay for each packet that it sent, and how many came.
//
// The same libsodium calls and socket calls as `earshot-relay`: ChaCha20-Poly1305 of IETF with 9
// bytes of header as additional data, ChaCha20 for the mask, epoll, recvmmsg, sendmmsg by 64.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HEADER = 9, FRAME = 18, PAYLOAD = 80, TAG = 16, BATCH = 64, MOST = 2000, SLOT = 2048 };

typedef struct {
  uint8_t aead[32], mask[32];
  uint32_t number, connection;
  struct sockaddr_in address;
} Direction;

typedef struct {
  volatile int ready;
  Direction source, receivers[MOST];
  volatile uint64_t received;
} Shared;

static Shared *shared;

static void nonce_of(uint8_t nonce[12], uint32_t number) {
  memset(nonce, 0, 12);
  memcpy(nonce + 4, &number, 4);
}

static void mask(uint8_t *packet, const uint8_t *key) {
  uint8_t bytes[5] = {0};
  uint32_t counter;
  memcpy(&counter, packet + HEADER, 4);
  crypto_stream_chacha20_ietf_xor_ic(bytes, bytes, 5, packet + HEADER + 4, counter, key);
  packet[0] ^= bytes[0] & 0x1F;
  for (int index = 1; index < 5; index++) packet[4 + index] ^= bytes[index];
}

static size_t seal(Direction *direction, uint8_t *packet, const uint8_t *text, size_t count) {
  uint8_t nonce[12];
  uint32_t number = direction->number++;
  nonce_of(nonce, number);
  packet[0] = 0x60;
  memcpy(packet + 1, &direction->connection, 4);
  memcpy(packet + 5, &number, 4);
  memcpy(packet + HEADER, text, count);
  crypto_aead_chacha20poly1305_ietf_encrypt(packet + HEADER, NULL, packet + HEADER, count, packet,
                                            HEADER, NULL, nonce, direction->aead);
  mask(packet, direction->mask);
  return HEADER + count + TAG;
}

static int open_packet(Direction *direction, uint8_t *packet, size_t count) {
  uint8_t nonce[12];
  uint32_t number;
  mask(packet, direction->mask);
  memcpy(&number, packet + 5, 4);
  nonce_of(nonce, number);
  return crypto_aead_chacha20poly1305_ietf_decrypt(packet + HEADER, NULL, NULL, packet + HEADER,
                                                   count - HEADER, packet, HEADER, nonce,
                                                   direction->aead);
}

static int bound(struct sockaddr_in *address) {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1, room = 1 << 20;
  socklen_t size = sizeof *address;
  memset(address, 0, sizeof *address);
  address->sin_family = AF_INET;
  address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || bind(fd, (struct sockaddr *)address, size) < 0) exit(1);
  getsockname(fd, (struct sockaddr *)address, &size);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one);
  setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &one, sizeof one);
  return fd;
}

static struct mmsghdr in[16];
static struct iovec in_vectors[16];
static uint8_t in_bytes[16][SLOT], in_control[16][128];
static struct sockaddr_in in_sources[16];

static int receive(int fd) {
  for (int index = 0; index < 16; index++) {
    in_vectors[index] = (struct iovec){in_bytes[index], SLOT};
    in[index].msg_hdr = (struct msghdr){.msg_name = &in_sources[index],
                                        .msg_namelen = sizeof in_sources[index],
                                        .msg_iov = &in_vectors[index],
                                        .msg_iovlen = 1,
                                        .msg_control = in_control[index],
                                        .msg_controllen = 128};
  }
  return recvmmsg(fd, in, 16, MSG_DONTWAIT, NULL);
}

static void relay(int fd, int count) {
  static struct mmsghdr out[BATCH];
  static struct iovec vectors[BATCH];
  static uint8_t bytes[BATCH][256];
  int poll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN};
  epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
  for (;;) {
    struct epoll_event found;
    if (epoll_wait(poll, &found, 1, -1) < 1) continue;
    int came;
    while ((came = receive(fd)) > 0) {
      for (int index = 0; index < came; index++) {
        size_t size = in[index].msg_len;
        if (open_packet(&shared->source, in_bytes[index], size) < 0) continue;
        const uint8_t *text = in_bytes[index] + HEADER;
        for (int start = 0; start < count; start += BATCH) {
          int many = count - start < BATCH ? count - start : BATCH;
          for (int place = 0; place < many; place++) {
            Direction *to = &shared->receivers[start + place];
            size_t made = seal(to, bytes[place], text, size - HEADER - TAG);
            vectors[place] = (struct iovec){bytes[place], made};
            out[place].msg_hdr = (struct msghdr){.msg_name = &to->address,
                                                 .msg_namelen = sizeof to->address,
                                                 .msg_iov = &vectors[place],
                                                 .msg_iovlen = 1};
          }
          for (int sent = 0; sent < many;) {
            int now = sendmmsg(fd, out + sent, many - sent, 0);
            if (now <= 0) break;
            sent += now;
          }
        }
      }
    }
  }
}

static void ends(int count, int seconds, struct sockaddr_in to) {
  int sockets[MOST];
  struct sockaddr_in own;
  int source = bound(&own), poll = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
  for (int index = 0; index < count; index++) {
    sockets[index] = bound(&shared->receivers[index].address);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = index};
    epoll_ctl(poll, EPOLL_CTL_ADD, sockets[index], &event);
  }
  struct epoll_event event = {.events = EPOLLIN, .data.u32 = MOST};
  epoll_ctl(poll, EPOLL_CTL_ADD, timer, &event);
  struct itimerspec pace = {{0, 20000000}, {0, 20000000}};
  timerfd_settime(timer, 0, &pace, NULL);
  shared->ready = 1;
  uint8_t packet[256], text[FRAME + PAYLOAD];
  randombytes_buf(text, sizeof text);
  int left = seconds * 50, quiet = 0;
  while (quiet < 10) {
    struct epoll_event found[64];
    int many = epoll_wait(poll, found, 64, 100);
    for (int place = 0; place < many; place++) {
      if (found[place].data.u32 < MOST) {
        int came = receive(sockets[found[place].data.u32]);
        if (came > 0) shared->received += came;
        continue;
      }
      uint64_t ticks;
      if (read(timer, &ticks, sizeof ticks) < 0) continue;
      if (left-- > 0) {
        size_t size = seal(&shared->source, packet, text, sizeof text);
        sendto(source, packet, size, 0, (struct sockaddr *)&to, sizeof to);
      } else {
        quiet++;
      }
    }
  }
  exit(0);
}

int main(int argc, char **argv) {
  int count = argc > 1 ? atoi(argv[1]) : 50, seconds = argc > 2 ? atoi(argv[2]) : 10;
  if (sodium_init() < 0 || count < 1 || count > MOST || seconds < 1) return 2;
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  randombytes_buf(shared->source.aead, 64);
  for (int index = 0; index < count; index++) {
    randombytes_buf(shared->receivers[index].aead, 64);
    randombytes_buf(&shared->receivers[index].connection, 4);
  }
  struct sockaddr_in address;
  int fd = bound(&address);
  pid_t other = fork();
  if (other == 0) ends(count, seconds, address);
  pid_t own = fork();
  if (own == 0) {
    while (!shared->ready) usleep(1000);
    relay(fd, count);
  }
  waitpid(other, NULL, 0);
  kill(own, SIGTERM);
  struct rusage usage;
  wait4(own, NULL, 0, &usage);
  double cpu = usage.ru_utime.tv_sec + usage.ru_utime.tv_usec / 1e6 + usage.ru_stime.tv_sec +
               usage.ru_stime.tv_usec / 1e6;
  double sent = (double)count * seconds * 50;
  printf("{\"receivers\": %d, \"usPerPacket\": %.3f, \"cores\": %.4f, \"sent\": %.0f, "
         "\"received\": %llu, \"bytes\": %d}\n",
         count, cpu * 1e6 / sent, cpu / seconds, sent, (unsigned long long)shared->received,
         HEADER + FRAME + PAYLOAD + TAG);
  return 0;
}
