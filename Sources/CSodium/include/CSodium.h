#pragma once
#if !__has_include(<sodium.h>)
#error "libsodium is not installed: run tools/setup first (it installs what is missing with apt-get)"
#endif
#include <sodium.h>
