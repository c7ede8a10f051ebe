/* Asks once, in a process. */
#include "base/last_cache.h"
#include "base/environment.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint64_t last_cache, core_cache;

/* 0: not known. */
static uint64_t cache_bytes(unsigned index) {
    char path[80];
    unsigned long long kib = 0;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%u/size", index);
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%lluK", &kib) != 1) {
        kib = 0;
    }
    if (file) {
        fclose(file);
    }
    return (uint64_t)kib << 10;
}

/* What a core reaches of the last cache, or what the user says. sysconf adds up all there are, so
 * it comes second. */
static void find_last_cache(void) {
    const char *given = ig_environment("INGOT_CACHE_BYTES");
    if (given && *given) {
        last_cache = strtoull(given, NULL, 10);
        return;
    }
    last_cache = cache_bytes(3);
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

static void find_caches(void) {
    find_last_cache();
    core_cache = cache_bytes(2);
    if (!core_cache || core_cache > last_cache) {
        core_cache = (uint64_t)1 << 20;
    }
}

uint64_t ig_last_cache_bytes(void) {
    pthread_once(&once, find_caches);
    return last_cache;
}

uint64_t ig_core_cache_bytes(void) {
    pthread_once(&once, find_caches);
    return core_cache;
}
