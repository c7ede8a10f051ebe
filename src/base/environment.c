/* See environment.h. The kernel says in AT_SECURE whether the program has more rights. */
#include "base/environment.h"

#include <stdlib.h>

const char *ig_environment(const char *name) {
    return secure_getenv(name);
}
