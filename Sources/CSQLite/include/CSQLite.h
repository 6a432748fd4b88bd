#pragma once
#if !__has_include(<sqlite3.h>)
#error "SQLite is not installed: run tools/setup first (it installs what is missing with apt-get)"
#endif
#include <sqlite3.h>

// SQLITE_TRANSIENT is a cast that Swift cannot see: "copy the bytes before you return".
static inline int earshot_bind_blob(sqlite3_stmt *statement, int index, const void *bytes,
                                    int count) {
  // A null pointer would bind NULL; an empty blob is something else.
  return sqlite3_bind_blob(statement, index, count == 0 ? "" : bytes, count, SQLITE_TRANSIENT);
}
static inline int earshot_bind_text(sqlite3_stmt *statement, int index, const char *bytes,
                                    int count) {
  return sqlite3_bind_text(statement, index, count == 0 ? "" : bytes, count, SQLITE_TRANSIENT);
}
