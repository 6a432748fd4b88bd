// Sends packets to a loopback address at a rate that Python does not reach.
//
// usage: flood HOST PORT RATE SECONDS SOURCE COUNT SOURCE_PORT FILE
//
// Packet i comes from the loopback address SOURCE + i % COUNT and from SOURCE_PORT. FILE holds the
// packets, sent in turn: length 2, first byte to be made random 2 (65535 = none), the bytes. Sends
// to 127.0.0.0/8 only, at most 500000 packets/s for at most 60 s. Prints how many were sent, and
// how many were sent in a second, also when it is told to end.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { most_packets = 65536, longest = 1500 };

struct packet {
  uint16_t length, random_from;
  uint8_t *bytes;
};

static struct packet packets[most_packets];
static uint64_t state = 88172645463325252u;

static volatile sig_atomic_t ended;

static void end(int number) {
  (void)number;
  ended = 1;
}

static uint64_t random_number(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int read_packets(const char *path) {
  FILE *file = fopen(path, "rb");
  int count = 0;
  uint16_t head[2];
  while (file && count < most_packets && fread(head, 2, 2, file) == 2 && head[0] <= longest) {
    struct packet *packet = &packets[count++];
    packet->length = head[0];
    packet->random_from = head[1];
    packet->bytes = malloc(longest);
    if (!packet->bytes || fread(packet->bytes, 1, head[0], file) != head[0]) return 0;
  }
  if (file) fclose(file);
  return count;
}

static void send_from(int udp, struct sockaddr_in *to, uint32_t source, struct packet *packet) {
  for (int at = packet->random_from; at + 8 <= packet->length; at += 8) {
    uint64_t number = random_number();
    memcpy(packet->bytes + at, &number, 8);
  }
  struct iovec part = {packet->bytes, packet->length};
  union {
    char bytes[CMSG_SPACE(sizeof(struct in_pktinfo))];
    struct cmsghdr align;
  } control;
  memset(&control, 0, sizeof control);
  struct msghdr message = {to, sizeof *to, &part, 1, control.bytes, sizeof control.bytes, 0};
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = IPPROTO_IP;
  head->cmsg_type = IP_PKTINFO;
  head->cmsg_len = CMSG_LEN(sizeof(struct in_pktinfo));
  struct in_pktinfo info = {0};
  info.ipi_spec_dst.s_addr = htonl(source);
  memcpy(CMSG_DATA(head), &info, sizeof info);
  sendmsg(udp, &message, 0);
}

int main(int count, char **words) {
  if (count != 9) return 2;
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(words[2]))};
  to.sin_addr.s_addr = inet_addr(words[1]);
  double rate = atof(words[3]), seconds = atof(words[4]);
  uint32_t source = ntohl(inet_addr(words[5])), sources = (uint32_t)atoi(words[6]);
  struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(words[7]))};
  int loaded = read_packets(words[8]);
  if (ntohl(to.sin_addr.s_addr) >> 24 != 127 || source >> 24 != 127 || !sources || loaded == 0 ||
      rate <= 0 || rate > 500000 || seconds > 60)
    return 2;
  int udp = socket(AF_INET, SOCK_DGRAM, 0);
  if (udp < 0 || bind(udp, (struct sockaddr *)&own, sizeof own) < 0) return 1;
  signal(SIGTERM, end);
  double began = now();
  uint64_t sent = 0;
  for (double time = 0; time < seconds && !ended; time = now() - began) {
    for (uint64_t due = (uint64_t)(time * rate); sent < due && !ended; sent++)
      send_from(udp, &to, source + (uint32_t)(sent % sources), &packets[sent % (uint64_t)loaded]);
    nanosleep(&(struct timespec){0, 500000}, NULL);
  }
  printf("%llu %.0f\n", (unsigned long long)sent, (double)sent / (now() - began));
}
