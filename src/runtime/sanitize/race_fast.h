/*
 * race: the usual case, many cells at a time. Lanes one after the other access cells one after the
 * other, and every record is ordered before them.
 */
#ifndef INGOT_RUNTIME_SANITIZE_RACE_FAST_H
#define INGOT_RUNTIME_SANITIZE_RACE_FAST_H

#include "runtime/sanitize/race.h"

struct race_fast {
    uint64_t mine, step; /* the record of the first lane, and to the next one's */
    uint64_t group, epoch, thread, simdgroup, turn; /* masks of the fields */
    bool is_threadgroup; /* memory: records of other threadgroups do not count */
    uint64_t *writes, *reads;
    uint16_t *values;
    unsigned count;
};
/* False: something is not as usual, and nothing was changed. `stored` has a value for each lane. */
bool race_fast_store(const struct race_fast *fast, const uint64_t *stored);
bool race_fast_load(const struct race_fast *fast);

/* 16 bits of a value of up to 8 bytes, never 0, which stands for none. */
static inline uint16_t race_mixed(uint64_t value) {
    uint64_t half = value ^ value >> 32;
    uint16_t bits = (uint16_t)(half ^ half >> 16) ^ 0x8000;
    return bits ? bits : 1;
}

#endif
