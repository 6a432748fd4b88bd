#pragma once
#if !__has_include(<hiredis/hiredis.h>)
#error "hiredis is not installed: run tools/setup first (it installs what is missing with apt-get)"
#endif
#include <hiredis/hiredis.h>

// A timeval in whole milliseconds.
static inline struct timeval earshot_redis_time(int milliseconds) {
  struct timeval time = {milliseconds / 1000, (milliseconds % 1000) * 1000};
  return time;
}
static inline redisContext *earshot_redis_connect(const char *host, int port, int milliseconds) {
  return redisConnectWithTimeout(host, port, earshot_redis_time(milliseconds));
}
static inline redisContext *earshot_redis_connect_unix(const char *path, int milliseconds) {
  return redisConnectUnixWithTimeout(path, earshot_redis_time(milliseconds));
}
static inline int earshot_redis_set_timeout(redisContext *context, int milliseconds) {
  return redisSetTimeout(context, earshot_redis_time(milliseconds));
}
