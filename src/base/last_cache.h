/* The sizes of the CPU's caches. */
#ifndef INGOT_BASE_LAST_CACHE_H
#define INGOT_BASE_LAST_CACHE_H

#include <stdint.h>

/* Bytes of it that one core reaches: INGOT_CACHE_BYTES, or what the system says, or a guess. */
uint64_t ig_last_cache_bytes(void);
/* Bytes of the largest cache that is one core's own (L2), or a guess. */
uint64_t ig_core_cache_bytes(void);

#endif
