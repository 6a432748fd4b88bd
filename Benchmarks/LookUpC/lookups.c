// lookups: what answering look-ups takes at least, in C: the yardstick for the rendezvous.
//
// usage: lookups CLIENTS-FILE
//
// Serves the sessions in CLIENTS-FILE (tools/load/BesideServer.swift writes it) on 127.0.0.1 until
// SIGTERM, and says where: {"address":"127.0.0.1:PORT"}. Of each datagram it finds the session,
// takes off the mask, opens it and reads its frames. A LOOKUP it answers with FEEDBACK and the card
// of whoever was asked for, sealed and masked.
//
// The same libsodium calls and socket calls as `earshot-rendezvous`: ChaCha20-Poly1305 of IETF with
// 9 bytes of header, ChaCha20 for the mask, epoll, recvmmsg with UDP_GRO, sendmmsg with UDP_SEGMENT
// for runs of equal datagrams. No replay window, no rates, no retransmission, no names, and cards in
// memory: it is what cannot be saved, not a rival.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sodium.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

enum {
  header_byte_count = 9,
  tag_byte_count = crypto_aead_chacha20poly1305_ietf_ABYTES,
  id_byte_count = 32,
  message_header_byte_count = 10,
  slot_count = 64,
  slot_byte_count = 1 << 16,
  run_limit = 64,
  answer_limit = 600,
  card_limit = 330,
  control_byte_count = 256,
};

typedef struct {
  uint8_t aead[32];
  uint8_t header[32];
} direction_keys;

typedef struct {
  uint8_t id[id_byte_count];
  uint32_t remote;
  uint32_t next_number;
  uint32_t next_sequence;
  direction_keys receive;
  direction_keys send;
  uint8_t card[card_limit];
} client;

static client *clients;
static uint32_t client_count, card_byte_count, mask_of_table;
static uint32_t *table;  // index plus one, by ID

static struct mmsghdr incoming[slot_count];
static struct iovec incoming_vectors[slot_count];
static struct sockaddr_in sources[slot_count];
static _Alignas(struct cmsghdr) uint8_t incoming_control[slot_count][control_byte_count];

// Runs of equal answers to one address, each one message with UDP_SEGMENT.
static struct mmsghdr outgoing[slot_count];
static struct iovec outgoing_vectors[slot_count];
static struct sockaddr_in destinations[slot_count];
static _Alignas(struct cmsghdr)
    uint8_t outgoing_control[slot_count][CMSG_SPACE(sizeof(uint16_t))];
static uint32_t run_sizes[slot_count], run_counts[slot_count], run_total;
static uint8_t *arena;  // slot_count runs of run_limit answers

// MARK: - Clients

static uint32_t place_of(const uint8_t *id) {
  uint32_t hash;
  memcpy(&hash, id, sizeof hash);  // IDs are hashes of keys.
  return hash & mask_of_table;
}

static client *find(const uint8_t *id) {
  for (uint32_t place = place_of(id); table[place] != 0; place = (place + 1) & mask_of_table) {
    client *found = &clients[table[place] - 1];
    if (memcmp(found->id, id, id_byte_count) == 0) return found;
  }
  return NULL;
}

/// Little-endian: count 4 · bytes of a card 4 · of each client: ID 32 · its connection ID 4 · keys
/// of what it sends 64 · keys of what it receives 64.
static int read_clients(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL || fread(&client_count, 4, 1, file) != 1 ||
      fread(&card_byte_count, 4, 1, file) != 1 || card_byte_count > card_limit)
    return 0;
  uint32_t room = 1;
  while (room < 2 * client_count) room *= 2;
  mask_of_table = room - 1;
  clients = calloc(client_count, sizeof *clients);
  table = calloc(room, sizeof *table);
  if (clients == NULL || table == NULL) return 0;
  for (uint32_t index = 0; index < client_count; index++) {
    client *one = &clients[index];
    if (fread(one->id, id_byte_count, 1, file) != 1 || fread(&one->remote, 4, 1, file) != 1 ||
        fread(&one->receive, sizeof one->receive, 1, file) != 1 ||
        fread(&one->send, sizeof one->send, 1, file) != 1)
      return 0;
    randombytes_buf(one->card, card_byte_count);
    uint32_t place = place_of(one->id);
    while (table[place] != 0) place = (place + 1) & mask_of_table;
    table[place] = index + 1;
  }
  fclose(file);
  return 1;
}

// MARK: - Sealing and opening

static void mask(uint8_t *packet, const uint8_t *key) {
  uint8_t bytes[5] = {0};
  uint32_t counter;
  memcpy(&counter, packet + header_byte_count, sizeof counter);
  crypto_stream_chacha20_ietf_xor_ic(bytes, bytes, sizeof bytes, packet + header_byte_count + 4,
                                     counter, key);
  packet[0] ^= bytes[0] & 0x1F;
  for (int index = 1; index < 5; index++) packet[4 + index] ^= bytes[index];
}

