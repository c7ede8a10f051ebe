/*
 * The counters of one dispatch. Every worker has its own, so that counting takes no lock; when the
 * dispatch is over they are added up.
 *
 * A step is what the waits at barriers are measured in: a line that a SIMD-group runs, a line of
 * the cache that it touches, a pass over the banks. On the CPU SIMD-groups take turns, so that
 * time would tell nothing about who waits for whom.
 */
#include "runtime/profile/counters.h"

#include <stdlib.h>
#include <string.h>

struct ig_counted {
    pthread_mutex_t lock;
    ingot_kernel *kernel; /* the command's */
    const struct ingot_cpu_places *places;
    struct ingot_cpu_sanitizer table;
    struct ig_counted_worker *workers;
    struct ig_counted_worker nobody; /* without memory */
    uint64_t threads;
    bool failed;
};

struct ig_counted *ig_counted_open(const struct ig_launch *launch,
                                   const struct ingot_cpu_places *places,
                                   const struct ingot_cpu_sanitizer *table) {
    struct ig_counted *counted = calloc(1, sizeof *counted);
    if (!counted || pthread_mutex_init(&counted->lock, NULL)) {
        free(counted);
        return NULL;
    }
    counted->kernel = launch->kernel;
    counted->places = places;
    counted->table = *table;
    counted->threads = (uint64_t)launch->threads[0] * launch->threads[1] * launch->threads[2];
    counted->nobody = (struct ig_counted_worker){.table = *table, .counted = counted};
    return counted;
}

static struct ig_counted_worker *new_worker(struct ig_counted *counted, const void *owner) {
    size_t count = counted->places->count ? counted->places->count : 1;
    struct ig_counted_worker *worker = calloc(1, sizeof *worker);
    struct ig_place_counts *counts = calloc(count, sizeof *counts);
    if (!worker || !counts) {
        free(worker);
        free(counts);
        counted->failed = true;
        return &counted->nobody;
    }
    worker->table = counted->table;
    worker->counted = counted;
    worker->owner = owner;
    worker->counts = counts;
    worker->next = counted->workers;
    counted->workers = worker;
    return worker;
}

struct ig_counted_worker *ig_counted_worker(struct ig_counted *counted, const void *owner) {
    pthread_mutex_lock(&counted->lock);
    struct ig_counted_worker *worker = counted->workers;
    while (worker && worker->owner != owner) {
        worker = worker->next;
    }
    worker = worker ? worker : new_worker(counted, owner);
    pthread_mutex_unlock(&counted->lock);
    return worker;
}

static void add_up(struct ig_counted *counted) {
    struct ig_counted_worker *first = counted->workers;
    for (struct ig_counted_worker *worker = first->next; worker; worker = worker->next) {
        uint64_t *sums = (uint64_t *)first->counts;
        const uint64_t *more = (const uint64_t *)worker->counts;
        size_t numbers = sizeof *first->counts / sizeof *sums * counted->places->count;
        for (size_t i = 0; i < numbers; i++) {
            sums[i] += more[i];
        }
        ig_moved_join(&first->moved, &worker->moved);
    }
}

void ig_counted_close(struct ig_counted *counted) {
    if (!counted) {
        return;
    }
    if (counted->workers && !counted->failed) {
        struct ig_counted_dispatch dispatch = {
            .kernel = counted->kernel, .places = counted->places, .threads = counted->threads};
        add_up(counted);
        dispatch.counts = counted->workers->counts;
        ig_moved_count(&counted->workers->moved, &dispatch.bytes_read, &dispatch.bytes_written);
        ig_profile_add_counts(&dispatch);
    }
    while (counted->workers) {
        struct ig_counted_worker *next = counted->workers->next;
        ig_moved_free(&counted->workers->moved);
        free(counted->workers->counts);
        free(counted->workers);
        counted->workers = next;
    }
    pthread_mutex_destroy(&counted->lock);
    free(counted);
}

/* ---- calls of kernel code ---- */

void ig_counted_begin_group(const struct ingot_cpu_group *group) {
    struct ig_counted_worker *worker = ig_counted_worker_of(group);
    memset(worker->steps, 0, sizeof worker->steps);
    worker->arrived = 0;
}

