/*
 * Counted code (docs/design/profiling.md): what its calls are added to, for each worker that takes
 * part in a dispatch, and how that becomes the dispatch's counters.
 */
#ifndef INGOT_RUNTIME_PROFILE_COUNTERS_H
#define INGOT_RUNTIME_PROFILE_COUNTERS_H

#include "base/cpu_abi.h"
#include "runtime/observe.h"

/* ---- moved.c: which words of memory were read and written ---- */

struct ig_moved_page;
struct ig_moved {
    struct ig_moved_page *pages; /* a hash table */
    size_t capacity, count;
    struct ig_moved_page *last; /* that was found */
    bool failed;                /* memory ran out */
};
void ig_moved_add(struct ig_moved *moved, uint64_t address, uint64_t size, bool is_read,
                  bool is_written);
/* Adds those of `other`. */
void ig_moved_join(struct ig_moved *moved, const struct ig_moved *other);
void ig_moved_count(const struct ig_moved *moved, uint64_t *bytes_read, uint64_t *bytes_written);
void ig_moved_free(struct ig_moved *moved);

/* ---- accesses.c: as a GPU with 32 lanes has them ---- */

/* Do lanes beside each other ask for bytes beside each other? Then these are they. */
bool ig_access_is_run(uint32_t mask, const uint64_t *addresses, const uint64_t *sizes,
                      uint64_t *start, uint64_t *bytes);
/* Lines of the cache that the lanes of `mask` touch. */
uint32_t ig_access_lines(uint32_t mask, const uint64_t *addresses, const uint64_t *sizes);
/* Passes over the banks of threadgroup memory that starts at `base`, and those that there would be
 * without conflicts. Lanes that ask for the same word share it; of accesses of more than 4 bytes
 * so many lanes are served at a time as ask for 128 bytes. */
uint32_t ig_access_passes(uint32_t mask, const uint64_t *addresses, const uint64_t *sizes,
                          uint64_t base, uint32_t *least);
/* Lanes of `mask` whose address a lane before them has too. */
uint32_t ig_access_collisions(uint32_t mask, const uint64_t *addresses);

/* ---- counters.c ---- */

struct ig_counted;
struct ig_counted_worker {
    struct ingot_cpu_sanitizer table; /* first: what kernel code sees */
    struct ig_counted *counted;
    const void *owner;
    struct ig_counted_worker *next;
    struct ig_place_counts *counts; /* by place */
    struct ig_moved moved;
    uint64_t steps[32], before[32]; /* of SIMD-groups, since the last barrier */
    uint32_t arrived;
};

/* NULL when memory is out. The table's `tell` and `count` are the device's. */
struct ig_counted *ig_counted_open(const struct ig_launch *launch,
                                   const struct ingot_cpu_places *places,
                                   const struct ingot_cpu_sanitizer *table);
/* What the worker `owner` adds to; a new one the first time. Without memory a worker that counts
 * nothing, and the dispatch is not counted. */
struct ig_counted_worker *ig_counted_worker(struct ig_counted *counted, const void *owner);
/* The dispatch is over: adds it to the profile. */
void ig_counted_close(struct ig_counted *counted);

static inline struct ig_counted_worker *ig_counted_worker_of(const struct ingot_cpu_group *group) {
    return (struct ig_counted_worker *)group->sanitizer;
}
void ig_counted_begin_group(const struct ingot_cpu_group *group);
void ig_counted_count(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask,
                      uint32_t place);
void ig_counted_tell(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask,
                     uint32_t place, const uint64_t *addresses, const uint64_t *sizes);

#endif
