#pragma once
#if !__has_include(<sqlite3.h>)
#error "SQLite is not installed: run tools/setup first (it installs what is missing with apt-get)"
#endif
#include <sqlite3.h>
