/* See schedule.h. */
#include "runtime/cpu/schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t mix(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

ingot_status cpu_schedule_set(struct cpu_schedule *schedule, const char *text,
                              struct ig_error *error) {
    static const char word[] = "random";
    const size_t length = sizeof word - 1;
    if (!*text || !strcmp(text, "fixed")) {
        atomic_store(&schedule->is_random, false);
        return INGOT_OK;
    }
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t seed = (uint64_t)now.tv_nsec;
    bool good = !strncmp(text, word, length) && (!text[length] || text[length] == ':');
    if (good && text[length]) {
        char *end;
        errno = 0;
        seed = strtoull(text + length + 1, &end, 10);
        good = text[length + 1] >= '0' && text[length + 1] <= '9' && !*end && !errno;
    }
    if (!good) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "the schedule \"%s\" is none of fixed, random and random:SEED, where SEED "
                       "is a number below 2^64",
                       text);
    }
    atomic_store(&schedule->seed, mix(seed));
    atomic_store(&schedule->is_random, true);
    return INGOT_OK;
}

uint64_t cpu_schedule_next(struct cpu_schedule *schedule) {
    if (!atomic_load_explicit(&schedule->is_random, memory_order_relaxed)) {
        return 0;
    }
    return mix(atomic_fetch_add(&schedule->seed, 1)) | 1;
}

static uint64_t common_divisor(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

uint64_t cpu_schedule_group(uint64_t seed, uint64_t index, uint64_t count) {
    uint64_t step = mix(seed) % count, first = mix(seed + 1) % count;
    while (common_divisor(step, count) != 1) {
        step = step + 1 == count ? 1 : step + 1;
    }
    return (uint64_t)(((unsigned __int128)step * index + first) % count);
}

uint64_t cpu_schedule_state(uint64_t seed, uint64_t group) {
    return mix(seed ^ mix(group));
}

void cpu_schedule_shuffle(uint64_t *state, uint32_t *order, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        order[i] = i;
    }
    for (uint32_t left = count; left > 1; left--) {
        *state = mix(*state);
        uint32_t other = (uint32_t)(*state % left), last = order[left - 1];
        order[left - 1] = order[other];
        order[other] = last;
    }
}