static void make_nonce(uint8_t nonce[12], uint32_t number) {
  memset(nonce, 0, 12);
  memcpy(nonce + 4, &number, sizeof number);
}

static uint32_t seal(client *to, uint8_t *packet, uint32_t text) {
  uint32_t number = to->next_number++;
  uint8_t nonce[12];
  make_nonce(nonce, number);
  packet[0] = 0x60;
  memcpy(packet + 1, &to->remote, 4);
  memcpy(packet + 5, &number, 4);
  uint8_t *frames = packet + header_byte_count;
  crypto_aead_chacha20poly1305_ietf_encrypt(frames, NULL, frames, text, packet, header_byte_count,
                                            NULL, nonce, to->send.aead);
  mask(packet, to->send.header);
  return header_byte_count + text + tag_byte_count;
}

// MARK: - Answers

static void flush(int fd) {
  for (uint32_t index = 0; index < run_total; index++) {
    struct msghdr *header = &outgoing[index].msg_hdr;
    header->msg_name = &destinations[index];
    header->msg_namelen = sizeof destinations[index];
    header->msg_iov = &outgoing_vectors[index];
    header->msg_iovlen = 1;
    header->msg_control = NULL;
    header->msg_controllen = 0;
    outgoing_vectors[index].iov_len = (size_t)run_sizes[index] * run_counts[index];
    if (run_counts[index] < 2) continue;
    header->msg_control = outgoing_control[index];
    header->msg_controllen = sizeof outgoing_control[index];
    struct cmsghdr *item = CMSG_FIRSTHDR(header);
    uint16_t size = (uint16_t)run_sizes[index];
    item->cmsg_level = IPPROTO_UDP;
    item->cmsg_type = UDP_SEGMENT;
    item->cmsg_len = CMSG_LEN(sizeof size);
    memcpy(CMSG_DATA(item), &size, sizeof size);
  }
  uint32_t sent = 0;
  while (sent < run_total) {
    int count = sendmmsg(fd, outgoing + sent, run_total - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count <= 0) break;  // A full socket loses answers, as the rendezvous does.
    sent += (uint32_t)count;
  }
  run_total = 0;
}

/// Where the next answer to `source` of `size` bytes goes: it continues the last run, or begins one.
static uint8_t *room(int fd, const struct sockaddr_in *source, uint32_t size) {
  uint32_t last = run_total - 1;
  if (run_total > 0 && run_sizes[last] == size && run_counts[last] < run_limit &&
      (run_counts[last] + 1) * size < 65000 &&
      destinations[last].sin_port == source->sin_port &&
      destinations[last].sin_addr.s_addr == source->sin_addr.s_addr)
    return arena + (size_t)last * run_limit * answer_limit + (size_t)run_counts[last]++ * size;
  if (run_total == slot_count) flush(fd);
  last = run_total++;
  run_sizes[last] = size;
  run_counts[last] = 1;
  destinations[last] = *source;
  outgoing_vectors[last].iov_base = arena + (size_t)last * run_limit * answer_limit;
  return outgoing_vectors[last].iov_base;
}

static void answer(int fd, client *from, const struct sockaddr_in *source, uint32_t number,
                   uint32_t request, const client *found) {
  const uint32_t feedback = 13, body = 8 + card_byte_count;
  const uint32_t text = feedback + message_header_byte_count + body;
  uint8_t *packet = room(fd, source, header_byte_count + text + tag_byte_count);
  uint8_t *frame = packet + header_byte_count;
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  uint32_t tick = (uint32_t)(time.tv_sec * 4000 + time.tv_nsec / 250000);
  memset(frame, 0, feedback);
  frame[0] = 0x03;
  memcpy(frame + 2, &number, 4);
  memcpy(frame + 6, &tick, 4);
  frame[12] = 1;
  frame += feedback;
  uint16_t length = (uint16_t)body, card = (uint16_t)card_byte_count;
  frame[0] = 0x04;
  frame[1] = 0x81;
  memcpy(frame + 2, &from->next_sequence, 4);
  from->next_sequence++;
  frame[6] = 0;
  frame[7] = 1;
  memcpy(frame + 8, &length, 2);
  frame += message_header_byte_count;
  frame[0] = 2;
  memcpy(frame + 1, &request, 4);
  frame[5] = 0;
  memcpy(frame + 6, &card, 2);
  memcpy(frame + 8, found->card, card_byte_count);
  seal(from, packet, text);
}

