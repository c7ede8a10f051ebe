/*
 * Another order of threadgroups and SIMD-groups than the usual one, from a seed: `--schedule
 * random:SEED`. What a kernel may not rely on shows as results that differ.
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
struct cpu_schedule {
    atomic_bool is_random;
    _Atomic uint64_t seed; /* grows by one with every dispatch */
};
/* "", "fixed", "random" or "random:SEED". */
ingot_status cpu_schedule_set(struct cpu_schedule *schedule, const char *text,
                              struct ig_error *error);
/* For a new dispatch; 0: the usual order. */
uint64_t cpu_schedule_next(struct cpu_schedule *schedule);

/* Which of `count` threadgroups is the index-th: each once, in an order that the seed decides. */
uint64_t cpu_schedule_group(uint64_t seed, uint64_t index, uint64_t count);
/* Puts the numbers below `count` into an order; `state` goes on. */
void cpu_schedule_shuffle(uint64_t *state, uint32_t *order, uint32_t count);
/* Where a threadgroup's shuffles begin. */
uint64_t cpu_schedule_state(uint64_t seed, uint64_t group);

#endif
