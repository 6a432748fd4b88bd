#include "CRedis.h"
