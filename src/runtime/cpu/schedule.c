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

/* "X[,Y[,Z]]" */
static bool parse_position(const char *text, uint32_t position[3]) {
    position[0] = position[1] = position[2] = 0;
    for (int axis = 0; axis < 3; axis++) {
        char *end;
        errno = 0;
        unsigned long number = strtoul(text, &end, 10);
        if (*text < '0' || *text > '9' || errno || number > UINT32_MAX) {
            return false;
        }
        position[axis] = (uint32_t)number;
        if (!*end) {
            return true;
        }
        if (*end != ',') {
            return false;
        }
        text = end + 1;
    }
    return false;
}

static bool parse_seed(const char *text, uint64_t *seed) {
    char *end;
    errno = 0;
    *seed = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && !errno;
}

/* What follows `word`; NULL: the text does not begin with it. */
static const char *behind(const char *text, const char *word) {
    size_t length = strlen(word);
    return strncmp(text, word, length) ? NULL : text + length;
}

static void set(struct cpu_schedule *schedule, enum cpu_schedule_kind kind, uint64_t seed,
                const uint32_t first[3]) {
    atomic_store(&schedule->seed, mix(seed));
    for (int axis = 0; axis < 3; axis++) {
        atomic_store(&schedule->first[axis], first[axis]);
    }
    atomic_store(&schedule->kind, kind);
}

ingot_status cpu_schedule_set(struct cpu_schedule *schedule, const char *text,
                              struct ig_error *error) {
    const char *seeded = behind(text, "random:"), *thread = behind(text, "first:"),
               *group = behind(text, "first-threadgroup:");
    uint32_t first[3] = {0};
    uint64_t seed = 0;
    if (!*text || !strcmp(text, "fixed")) {
        set(schedule, CPU_USUAL_ORDER, 0, first);
    } else if (!strcmp(text, "random")) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        set(schedule, CPU_RANDOM_ORDER, (uint64_t)now.tv_nsec, first);
    } else if (seeded && parse_seed(seeded, &seed)) {
        set(schedule, CPU_RANDOM_ORDER, seed, first);
    } else if (thread && parse_position(thread, first)) {
        set(schedule, CPU_THREAD_FIRST, 0, first);
    } else if (group && parse_position(group, first)) {
        set(schedule, CPU_GROUP_FIRST, 0, first);
    } else {
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "the schedule \"%s\" is none of fixed, random, random:SEED, where SEED is a "
                       "number below 2^64, first:X,Y,Z and first-threadgroup:X,Y,Z",
                       text);
    }
    return INGOT_OK;
}

/* Twice the number of the threadgroup, and 2: random seeds are odd. */
static uint64_t first_group(struct cpu_schedule *schedule, const uint32_t groups[3],
                            const uint32_t group[3], bool of_thread) {
    uint64_t number = 0;
    for (int axis = 2; axis >= 0; axis--) {
        uint32_t at = atomic_load(&schedule->first[axis]) / (of_thread ? group[axis] : 1);
        if (at >= groups[axis]) {
            return 0;
        }
        number = number * groups[axis] + at;
    }
    return 2 * number + 2;
}

uint64_t cpu_schedule_next(struct cpu_schedule *schedule, const uint32_t groups[3],
                           const uint32_t group[3]) {
    enum cpu_schedule_kind kind = atomic_load_explicit(&schedule->kind, memory_order_relaxed);
    return kind == CPU_USUAL_ORDER ? 0
           : kind == CPU_RANDOM_ORDER
               ? mix(atomic_fetch_add(&schedule->seed, 1)) | 1
               : first_group(schedule, groups, group, kind == CPU_THREAD_FIRST);
}

bool cpu_schedule_is_random(uint64_t seed) {
    return seed & 1;
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
    if (!cpu_schedule_is_random(seed)) {
        uint64_t chosen = seed / 2 - 1;
        return index == 0 ? chosen : index <= chosen ? index - 1 : index;
    }
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
