/* Asks once, in a process. */
#include "base/last_cache.h"
#include "base/environment.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint64_t last_cache;

/* What a core reaches of the last cache, or what the user says. sysconf adds up all there are, so
 * it comes second. */
static void find_last_cache(void) {
    const char *given = ig_environment("INGOT_CACHE_BYTES");
    if (given && *given) {
        last_cache = strtoull(given, NULL, 10);
        return;
    }
    unsigned long long kib = 0;
    FILE *file = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r");
    if (file && fscanf(file, "%lluK", &kib) == 1) {
        last_cache = (uint64_t)kib << 10;
    }
    if (file) {
        fclose(file);
    }
#ifdef _SC_LEVEL3_CACHE_SIZE
    long bytes = last_cache ? 0 : sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (bytes > 0) {
        last_cache = (uint64_t)bytes;
    }
#endif
    if (!last_cache) {
        last_cache = (uint64_t)32 << 20;
    }
}

uint64_t ig_last_cache_bytes(void) {
    pthread_once(&once, find_last_cache);
    return last_cache;
}
