/*
 * race: one access of up to 32 lanes, as it comes by. race.c says where the lanes go, race_rows.c
 * does what lies one after the other, race_cells.c a cell of a lane.
 */
#ifndef INGOT_RUNTIME_SANITIZE_RACE_VISIT_H
#define INGOT_RUNTIME_SANITIZE_RACE_VISIT_H

#include "runtime/sanitize/race.h"

struct race_visit {
    const struct ingot_cpu_group *group;
    struct race_dispatch *race;
    struct race_group *own;
    struct race_shadow *shadow;
    const struct ingot_cpu_place *place;
    uint32_t number, simdgroup, detail;
    enum race_space space;
    uint64_t key;    /* group and epoch, as they stand at the top of a record */
    uint64_t common; /* a record without thread and clock */
    uint32_t turn;
    bool is_ordered;      /* the epoch is one that counts as ordered */
    bool is_ordered_here; /* so does the turn, among the lanes */
};

/* ---- records (race_cells.c) ---- */

#define RACE_NO_THREAD UINT32_MAX

/* The record that a thread leaves. */
static inline uint64_t race_own_record(const struct race_visit *visit, uint32_t thread) {
    const struct race_layout *layout = &visit->race->layout;
    uint64_t clock = 0;
    if (visit->own->threads) {
        clock = visit->own->threads[thread].clock[visit->space];
        clock = clock < layout->clock_mask ? clock : layout->clock_mask;
    }
    return visit->common | (uint64_t)thread << layout->thread | clock << layout->clock;
}
/* Is what left a record ordered before an access by `thread`? By barriers, or by the thread; fences
 * are not looked at. */
static inline bool race_is_before(const struct race_visit *visit, uint64_t record,
                                  uint32_t thread) {
    const struct race_layout *layout = &visit->race->layout;
    if (record >> layout->epoch != visit->key) {
        return visit->space == RACE_THREADGROUP ||
               record >> layout->group == visit->key >> (layout->group - layout->epoch);
    }
    uint32_t by = race_thread_of(layout, record);
    return by == thread || visit->is_ordered ||
           (by / INGOT_SIMD_WIDTH == visit->simdgroup &&
            (visit->is_ordered_here || race_turn_of(layout, record) != visit->turn));
}
/* The thread among those that a record of loads stands for which is not ordered before a store by
 * `thread`; RACE_NO_THREAD: they all are. */
uint32_t race_unordered_reader(const struct race_visit *visit, uint64_t record, uint32_t thread);
/* The record of loads when one more thread loads. */
uint64_t race_join_reader(const struct race_visit *visit, uint64_t old, uint64_t new);

/* ---- cells (race_cells.c) ---- */

/* Gives every cell of a line a record of its own. */
void race_spread_writes(const struct race_visit *visit, uint64_t line);
void race_spread_reads(const struct race_visit *visit, uint64_t line);
/* A lane's store or load of one cell, in a block that is locked: reports what is not ordered. */
void race_store_cell(const struct race_visit *visit, uint32_t lane, uint64_t cell, uint16_t value);
void race_load_cell(const struct race_visit *visit, uint32_t lane, uint64_t cell);
/* Loads of one place by all lanes, which race_quick.c has noted of a line, become records of its
 * cells, or are forgotten where a barrier has ordered them. Before any access of cells that may be
 * part of a race with it. */
void race_settle_line(const struct race_visit *visit, uint64_t line);
static inline void race_settle(const struct race_visit *visit, uint64_t line) {
    if (visit->shadow->blocks[line / RACE_BLOCK_LINES].has_uniform >> line % RACE_BLOCK_LINES & 1) {
        race_settle_line(visit, line);
    }
}
/* 16 bits of a value of up to 8 bytes, never 0, which stands for none. */
static inline uint16_t race_mixed(uint64_t value) {
    uint64_t half = value ^ value >> 32;
    uint16_t bits = (uint16_t)(half ^ half >> 16) ^ 0x8000;
    return bits ? bits : 1;
}
/* The part of a stored value that goes to the cell of this index. Those of more than 8 bytes are
 * mixed already, and differ by the index. */
static inline uint16_t race_value_in_cell(const struct race_visit *visit, uint64_t value,
                                          uint64_t index, uint64_t size) {
    unsigned bits = 8u << visit->shadow->shift;
    if (visit->detail & INGOT_CPU_RACE_NO_VALUE) {
        return 0;
    }
    if (size > 8) {
        return (uint16_t)((race_mixed(value) ^ index << 1) | 1);
    }
    return size <= 1u << visit->shadow->shift
               ? race_mixed(value)
               : race_mixed(value >> bits * index & ((UINT64_C(1) << bits) - 1));
}

/* ---- lanes apart from each other (race_lanes.c) ---- */

struct race_lanes {
    uint32_t mask;
    uint64_t base;
    int64_t stride;
    const uint64_t *addresses, *values; /* addresses NULL: base and stride say it */
};
static inline uint64_t race_address_of(const struct race_lanes *lanes, uint32_t lane) {
    return lanes->addresses ? lanes->addresses[lane] : lanes->base + (uint64_t)lanes->stride * lane;
}
/* Of threadgroup memory: the lanes that are left, of which it takes more to say. */
uint32_t race_visit_apart(const struct race_visit *visit, const struct race_lanes *lanes);

/* ---- blocks (race.c) ---- */

/* Waits until nobody holds it, and holds it. */
void race_wait_for_block(struct race_block *block);
/* Its records are of another dispatch, and count as none. */
void race_clear_block(struct race_block *block, uint32_t generation);

static inline void race_lock_block(struct race_shadow *shadow, uint64_t number) {
    struct race_block *block = &shadow->blocks[number];
    if (atomic_exchange_explicit(&block->is_held, true, memory_order_acquire)) {
        race_wait_for_block(block);
    }
    if (block->generation != shadow->generation) {
        race_clear_block(block, shadow->generation);
    }
}

static inline void race_unlock_block(struct race_shadow *shadow, uint64_t number) {
    atomic_store_explicit(&shadow->blocks[number].is_held, false, memory_order_release);
}

/* ---- runs (race_rows.c) ---- */

/* Lanes one after the other, from `lane` on, access cells one after the other, from `cell` on:
 * each 1 << shift of them. */
struct race_run {
    uint64_t cell, count; /* cells */
    uint32_t lane;
    unsigned shift;
    const uint64_t *values; /* by lane; NULL: none */
};
void race_visit_run(const struct race_visit *visit, const struct race_run *run);
/* The usual case of it, and of loads of one place by all lanes (race_quick.c): all lanes of a
 * SIMD-group; no atomic. False: it takes more to say. */
bool race_visit_quick(const struct ingot_cpu_group *group, struct race_dispatch *race,
                      uint32_t simdgroup, uint32_t place, uint64_t base, int64_t stride,
                      const uint64_t *values);
/* The memory that an address is in, which may have no shadow; NULL: none. */
struct race_shadow *race_find_shadow(const struct race_dispatch *race, uint64_t address);
/* What all lanes of a SIMD-group store to cells one after the other, each 1 << shift of them. */
void race_keep_values(const struct race_visit *visit, uint16_t *to, const uint64_t *values,
                      unsigned shift);

#endif
