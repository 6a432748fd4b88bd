#define _GNU_SOURCE
#include "PacketPathC.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
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
  frame_byte_count = 3,
  tag_byte_count = crypto_aead_chacha20poly1305_ietf_ABYTES,
  packet_limit = 1200,
  slot_count = 16,
  control_byte_count = 128,
  run_limit = 64,
};

typedef struct {
  uint8_t aead[32];
  uint8_t header[32];
} direction_keys;

struct packet_path {
  int sender, receiver, is_offloaded;
  struct sockaddr_in destination;
  uint32_t payload_byte_count, burst, connection_id, slot_byte_count;
  uint32_t next_number, highest;
  uint16_t media_time;
  direction_keys keys;
  uint64_t checksum;
  uint8_t payload[packet_limit];
  uint8_t arena[run_limit * packet_limit];
  struct mmsghdr headers[slot_count];
  struct iovec vectors[slot_count];
  struct sockaddr_in sources[slot_count];
  _Alignas(struct cmsghdr) uint8_t control[slot_count][control_byte_count];
  uint8_t *slots;
};

static int open_socket(struct sockaddr_in *local, int merges) {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  socklen_t size = sizeof *local;
  int one = 1, room = 1 << 20;
  memset(local, 0, sizeof *local);
  local->sin_family = AF_INET;
  local->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || bind(fd, (struct sockaddr *)local, size) < 0 ||
      getsockname(fd, (struct sockaddr *)local, &size) < 0) {
    if (fd >= 0) close(fd);
    return -1;
  }
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one);
  setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &one, sizeof one);
  if (merges) setsockopt(fd, IPPROTO_UDP, UDP_GRO, &one, sizeof one);
  return fd;
}

static void rearm(packet_path *path, int index) {
  struct msghdr *header = &path->headers[index].msg_hdr;
  header->msg_namelen = sizeof path->sources[index];
  header->msg_controllen = control_byte_count;
  header->msg_flags = 0;
}

packet_path *packet_path_create(uint32_t payload_byte_count, uint32_t burst, int is_offloaded) {
  if (sodium_init() < 0 || burst > run_limit) return NULL;
  packet_path *path = calloc(1, sizeof *path);
  if (path == NULL) return NULL;
  struct sockaddr_in local;
  path->payload_byte_count = payload_byte_count;
  path->burst = burst;
  path->is_offloaded = is_offloaded;
  path->connection_id = 0x5EED1E55;
  path->slot_byte_count = is_offloaded ? 1 << 16 : 1 << 12;
  path->slots = malloc((size_t)slot_count * path->slot_byte_count);
  path->sender = open_socket(&local, is_offloaded);
  path->receiver = open_socket(&path->destination, is_offloaded);
  randombytes_buf(&path->keys, sizeof path->keys);
  randombytes_buf(path->payload, sizeof path->payload);
  if (path->sender < 0 || path->receiver < 0 || path->slots == NULL) {
    packet_path_destroy(path);
    return NULL;
  }
  for (int index = 0; index < slot_count; index++) {
    struct msghdr *header = &path->headers[index].msg_hdr;
    path->vectors[index].iov_base = path->slots + (size_t)index * path->slot_byte_count;
    path->vectors[index].iov_len = path->slot_byte_count;
    header->msg_name = &path->sources[index];
    header->msg_iov = &path->vectors[index];
    header->msg_iovlen = 1;
    header->msg_control = path->control[index];
    rearm(path, index);
  }
  return path;
}

