#define _GNU_SOURCE
#include "AllocationCounter.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

enum { trace_limit = 4096, depth_limit = 32, name_byte_count = 16 };

typedef struct {
  _Alignas(64) _Atomic uint64_t count;
  char name[name_byte_count];
} thread_record;

static thread_record threads[allocation_thread_limit];
static _Atomic uint32_t thread_count;
static _Thread_local thread_record *own;

static struct {
  void *frames[depth_limit];
  int depth;
  size_t size;
} traces[trace_limit];
static _Atomic uint32_t trace_count;
static _Atomic int is_tracing;
static _Thread_local int is_inside;

static void keep_trace(size_t size) {
  if (is_inside) return;
  is_inside = 1;
  uint32_t index = atomic_fetch_add(&trace_count, 1);
  if (index < trace_limit) {
    traces[index].depth = backtrace(traces[index].frames, depth_limit);
    traces[index].size = size;
  }
  is_inside = 0;
}

static void count(size_t size) {
  if (own == NULL) {
    uint32_t index = atomic_fetch_add(&thread_count, 1);
    own = &threads[index < allocation_thread_limit ? index : allocation_thread_limit - 1];
  }
  uint64_t before = atomic_fetch_add_explicit(&own->count, 1, memory_order_relaxed);
  // A thread gets its name soon after its birth, not at it.
  if (before < 64) prctl(PR_GET_NAME, own->name);
  if (atomic_load_explicit(&is_tracing, memory_order_relaxed)) keep_trace(size);
}

void *malloc(size_t size) {
  count(size);
  return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
  count(number * size);
  return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size) {
  count(size);
  return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
  count(size);
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  count(size);
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
  count(size);
  *memory = __libc_memalign(alignment, size);
  return *memory == NULL ? ENOMEM : 0;
}

uint32_t allocation_thread_count(void) {
  uint32_t number = atomic_load(&thread_count);
  return number < allocation_thread_limit ? number : allocation_thread_limit;
}

const char *allocation_thread_name(uint32_t thread) {
  return thread < allocation_thread_limit ? threads[thread].name : "";
}

uint64_t allocation_count(uint32_t thread) {
  return thread < allocation_thread_limit ? atomic_load(&threads[thread].count) : 0;
}

uint64_t allocation_total(void) {
  uint64_t total = 0;
  for (uint32_t index = 0; index < allocation_thread_limit; index++)
    total += atomic_load_explicit(&threads[index].count, memory_order_relaxed);
  return total;
}

void allocation_trace(int is_on) {
  void *frames[2];
  backtrace(frames, 2);  // the first call loads the unwinder, which allocates
  atomic_store(&is_tracing, is_on);
}

int allocation_write_traces(const char *path) {
  uint32_t number = atomic_load(&trace_count);
  if (number > trace_limit) number = trace_limit;
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return -1;
  for (uint32_t index = 0; index < number; index++) {
    dprintf(fd, "-- %zu bytes\n", traces[index].size);
    backtrace_symbols_fd(traces[index].frames, traces[index].depth, fd);
  }
  close(fd);
  return (int)number;
}
