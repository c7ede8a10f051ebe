/*
 * race: the usual case, many cells at a time. Lanes one after the other access cells one after the
 * other, and every record is ordered before them.
 */
#ifndef INGOT_RUNTIME_SANITIZE_RACE_FAST_H
#define INGOT_RUNTIME_SANITIZE_RACE_FAST_H

#include "runtime/sanitize/race.h"

/* Cells of a line that a run goes over. */
struct race_fast {
    uint64_t mine; /* the record of the run's first lane */
    const struct race_masks *masks;
    bool is_threadgroup; /* memory: records of other threadgroups do not count */
    uint64_t at;         /* how many cells of the run are before these */
    unsigned shift;      /* log2 of the cells of a lane */
    unsigned count;
};
/* Are all records, of stores or of loads, ordered before? False also where it takes more to say. */
bool race_fast_stores_before(const struct race_fast *fast, const uint64_t *writes);
bool race_fast_loads_before(const struct race_fast *fast, const uint64_t *reads);
/* The lanes' loads join those of the records; false: it takes more, and nothing was changed. */
bool race_fast_join(const struct race_fast *fast, uint64_t *reads);
/* Leaves the lanes' records. */
void race_fast_leave(const struct race_fast *fast, uint64_t *records);
/* What each of so many lanes has stored, as race_mixed makes it. */
void race_fast_mix(const uint64_t *stored, unsigned count, uint16_t *values);
/* The same of all lanes of a SIMD-group. */
void race_fast_mix_all(const uint64_t *stored, uint16_t *values);
/* The same of lanes that store to two cells each, of 16 or of 32 bits; a multiple of 4 lanes. */
void race_fast_mix_pairs(const uint64_t *stored, unsigned count, unsigned bits, uint16_t *values);
/* Of lanes that store to four cells each: of 16 bits, and of more than 8 bytes, mixed. */
void race_fast_mix_fours(const uint64_t *stored, unsigned count, uint16_t *values);
void race_fast_mix_wide(const uint64_t *stored, unsigned count, uint16_t *values);

#endif
