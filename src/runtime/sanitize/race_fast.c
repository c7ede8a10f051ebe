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
/* Of an earlier turn of the SIMD-group, if it is of the present epoch. */
#define IS_PAST_TURN(apart)                                                                        \
    ((((apart) & fast->masks->simdgroup) == 0) & (((apart) & fast->masks->turn) != 0))
#define MASKS                                                                                      \
    const uint64_t foreign = fast->is_threadgroup ? 0 : fast->masks->group;                        \
    const uint64_t past = fast->masks->epoch | (fast->is_threadgroup ? fast->masks->group : 0)

/* The records of the lanes that four cells are of. */
#define OWN(i)                                                                                     \
    (fast->mine + ((((four){0, 1, 2, 3}) + (fast->at + (i))) >> fast->shift) * fast->masks->step)
#define ALL(good) (((good)[0] & (good)[1] & (good)[2] & (good)[3]) != 0)

INLINED bool stores_before(const struct race_fast *fast, const uint64_t *writes) {
    MASKS;
    four_signs good = ~(four_signs){0};
    for (unsigned i = 0; i < fast->count; i += STEP) {
        four write;
        FETCH(write, writes + i, fast->count - i);
        four apart = write ^ OWN(i);
        good &= IS_BEFORE(write, apart, ((apart & fast->masks->thread) == 0) | IS_PAST_TURN(apart));
    }
    return ALL(good);
}

INLINED bool loads_before(const struct race_fast *fast, const uint64_t *reads) {
    MASKS;
    const uint64_t many = 6, groups = (uint64_t)RACE_GROUPS << 1;
    const uint64_t simdgroups = (uint64_t)RACE_SIMDGROUPS << 1;
    four_signs good = ~(four_signs){0};
    for (unsigned i = 0; i < fast->count; i += STEP) {
        four read;
        FETCH(read, reads + i, fast->count - i);
        four apart = read ^ OWN(i);
        four_signs is_one = (read & many) == 0, is_groups = (read & many) == groups;
        four_signs own = (((apart & fast->masks->thread) == 0) & is_one) |
                         (IS_PAST_TURN(apart) & ((read & many) != simdgroups));
        good &= IS_BEFORE(read, apart, own) & ~is_groups;
    }
    return ALL(good);
}

/* A record of loads becomes this lane's, or stays where it stands for more. */
INLINED bool join(const struct race_fast *fast, uint64_t *reads) {
    MASKS;
    const uint64_t many = 6, groups = (uint64_t)RACE_GROUPS << 1;
    const uint64_t simdgroups = (uint64_t)RACE_SIMDGROUPS << 1,
                   lanes = (uint64_t)RACE_SIMDGROUP << 1;
    four_signs good = ~(four_signs){0};
    four next[RACE_LINE / STEP];
    for (unsigned i = 0; i < fast->count; i += STEP) {
        four read, mine = OWN(i);
        FETCH(read, reads + i, fast->count - i);
        four apart = read ^ mine;
        four_signs is_one = (read & many) == 0, is_groups = (read & many) == groups;
        four_signs is_now = (apart & (fast->masks->group | fast->masks->epoch)) == 0;
        four_signs keeps =
            is_now & (((read & many) == simdgroups) |
                      (((read & many) == lanes) &
                       ((apart & (fast->masks->simdgroup | fast->masks->turn)) == 0)));
        four_signs own = (((apart & fast->masks->thread) == 0) & is_one) |
                         (IS_PAST_TURN(apart) & ((read & many) != simdgroups));
        good &= ~is_groups & (keeps | IS_BEFORE(read, apart, own));
        next[i / STEP] = (read & (four)keeps) | (mine & ~(four)keeps);
    }
    if (!ALL(good)) {
        return false;
    }
    memcpy(reads, next, fast->count * sizeof *reads);
    return true;
}

INLINED void leave(const struct race_fast *fast, uint64_t *records) {
    for (unsigned i = 0; i < fast->count; i += STEP) {
        four mine = OWN(i);
        unsigned left = fast->count - i;
        memcpy(records + i, &mine, left < STEP ? left * sizeof *records : sizeof mine);
    }
}

typedef uint16_t four_small __attribute__((vector_size(8)));

INLINED void mix(const uint64_t *stored, unsigned count, uint16_t *values) {
    for (unsigned i = 0; i < count; i += STEP) {
        four value;
        FETCH(value, stored + i, count - i);
        value ^= value >> 32;
        value = ((value ^ value >> 16) ^ 0x8000) & 0xffff;
        value |= (four)(value == 0) & 1;
        four_small small = __builtin_convertvector(value, four_small);
        memcpy(values + i, &small, count - i < STEP ? (count - i) * sizeof *values : sizeof small);
    }
}

