// Not installed: what the two halves of the library ask of each other.
#pragma once

#include <stddef.h>

void earshot_set_error(const char *text);
void earshot_fill_version(char *room, size_t size);
