/*
 * Another order of threadgroups and SIMD-groups than the usual one, from a seed: `--schedule
 * random:SEED`. What a kernel may not rely on shows as results that differ. Or the usual order
 * behind one threadgroup: `--schedule first:X,Y,Z`, for who waits for a thread in a debugger.
 *
 * A dispatch with a schedule runs on one thread, so that its seed repeats it.
 */
#ifndef INGOT_RUNTIME_CPU_SCHEDULE_H
#define INGOT_RUNTIME_CPU_SCHEDULE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Of a device: what the next dispatches get. */
enum cpu_schedule_kind { CPU_USUAL_ORDER, CPU_RANDOM_ORDER, CPU_THREAD_FIRST, CPU_GROUP_FIRST };
struct cpu_schedule {
    _Atomic(enum cpu_schedule_kind) kind;
    _Atomic uint64_t seed;     /* grows by one with every dispatch */
    _Atomic uint32_t first[3]; /* the position of what comes first: a thread, or a threadgroup */
};
/* "", "fixed", "random", "random:SEED", "first:X,Y,Z" or "first-threadgroup:X,Y,Z". */
ingot_status cpu_schedule_set(struct cpu_schedule *schedule, const char *text,
                              struct ig_error *error);
/* For a new dispatch of `groups` threadgroups of `group` threads; 0: the usual order. */
uint64_t cpu_schedule_next(struct cpu_schedule *schedule, const uint32_t groups[3],
                           const uint32_t group[3]);
/* Are the SIMD-groups in another order too? */
bool cpu_schedule_is_random(uint64_t seed);

/* Which of `count` threadgroups is the index-th: each once, in an order that the seed decides. */
uint64_t cpu_schedule_group(uint64_t seed, uint64_t index, uint64_t count);
/* Puts the numbers below `count` into an order; `state` goes on. */
void cpu_schedule_shuffle(uint64_t *state, uint32_t *order, uint32_t count);
/* Where a threadgroup's shuffles begin. */
uint64_t cpu_schedule_state(uint64_t seed, uint64_t group);

#endif
