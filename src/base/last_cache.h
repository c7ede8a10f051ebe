/* The size of the CPU's last cache. */
#ifndef INGOT_BASE_LAST_CACHE_H
#define INGOT_BASE_LAST_CACHE_H

#include <stdint.h>

/* Bytes of it that one core reaches: INGOT_CACHE_BYTES, or what the system says, or a guess. */
uint64_t ig_last_cache_bytes(void);

#endif
