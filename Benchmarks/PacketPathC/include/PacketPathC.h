// The packet path as a C program would write it: the yardstick for the Swift one.
//
// The same libsodium calls (chacha20poly1305_ietf, the header mask by chacha20_ietf_xor_ic), the
// same socket calls and options (sendmmsg, recvmmsg, UDP_SEGMENT, UDP_GRO, SO_TIMESTAMPNS,
// IP_RECVTOS), the same 9 header bytes, the same AUDIO frame. No replay window, no sessions.
#pragma once

#include <stdint.h>

typedef struct packet_path packet_path;

/// Two sockets on 127.0.0.1. `is_offloaded`: one send a burst, and merging receives; else one
/// datagram a system call on the way out. NULL when the kernel refuses.
packet_path *packet_path_create(uint32_t payload_byte_count, uint32_t burst, int is_offloaded);
void packet_path_destroy(packet_path *path);

/// Seals, frames and sends one burst; how many packets the kernel took.
uint32_t packet_path_send(packet_path *path);

/// Receives, opens and parses one burst; how many packets opened.
uint32_t packet_path_receive(packet_path *path);

/// CPU time of the calling thread.
uint64_t packet_path_thread_ns(void);
