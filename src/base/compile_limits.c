/* See compile_limits.h. A compiler under a sanitizer maps terabytes: its memory is not limited. */
#include "base/compile_limits.h"

#include <stdlib.h>
#include <sys/resource.h>

#include "base/cache.h"
#include "base/environment.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

enum { DEFAULT_SECONDS = 180, MOST_SECONDS = 1000000 };
#define DEFAULT_MEMORY ((uint64_t)4 << 30)

ingot_status ig_compile_limits(struct ig_compile_limits *limits, struct ig_error *error) {
    const char *seconds = ig_environment("INGOT_COMPILE_SECONDS");
    const char *memory = ig_environment("INGOT_COMPILE_MEMORY");
    *limits = (struct ig_compile_limits){DEFAULT_SECONDS, DEFAULT_MEMORY};
    if (seconds && *seconds) {
        char *end;
        unsigned long value = *seconds >= '0' && *seconds <= '9' ? strtoul(seconds, &end, 10) : 0;
        if (!value || *end || value > MOST_SECONDS) {
            return ig_fail(error, INGOT_INVALID_ARGUMENT,
                           "INGOT_COMPILE_SECONDS is \"%s\", but it has to be a whole number of "
                           "seconds from 1 to %d",
                           seconds, MOST_SECONDS);
        }
        limits->seconds = (unsigned)value;
    }
    return memory && *memory
               ? ig_cache_parse_limit("INGOT_COMPILE_MEMORY", memory, &limits->memory, error)
               : INGOT_OK;
}

void ig_compile_limit_memory(const struct ig_compile_limits *limits) {
#ifndef SANITIZED
    struct rlimit old;
    if (limits->memory != UINT64_MAX && !getrlimit(RLIMIT_AS, &old) &&
        old.rlim_max > limits->memory) {
        setrlimit(RLIMIT_AS, &(struct rlimit){limits->memory, limits->memory});
    }
#else
    (void)limits;
#endif
}
