/* See race_fast.h. The loops are written once, on vectors of four, and compiled for what there is.
 */
#include "runtime/sanitize/race_fast.h"

#include <string.h>

typedef uint64_t four __attribute__((vector_size(32)));
typedef int64_t four_signs __attribute__((vector_size(32)));
enum { STEP = 4 };

#define INLINED static inline __attribute__((always_inline))

/* Loads and stores; at the end of a row what is past it is 0, and not stored. */
#define FETCH(vector, from, count)                                                                 \
    do {                                                                                           \
        if ((count) >= STEP) {                                                                     \
            memcpy(&(vector), (from), sizeof(vector));                                             \
        } else {                                                                                   \
            (vector) = (four){0};                                                                  \
            memcpy(&(vector), (from), (count) * sizeof(uint64_t));                                 \
        }                                                                                          \
    } while (0)

/* All bits where a record is no obstacle: there is none, or it is of an earlier epoch (of the
 * threadgroup; in threadgroup memory of any), or of the same thread. The masks make one expression
 * of the two memories: `foreign` has to be equal, `past` is what differs when it is past. */
#define IS_BEFORE(record, apart, own)                                                              \
    (((record) == 0) | ((((apart) & foreign) == 0) & ((((apart) & past) != 0) | (own))))
#define MASKS                                                                                      \
    const uint64_t foreign = fast->is_threadgroup ? 0 : fast->group;                               \
    const uint64_t past = fast->epoch | (fast->is_threadgroup ? fast->group : 0)

INLINED bool can_store(const struct race_fast *fast, bool *any_read) {
    MASKS;
    const uint64_t many = 6, groups = (uint64_t)RACE_GROUPS << 1;
    four_signs good = ~(four_signs){0};
    four seen = {0};
    four mine = {fast->mine, fast->mine + fast->step, fast->mine + 2 * fast->step,
                 fast->mine + 3 * fast->step};
    for (unsigned i = 0; i < fast->count; i += STEP, mine += STEP * fast->step) {
        unsigned left = fast->count - i;
        four write, read;
        FETCH(write, fast->writes + i, left);
        FETCH(read, fast->reads + i, left);
        four apart = write ^ mine, apart_read = read ^ mine;
        good &= IS_BEFORE(write, apart, ((apart & fast->thread) == 0));
        four_signs is_one = (read & many) == 0, is_groups = (read & many) == groups;
        good &=
            IS_BEFORE(read, apart_read, ((apart_read & fast->thread) == 0) & is_one) & ~is_groups;
        seen |= read;
    }
    uint64_t bad = 0, some = 0;
    for (unsigned i = 0; i < STEP; i++) {
        bad |= (uint64_t)~good[i];
        some |= seen[i];
    }
    *any_read = some != 0;
    return !bad;
}

INLINED bool store_all(const struct race_fast *fast, const uint64_t *stored) {
    bool any_read;
    if (!can_store(fast, &any_read)) {
        return false;
    }
    for (unsigned i = 0; i < fast->count; i++) {
        fast->writes[i] = fast->mine + i * fast->step;
    }
    for (unsigned i = 0; i < fast->count; i++) {
        fast->values[i] = race_mixed(stored[i]);
    }
    if (any_read) {
        memset(fast->reads, 0, fast->count * sizeof *fast->reads);
    }
    return true;
}

/* A record of loads becomes this lane's, or stays where it stands for more. */
INLINED bool load_all(const struct race_fast *fast) {
    MASKS;
    const uint64_t many = 6, groups = (uint64_t)RACE_GROUPS << 1;
    const uint64_t simdgroups = (uint64_t)RACE_SIMDGROUPS << 1,
                   lanes = (uint64_t)RACE_SIMDGROUP << 1;
    four_signs good = ~(four_signs){0};
    four next[INGOT_SIMD_WIDTH / STEP];
    four mine = {fast->mine, fast->mine + fast->step, fast->mine + 2 * fast->step,
                 fast->mine + 3 * fast->step};
    for (unsigned i = 0; i < fast->count; i += STEP, mine += STEP * fast->step) {
        unsigned left = fast->count - i;
        four write, read;
        FETCH(write, fast->writes + i, left);
        FETCH(read, fast->reads + i, left);
        four apart = write ^ mine, apart_read = read ^ mine;
        good &= IS_BEFORE(write, apart, ((apart & fast->thread) == 0));
        four_signs is_one = (read & many) == 0, is_groups = (read & many) == groups;
        good &= ~is_groups;
        four_signs is_now = (apart_read & (fast->group | fast->epoch)) == 0;
        four_signs keeps =
            is_now &
            (((read & many) == simdgroups) |
             (((read & many) == lanes) & ((apart_read & (fast->simdgroup | fast->turn)) == 0)));
        good &= keeps | IS_BEFORE(read, apart_read, ((apart_read & fast->thread) == 0) & is_one);
        next[i / STEP] = (read & (four)keeps) | (mine & ~(four)keeps);
    }
    uint64_t bad = 0;
    for (unsigned i = 0; i < STEP; i++) {
        bad |= (uint64_t)~good[i];
    }
    if (bad) {
        return false;
    }
    memcpy(fast->reads, next, fast->count * sizeof *fast->reads);
    return true;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static bool store_avx2(const struct race_fast *fast,
                                                       const uint64_t *stored) {
    return store_all(fast, stored);
}
__attribute__((target("avx2"))) static bool load_avx2(const struct race_fast *fast) {
    return load_all(fast);
}
#define BEST(avx2, plain) (__builtin_cpu_supports("avx2") ? (avx2) : (plain))
#else
#define BEST(avx2, plain) (plain)
#endif

bool race_fast_store(const struct race_fast *fast, const uint64_t *stored) {
    return BEST(store_avx2(fast, stored), store_all(fast, stored));
}

bool race_fast_load(const struct race_fast *fast) {
    return BEST(load_avx2(fast), load_all(fast));
}