typedef uint64_t eight __attribute__((vector_size(64)));
typedef uint16_t eight_of_16 __attribute__((vector_size(16)));

INLINED void mix_all(const uint64_t *stored, uint16_t *values) {
    enum { EIGHT = 8, LANES = 32 };
    for (unsigned i = 0; i < LANES; i += EIGHT) {
        eight value;
        memcpy(&value, stored + i, sizeof value);
        value ^= value >> 32;
        eight_of_16 small = __builtin_convertvector(value ^ value >> 16, eight_of_16) ^ 0x8000;
        small |= (eight_of_16)(small == 0) & 1;
        memcpy(values + i, &small, sizeof small);
    }
}

typedef uint32_t four_words __attribute__((vector_size(16)));
typedef uint16_t eight_small __attribute__((vector_size(16)));

INLINED void mix_pairs(const uint64_t *stored, unsigned count, unsigned bits, uint16_t *values) {
    for (unsigned i = 0; i < count; i += STEP) {
        four value;
        FETCH(value, stored + i, STEP);
        if (bits == 32) {
            value ^= value >> 16 & UINT64_C(0x0000ffff0000ffff);
            value = (value & 0xffff) | (value >> 16 & UINT64_C(0xffff0000));
        }
        eight_small pairs = (eight_small) __builtin_convertvector(value, four_words) ^ 0x8000;
        pairs |= (eight_small)(pairs == 0) & 1;
        memcpy(values + (size_t)2 * i, &pairs, sizeof pairs);
    }
}

typedef uint16_t sixteen_small __attribute__((vector_size(32)));

INLINED void mix_fours(const uint64_t *stored, unsigned count, uint16_t *values) {
    for (unsigned i = 0; i < count; i += STEP) {
        sixteen_small value;
        memcpy(&value, stored + i, sizeof value);
        value ^= 0x8000;
        value |= (sixteen_small)(value == 0) & 1;
        memcpy(values + (size_t)4 * i, &value, sizeof value);
    }
}

INLINED void mix_wide(const uint64_t *stored, unsigned count, uint16_t *values) {
    const uint64_t each = UINT64_C(0x0001000100010001), index = UINT64_C(0x0006000400020000);
    for (unsigned i = 0; i < count; i += STEP) {
        four value;
        FETCH(value, stored + i, STEP);
        value ^= value >> 32;
        value = ((value ^ value >> 16) ^ 0x8000) & 0xffff; /* 0, too, becomes odd */
        value |= value << 16;
        value = ((value | value << 32) ^ index) | each;
        memcpy(values + (size_t)4 * i, &value, sizeof value);
    }
}

/* Each of them for AVX-512, for AVX2, and for what there is. */
#if defined(__x86_64__)
#define FOR_EACH(result, name, parameters, ...)                                                    \
    __attribute__((target("avx2"))) static result name##_avx2 parameters {                         \
        return name(__VA_ARGS__);                                                                  \
    }                                                                                              \
    __attribute__((target("avx512f,avx512vl"))) static result name##_avx512 parameters {           \
        return name(__VA_ARGS__);                                                                  \
    }                                                                                              \
    result race_fast_##name parameters {                                                           \
        return __builtin_cpu_supports("avx512vl") ? name##_avx512(__VA_ARGS__)                     \
               : __builtin_cpu_supports("avx2")   ? name##_avx2(__VA_ARGS__)                       \
                                                  : name(__VA_ARGS__);                               \
    }
#else
#define FOR_EACH(result, name, parameters, ...)                                                    \
    result race_fast_##name parameters {                                                           \
        return name(__VA_ARGS__);                                                                  \
    }
#endif
FOR_EACH(bool, stores_before, (const struct race_fast *fast, const uint64_t *writes), fast, writes)
FOR_EACH(bool, loads_before, (const struct race_fast *fast, const uint64_t *reads), fast, reads)
FOR_EACH(bool, join, (const struct race_fast *fast, uint64_t *reads), fast, reads)
FOR_EACH(void, leave, (const struct race_fast *fast, uint64_t *records), fast, records)
FOR_EACH(void, mix_fours, (const uint64_t *stored, unsigned count, uint16_t *values), stored, count,
         values)
FOR_EACH(void, mix_wide, (const uint64_t *stored, unsigned count, uint16_t *values), stored, count,
         values)
FOR_EACH(void, mix_pairs, (const uint64_t *stored, unsigned count, unsigned bits, uint16_t *values),
         stored, count, bits, values)
FOR_EACH(void, mix_all, (const uint64_t *stored, uint16_t *values), stored, values)
FOR_EACH(void, mix, (const uint64_t *stored, unsigned count, uint16_t *values), stored, count,
         values)
