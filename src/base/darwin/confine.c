/* Taking rights away is Linux's affair (base/confine.c). */
#include "base/confine.h"

#include <errno.h>

int ig_confine_program(const struct ig_confinement *files) {
    (void)files;
    return ENOTSUP;
}

int ig_confine_computation(void) {
    return ENOTSUP;
}
