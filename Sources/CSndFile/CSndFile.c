#include "CSndFile.h"
