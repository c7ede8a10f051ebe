/* What compiling one kernel may take: $INGOT_COMPILE_SECONDS, $INGOT_COMPILE_MEMORY. */
#ifndef INGOT_BASE_COMPILE_LIMITS_H
#define INGOT_BASE_COMPILE_LIMITS_H

#include "base/error.h"

struct ig_compile_limits {
    unsigned seconds; /* by the clock, for clang and for each kernel after it */
    uint64_t memory;  /* of addresses, for each process; UINT64_MAX: none */
};

ingot_status ig_compile_limits(struct ig_compile_limits *limits, struct ig_error *error);
/* For this process and those that it starts. */
void ig_compile_limit_memory(const struct ig_compile_limits *limits);

#endif
