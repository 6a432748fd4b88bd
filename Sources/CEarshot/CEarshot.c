#include "earshot.h"

#include <string.h>

#include "earshot_halves.h"

// What programs were built with stays where it is: a change here is a change of EARSHOT_ABI.
_Static_assert(offsetof(struct earshot_event, call) == 8, "layout of earshot_event");
_Static_assert(sizeof(struct earshot_event) == 104, "size of earshot_event");
_Static_assert(sizeof(struct earshot_options) == 40, "size of earshot_options");
_Static_assert(sizeof(struct earshot_call_options) == 32, "size of earshot_call_options");
_Static_assert(sizeof(struct earshot_probe_result) == 48, "size of earshot_probe_result");

static _Thread_local char last_error[1024];

void earshot_set_error(const char *text) {
  strncpy(last_error, text, sizeof last_error - 1);
  last_error[sizeof last_error - 1] = 0;
}

const char *earshot_error(void) { return last_error; }

uint32_t earshot_abi(void) { return EARSHOT_ABI; }

const char *earshot_version(void) {
  static char text[32];
  earshot_fill_version(text, sizeof text - 1);
  return text;
}