/* The last SIMD-group to arrive says what the others waited for. */
static void arrive(struct ig_counted_worker *worker, const struct ingot_cpu_group *group,
                   uint32_t simdgroup, struct ig_place_counts *counts) {
    uint32_t count = group->simdgroup_count;
    uint64_t most = 0;
    worker->before[simdgroup] = worker->steps[simdgroup];
    worker->steps[simdgroup] = 0;
    counts->work += worker->before[simdgroup];
    if (++worker->arrived < count) {
        return;
    }
    worker->arrived = 0;
    for (uint32_t i = 0; i < count; i++) {
        most = worker->before[i] > most ? worker->before[i] : most;
    }
    for (uint32_t i = 0; i < count; i++) {
        counts->waits += most - worker->before[i];
    }
}

void ig_counted_count(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask,
                      uint32_t place) {
    struct ig_counted_worker *worker = ig_counted_worker_of(group);
    if (!worker->counts) {
        return;
    }
    struct ig_place_counts *counts = &worker->counts[place];
    const enum ig_count_kind kind = worker->counted->places->items[place].kind;
    counts->times++;
    counts->lanes += (uint64_t)__builtin_popcount(mask);
    worker->steps[simdgroup] += kind == IG_COUNT_LINE;
    if (kind == IG_COUNT_BARRIER) {
        arrive(worker, group, simdgroup, counts);
    }
}

/* A constant that is the same for all lanes costs a GPU no access of its lanes. */
static bool is_uniform(uint32_t mask, const uint64_t *addresses) {
    uint64_t first = addresses[__builtin_ctz(mask)];
    for (; mask; mask &= mask - 1) {
        if (addresses[__builtin_ctz(mask)] != first) {
            return false;
        }
    }
    return true;
}

static void move(struct ig_counted_worker *worker, const struct ingot_cpu_place *place,
                 uint32_t mask, const uint64_t *addresses, const uint64_t *sizes) {
    if (place->detail) {
        return;
    }
    bool is_read = place->access != INGOT_CPU_STORE, is_written = place->access != INGOT_CPU_LOAD;
    for (; mask; mask &= mask - 1) {
        int lane = __builtin_ctz(mask);
        ig_moved_add(&worker->moved, addresses[lane], sizes[lane], is_read, is_written);
    }
}

/* One access of a SIMD-group to threadgroup memory. */
static void add_banks(struct ig_counted_worker *worker, const struct ingot_cpu_group *group,
                      uint32_t simdgroup, uint32_t mask, struct ig_place_counts *counts,
                      const uint64_t *addresses, const uint64_t *sizes) {
    uint32_t least;
    uint32_t passes =
        ig_access_passes(mask, addresses, sizes, (uintptr_t)group->threadgroup_memory, &least);
    counts->passes += passes;
    counts->conflicts += passes > least ? passes - least : 0;
    worker->steps[simdgroup] += passes;
}

void ig_counted_tell(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask,
                     uint32_t number, const uint64_t *addresses, const uint64_t *sizes) {
    struct ig_counted_worker *worker = ig_counted_worker_of(group);
    if (!worker->counts) {
        return;
    }
    struct ig_place_counts *counts = &worker->counts[number];
    const struct ingot_cpu_place *place = &worker->counted->places->items[number];
    if (place->space == INGOT_SPACE_CONSTANT && is_uniform(mask, addresses)) {
        move(worker, place, mask & -mask, addresses, sizes);
        return;
    }
    uint64_t start, bytes;
    bool is_run = ig_access_is_run(mask, addresses, sizes, &start, &bytes);
    if (!is_run) {
        bytes = 0;
        for (uint32_t rest = mask; rest; rest &= rest - 1) {
            bytes += sizes[__builtin_ctz(rest)];
        }
    }
    counts->times++;
    counts->lanes += (uint64_t)__builtin_popcount(mask);
    counts->bytes += bytes;
    if (place->space == INGOT_SPACE_THREADGROUP) {
        add_banks(worker, group, simdgroup, mask, counts, addresses, sizes);
    } else {
        uint64_t lines = is_run ? (start + bytes - 1) / IG_CACHE_LINE - start / IG_CACHE_LINE + 1
                                : ig_access_lines(mask, addresses, sizes);
        counts->lines += lines;
        worker->steps[simdgroup] += lines;
        if (is_run) {
            move(worker, place, 1, &start, &bytes);
        } else {
            move(worker, place, mask, addresses, sizes);
        }
    }
    if (place->access == INGOT_CPU_ATOMIC && !is_run) {
        counts->collisions += ig_access_collisions(mask, addresses);
    }
}
