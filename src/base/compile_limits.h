/* What compiling one kernel may take: $INGOT_COMPILE_SECONDS, $INGOT_COMPILE_MEMORY. */
#ifndef INGOT_BASE_COMPILE_LIMITS_H
#define INGOT_BASE_COMPILE_LIMITS_H

#include "base/error.h"

struct ig_compile_limits {
    unsigned seconds; /* of processor time, for clang and for each kernel after it */
    uint64_t memory;  /* of addresses, for each process; UINT64_MAX: none */
};

/* By the clock a process may take so many times as long: on a busy machine it has a part of a
 * processor, and one that waits for something ends too. */
enum { IG_COMPILE_CLOCK = 8 };

ingot_status ig_compile_limits(struct ig_compile_limits *limits, struct ig_error *error);
/* For this process and those that it starts. */
void ig_compile_limit_memory(const struct ig_compile_limits *limits);

#endif