/// One datagram: FEEDBACK and CREDIT are read and passed over, as all there is to do with them here.
static void read_datagram(int fd, uint8_t *packet, uint32_t byte_count,
                          const struct sockaddr_in *source) {
  if (byte_count < header_byte_count + tag_byte_count) return;
  uint32_t index, number;
  memcpy(&index, packet + 1, 4);
  if (index == 0 || index > client_count) return;
  client *from = &clients[index - 1];
  mask(packet, from->receive.header);
  memcpy(&number, packet + 5, 4);
  if (packet[0] != 0x60) return;
  uint8_t nonce[12];
  make_nonce(nonce, number);
  uint8_t *frames = packet + header_byte_count;
  if (crypto_aead_chacha20poly1305_ietf_decrypt(frames, NULL, NULL, frames,
                                                byte_count - header_byte_count, packet,
                                                header_byte_count, nonce, from->receive.aead) != 0)
    return;
  uint32_t left = byte_count - header_byte_count - tag_byte_count;
  while (left > 0) {
    uint32_t size;
    uint16_t length;
    switch (frames[0]) {
      case 0x03: size = 13 + (left > 12 ? frames[12] - 1 : 0); break;
      case 0x04:
        if (left < message_header_byte_count) return;
        memcpy(&length, frames + 8, 2);
        size = message_header_byte_count + length;
        break;
      case 0x05: size = 5; break;
      default: return;
    }
    if (size > left) return;
    const uint8_t *body = frames + message_header_byte_count;
    // type 1 · request 4 · kind 1 (2 = by ID) · ID 32
    if (frames[0] == 0x04 && length == 6 + id_byte_count && body[0] == 1 && body[5] == 2) {
      uint32_t request;
      memcpy(&request, body + 1, 4);
      const client *found = find(body + 6);
      if (found != NULL) answer(fd, from, source, number, request, found);
    }
    frames += size;
    left -= size;
  }
}

// MARK: - Sockets

static int open_socket(struct sockaddr_in *local) {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  socklen_t size = sizeof *local;
  int one = 1, buffer = 4 << 20;
  memset(local, 0, sizeof *local);
  local->sin_family = AF_INET;
  local->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || bind(fd, (struct sockaddr *)local, size) < 0 ||
      getsockname(fd, (struct sockaddr *)local, &size) < 0)
    return -1;
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
  setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one);
  setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &one, sizeof one);
  setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &one, sizeof one);
  setsockopt(fd, IPPROTO_UDP, UDP_GRO, &one, sizeof one);
  return fd;
}

static uint32_t segment_of(struct msghdr *header, uint32_t byte_count) {
  for (struct cmsghdr *item = CMSG_FIRSTHDR(header); item; item = CMSG_NXTHDR(header, item)) {
    if (item->cmsg_level != IPPROTO_UDP || item->cmsg_type != UDP_GRO) continue;
    int size;
    memcpy(&size, CMSG_DATA(item), sizeof size);
    if (size > 0) return (uint32_t)size;
  }
  return byte_count;
}

static void receive(int fd) {
  for (;;) {
    for (int index = 0; index < slot_count; index++) {
      struct msghdr *header = &incoming[index].msg_hdr;
      header->msg_namelen = sizeof sources[index];
      header->msg_controllen = control_byte_count;
    }
    int count = recvmmsg(fd, incoming, slot_count, MSG_DONTWAIT, NULL);
    if (count <= 0) return;
    for (int index = 0; index < count; index++) {
      uint8_t *bytes = incoming_vectors[index].iov_base;
      uint32_t byte_count = incoming[index].msg_len;
      uint32_t segment = segment_of(&incoming[index].msg_hdr, byte_count);
      for (uint32_t start = 0; start < byte_count; start += segment) {
        uint32_t left = byte_count - start;
        read_datagram(fd, bytes + start, left < segment ? left : segment, &sources[index]);
      }
    }
    flush(fd);
  }
}

int main(int count, char **words) {
  if (count != 2) {
    fprintf(stderr, "usage: lookups CLIENTS-FILE\n");
    return 2;
  }
  struct sockaddr_in local;
  uint8_t *slots = malloc((size_t)slot_count * slot_byte_count);
  arena = malloc((size_t)slot_count * run_limit * answer_limit);
  if (sodium_init() < 0 || slots == NULL || arena == NULL || !read_clients(words[1])) {
    fprintf(stderr, "lookups: %s is not a file of clients\n", words[1]);
    return 1;
  }
  int fd = open_socket(&local), poll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN};
  if (fd < 0 || poll < 0 || epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event) < 0) {
    perror("lookups");
    return 1;
  }
  for (int index = 0; index < slot_count; index++) {
    struct msghdr *header = &incoming[index].msg_hdr;
    incoming_vectors[index].iov_base = slots + (size_t)index * slot_byte_count;
    incoming_vectors[index].iov_len = slot_byte_count;
    header->msg_name = &sources[index];
    header->msg_iov = &incoming_vectors[index];
    header->msg_iovlen = 1;
    header->msg_control = incoming_control[index];
  }
  printf("{\"address\":\"127.0.0.1:%d\"}\n", ntohs(local.sin_port));
  fflush(stdout);
  for (;;) {
    if (epoll_wait(poll, &event, 1, -1) > 0) receive(fd);
  }
}