void packet_path_destroy(packet_path *path) {
  if (path->sender >= 0) close(path->sender);
  if (path->receiver >= 0) close(path->receiver);
  free(path->slots);
  free(path);
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

static uint32_t seal(packet_path *path, uint8_t *packet) {
  uint32_t number = path->next_number++;
  uint8_t nonce[12];
  make_nonce(nonce, number);
  packet[0] = 0x60;
  memcpy(packet + 1, &path->connection_id, 4);
  memcpy(packet + 5, &number, 4);
  uint8_t *frame = packet + header_byte_count;
  frame[0] = 0x88;
  memcpy(frame + 1, &path->media_time, 2);
  path->media_time += 2;
  memcpy(frame + frame_byte_count, path->payload, path->payload_byte_count);
  uint32_t text = frame_byte_count + path->payload_byte_count;
  crypto_aead_chacha20poly1305_ietf_encrypt(frame, NULL, frame, text, packet, header_byte_count,
                                            NULL, nonce, path->keys.aead);
  mask(packet, path->keys.header);
  return header_byte_count + text + tag_byte_count;
}

static int open_packet(packet_path *path, uint8_t *packet, uint32_t byte_count) {
  if (byte_count < header_byte_count + tag_byte_count) return 0;
  mask(packet, path->keys.header);
  uint32_t id, number;
  memcpy(&id, packet + 1, 4);
  memcpy(&number, packet + 5, 4);
  if (packet[0] != 0x60 || id != path->connection_id) return 0;
  uint8_t nonce[12];
  make_nonce(nonce, number);
  uint8_t *frame = packet + header_byte_count;
  uint32_t sealed = byte_count - header_byte_count;
  if (crypto_aead_chacha20poly1305_ietf_decrypt(frame, NULL, NULL, frame, sealed, packet,
                                                header_byte_count, nonce, path->keys.aead) != 0)
    return 0;
  if (number > path->highest) path->highest = number;
  uint32_t text = sealed - tag_byte_count;
  if (text <= frame_byte_count || (frame[0] & 0x80) == 0) return 0;
  uint16_t media_time;
  memcpy(&media_time, frame + 1, 2);
  path->checksum += media_time + frame[frame_byte_count] + (text - frame_byte_count);
  return 1;
}

// MARK: - Sockets

static int transmit(packet_path *path, uint8_t *bytes, uint32_t byte_count, uint32_t segment) {
  _Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(uint16_t))];
  struct iovec vector = {bytes, byte_count};
  struct mmsghdr message = {0};
  message.msg_hdr.msg_name = &path->destination;
  message.msg_hdr.msg_namelen = sizeof path->destination;
  message.msg_hdr.msg_iov = &vector;
  message.msg_hdr.msg_iovlen = 1;
  if (segment < byte_count) {
    message.msg_hdr.msg_control = control;
    message.msg_hdr.msg_controllen = sizeof control;
    struct cmsghdr *item = CMSG_FIRSTHDR(&message.msg_hdr);
    item->cmsg_level = IPPROTO_UDP;
    item->cmsg_type = UDP_SEGMENT;
    item->cmsg_len = CMSG_LEN(sizeof(uint16_t));
    uint16_t size = (uint16_t)segment;
    memcpy(CMSG_DATA(item), &size, sizeof size);
  }
  return sendmmsg(path->sender, &message, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

uint32_t packet_path_send(packet_path *path) {
  uint32_t sent = 0, byte_count = 0, size = 0;
  for (uint32_t index = 0; index < path->burst; index++) {
    size = seal(path, path->arena + byte_count);
    if (path->is_offloaded)
      byte_count += size;
    else
      sent += transmit(path, path->arena, size, size);
  }
  if (path->is_offloaded && transmit(path, path->arena, byte_count, size)) sent = path->burst;
  return sent;
}

static uint32_t read_control(struct msghdr *header, uint32_t byte_count, uint64_t *marks) {
  uint32_t segment = byte_count;
  for (struct cmsghdr *item = CMSG_FIRSTHDR(header); item; item = CMSG_NXTHDR(header, item)) {
    const uint8_t *value = CMSG_DATA(item);
    if (item->cmsg_level == SOL_SOCKET && item->cmsg_type == SCM_TIMESTAMPNS) {
      struct timespec time;
      memcpy(&time, value, sizeof time);
      *marks += (uint64_t)time.tv_nsec & 1;
    } else if (item->cmsg_level == IPPROTO_IP && item->cmsg_type == IP_TOS) {
      *marks += value[0] & 3;
    } else if (item->cmsg_level == IPPROTO_UDP && item->cmsg_type == UDP_GRO) {
      int size;
      memcpy(&size, value, sizeof size);
      if (size > 0) segment = (uint32_t)size;
    }
  }
  return segment;
}

uint32_t packet_path_receive(packet_path *path) {
  uint32_t opened = 0;
  while (opened < path->burst) {
    int count = recvmmsg(path->receiver, path->headers, slot_count, MSG_DONTWAIT, NULL);
    if (count <= 0) return opened;
    for (int index = 0; index < count; index++) {
      uint8_t *bytes = path->slots + (size_t)index * path->slot_byte_count;
      uint32_t byte_count = path->headers[index].msg_len;
      uint32_t segment =
          read_control(&path->headers[index].msg_hdr, byte_count, &path->checksum);
      for (uint32_t start = 0; start < byte_count; start += segment) {
        uint32_t left = byte_count - start;
        opened += open_packet(path, bytes + start, left < segment ? left : segment);
      }
      rearm(path, index);
    }
  }
  return opened;
}

uint64_t packet_path_thread_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}
