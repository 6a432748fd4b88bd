// What Swift's Glibc module leaves out: epoll and its kin, and flat functions in place of control
// message macros. No policy here: every choice is made in Reactor.
//
// Functions that can fail return a negated errno.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/// An IP address and port in host order. For IPv4 the address is the upper half of `high`.
typedef struct {
  uint64_t high;
  uint64_t low;
  uint16_t port;
  uint8_t family;  // 4 or 6; 0 when the kernel's address is neither
} earshot_address;

/// One received message: a datagram, or several of equal size that the kernel merged (UDP_GRO).
typedef struct {
  earshot_address source;
  earshot_address local;        // what it was sent to (IP_PKTINFO); family 0 when unknown
  uint32_t interface;           // where it came in; 0 when unknown
  uint64_t arrival_ns;          // CLOCK_REALTIME when the kernel took it; 0 when unknown
  uint32_t byte_count;
  uint32_t segment_byte_count;  // size of each datagram but perhaps the last; never 0
  uint8_t ecn;                  // RFC 3168 §5
  uint8_t is_truncated;         // the slot was too small
} earshot_received;

/// One message to send: a datagram, or several laid end to end (UDP_SEGMENT).
typedef struct {
  earshot_address destination;
  uint32_t offset;              // into the arena
  uint32_t byte_count;
  uint32_t segment_byte_count;  // equal to byte_count for a single datagram
  uint16_t local;               // where it leaves from: place in the table plus one; 0 = any
  uint8_t hop_limit;            // routers that it passes at most; 0 = as the system has it
} earshot_outgoing;

/// An own address to send from.
typedef struct {
  earshot_address address;
  uint32_t interface;           // 0 = as the routes say
} earshot_own_address;

typedef struct earshot_receiver earshot_receiver;

enum { earshot_batch_limit = 64 };

// The commit that a program was built from; empty where the build was not told. A build tells it by
// an object with a strong definition (tools/package).
const char *earshot_commit(void);

// Sockets
int earshot_udp_open(const earshot_address *local, int buffer_byte_count);
int earshot_udp_connect(const earshot_address *remote);
int earshot_udp_set_gro(int fd, int is_on);
int earshot_udp_report_destinations(int fd, int is_v6);
uint32_t earshot_udp_overflow_count(int fd);
int earshot_udp_set_traffic_class(int fd, int is_v6, int bits);
// What the kernel granted, in bytes of datagrams.
int earshot_udp_receive_buffer(int fd);
int earshot_udp_send_buffer(int fd);
// Sends one text to the datagram socket of a service manager; `@` begins an abstract name.
void earshot_notify(const char *path, const char *text);
int earshot_tcp_listen(const earshot_address *local, int backlog);
int earshot_tcp_accept(int fd);
// Begins a connection; its result later: 0 = it is there, -EINPROGRESS, or why not.
int earshot_tcp_connect(const earshot_address *remote);
int earshot_tcp_connect_result(int fd);
// Bytes that were written and have not left this host.
int earshot_tcp_unsent(int fd);
int earshot_local_address(int fd, earshot_address *address);
int earshot_source_address(const earshot_address *remote, earshot_address *local);
void earshot_read_address(const struct sockaddr *from, earshot_address *to);

// Changes of interfaces, addresses and routes (rtnetlink(7)); draining gives how many messages
// there were, lost ones counted as one.
int earshot_route_open(void);
int earshot_route_drain(int fd);

// Receiving: a receiver owns `slot_count` slots of `slot_byte_count` bytes and their results.
earshot_receiver *earshot_receiver_create(uint32_t slot_count, uint32_t slot_byte_count);
void earshot_receiver_destroy(earshot_receiver *receiver);
uint8_t *earshot_receiver_slots(earshot_receiver *receiver);
const earshot_received *earshot_receiver_results(const earshot_receiver *receiver);
int earshot_receive(earshot_receiver *receiver, int fd, uint32_t limit);

// Sending: how many of the first messages went out, or why not even the first did.
int earshot_send(int fd, int is_v6, const earshot_own_address *own, const uint8_t *arena,
                 const earshot_outgoing *messages, uint32_t count);
int earshot_send_split(int fd, int is_v6, const earshot_own_address *own, const uint8_t *arena,
                       const earshot_outgoing *message, uint32_t first_segment);

// Waiting
typedef struct {
  uint64_t token;
  uint32_t events;  // EPOLLIN and its kin
} earshot_readiness;

enum {
  earshot_readable = EPOLLIN,
  earshot_writable = EPOLLOUT,
  earshot_hung_up = EPOLLERR | EPOLLHUP,
};
int earshot_poll_open(void);
int earshot_poll_add(int poll_fd, int fd, uint32_t events, int is_edge_triggered, uint64_t token);
int earshot_poll_change(int poll_fd, int fd, uint32_t events, uint64_t token);
int earshot_poll_remove(int poll_fd, int fd);
int earshot_poll_wait(int poll_fd, earshot_readiness *ready, int limit, int timeout_ms);
int earshot_wake_open(void);
int earshot_wake_write(int fd);
// Sends out what stdio holds of standard output; fails too where an earlier part did not go out.
int earshot_flush_output(void);
// Renames in a folder, never over what is there: EEXIST; EINVAL where the file system cannot.
int earshot_rename_new(int folder, const char *from, const char *to);
int earshot_wake_read(int fd);
int earshot_timer_open(void);
int earshot_timer_wait(int fd, int wake_fd);
int earshot_signals_block(const int *numbers, int count);
int earshot_signals_open(const int *numbers, int count);
int earshot_signals_read(int fd);
int earshot_signal_is_ignored(int number);

// Makes no core dump, and lets no other program of the same user read this one's memory.
int earshot_forbid_core_dumps(void);
// How many bytes a pipe holds that nobody has read. 0, or -errno.
int earshot_bytes_held(int descriptor, int32_t *count);

// What the system allows this process (getrlimit(2)); UINT64_MAX = no limit.
uint64_t earshot_locked_memory_limit(void);
uint64_t earshot_real_time_limit(void);
int earshot_can_lock_memory(size_t byte_count);
void earshot_kernel_version(char *text, size_t byte_count);

// Time and threads
uint64_t earshot_boottime_ns(void);
uint64_t earshot_realtime_ns(void);
uint64_t earshot_thread_cpu_ns(void);
int earshot_timer_arm(int fd, uint64_t boottime_ns);
uintptr_t earshot_thread_mark(void);
void earshot_thread_sharpen_timers(void);
int earshot_thread_go_real_time(int priority);
int earshot_thread_leave_real_time(void);
// Tells ThreadSanitizer of a lock that it does not see; nothing in any other build.
void earshot_lock_taken(int key);
void earshot_lock_left(int key);
int earshot_thread_start(void *(*body)(void *), void *context, const char *name,
                         unsigned long *thread);

// TCP
ptrdiff_t earshot_tcp_read(int fd, uint8_t *bytes, size_t limit);
ptrdiff_t earshot_tcp_write(int fd, const uint8_t *bytes, size_t count);

// Processes. A descriptor that is readable once the process has ended (pidfd_open), or -errno.
int earshot_process_open(int32_t process);

// Terminal
int earshot_terminal_enter_raw_mode(void);
void earshot_terminal_leave_raw_mode(void);
int earshot_terminal_column_count(int fd);
