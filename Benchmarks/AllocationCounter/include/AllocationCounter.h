// Counts the heap allocations of a program by thread. Linking this replaces malloc and its kin by
// functions that count and then call glibc's own.
#pragma once

#include <stdint.h>

enum { allocation_thread_limit = 64 };

/// How many threads have allocated so far; their numbers are 0..<count.
uint32_t allocation_thread_count(void);

/// The name of a thread that has allocated, as `ps -L` shows it, when it first did so or last called
/// `allocation_note_name`.
const char *allocation_thread_name(uint32_t thread);

/// How often a thread has allocated or reallocated.
uint64_t allocation_count(uint32_t thread);

/// All threads together.
uint64_t allocation_total(void);

/// From now on, or no longer, keeps where allocations come from: the first 4096 of them.
void allocation_trace(int is_on);

/// Writes what was kept to a file, one back-trace after the other; how many there were.
int allocation_write_traces(const char *path);
