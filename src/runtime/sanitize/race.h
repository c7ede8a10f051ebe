/*
 * race, inside: shadow memory, what orders accesses, and the state of a dispatch and of a
 * threadgroup (docs/design/sanitizer.md).
 *
 * A cell is as many bytes as the narrowest access of a kernel. It has two records, of the last
 * store and of the last loads: 64 bits, of which the launch decides how wide the fields are.
 */
#ifndef INGOT_RUNTIME_SANITIZE_RACE_H
#define INGOT_RUNTIME_SANITIZE_RACE_H

#include <stdatomic.h>

#include "runtime/sanitize/kinds.h"

/* The two memories that barriers and fences order apart from each other: bits of mem_flags. */
enum race_space { RACE_DEVICE, RACE_THREADGROUP, RACE_SPACES };

/* ---- records ---- */

/* How many threads a record of loads stands for. */
enum race_many {
    RACE_ONE,        /* `thread` */
    RACE_SIMDGROUP,  /* several of its SIMD-group, of which `second` is one */
    RACE_SIMDGROUPS, /* several SIMD-groups: `second` is in another one than `thread` */
    RACE_GROUPS,     /* several threadgroups */
};
/* Where the fields of a record are: from bit 0 on is it a record (1 bit), many (2), place (1 + its
 * number), second, thread, clock, turn, epoch, group. What does not fit stays at a field's largest
 * value, which then counts as ordered. Kernels without fences have no clock, threadgroups of one
 * SIMD-group no turn: their barriers count as epochs. */
struct race_layout {
    unsigned second, thread, clock, turn, epoch, group; /* the lowest bit of each */
    uint32_t place_mask, thread_mask, clock_mask, turn_mask, epoch_mask;
    uint64_t group_mask;
};
enum { RACE_PLACE_BIT = 3 };
struct race_masks { /* the fields where they stand; `step` is to the next thread's record */
    uint64_t group, epoch, thread, simdgroup, turn, step;
};
void race_layout_set(struct race_layout *layout, uint64_t groups, uint32_t threads, uint64_t places,
                     bool has_fences);

static inline uint32_t race_thread_of(const struct race_layout *l, uint64_t record) {
    return (uint32_t)(record >> l->thread) & l->thread_mask;
}
static inline uint32_t race_second_of(const struct race_layout *l, uint64_t record) {
    return (uint32_t)(record >> l->second) & l->thread_mask;
}
static inline uint32_t race_turn_of(const struct race_layout *l, uint64_t record) {
    return (uint32_t)(record >> l->turn) & l->turn_mask;
}
static inline uint32_t race_clock_of(const struct race_layout *l, uint64_t record) {
    return (uint32_t)(record >> l->clock) & l->clock_mask;
}
static inline uint32_t race_epoch_of(const struct race_layout *l, uint64_t record) {
    return (uint32_t)(record >> l->epoch) & l->epoch_mask;
}
static inline enum race_many race_many_of(uint64_t record) {
    return (enum race_many)(record >> 1 & 3);
}

/* ---- shadow memory ---- */

struct race_dispatch;

/* A line is a number of cells one after the other, whose records are of one of these shapes. Most
 * are rows: lanes one after the other have each accessed as many cells as the next. */
enum { RACE_LINE_BITS = 5, RACE_LINE = 1 << RACE_LINE_BITS };
enum race_shape {
    RACE_EMPTY, /* no records */
    RACE_CELLS, /* a record for each cell */
    RACE_ROW,   /* the first cell's alone, plus log2 of the cells of a thread, which is a row's */
};
struct race_line {
    uint64_t writes[RACE_LINE], reads[RACE_LINE]; /* of shape RACE_CELLS; else not set */
    /* Where the block's has_uniform says so: all lanes of a SIMD-group have loaded each of these
     * cells, besides what `reads` or a row says. Of threadgroup memory only. */
    uint64_t uniform;
    uint32_t uniform_cells; /* bits */
};
/* What a lock covers. */
enum { RACE_BLOCK_BITS = 9, RACE_BLOCK = 1 << RACE_BLOCK_BITS };
enum { RACE_BLOCK_LINES = RACE_BLOCK / RACE_LINE };
struct race_block {
    _Atomic(bool) is_held;
    uint16_t has_uniform; /* by line, bits */
    uint32_t generation;  /* the dispatch that the records are of; others count as none */
    uint8_t write_shape[RACE_BLOCK_LINES], read_shape[RACE_BLOCK_LINES];
    uint64_t write_row[RACE_BLOCK_LINES], read_row[RACE_BLOCK_LINES];
};
struct race_shadow {
    uint64_t start, bytes; /* of the memory that it is of */
    unsigned shift;        /* a cell is 1 << shift bytes */
    bool is_written;       /* by anything in the kernel */
    bool is_shared;        /* between threads: blocks are locked */
    atomic_bool is_mapped; /* what follows is set */
    uint32_t generation;
    struct race_block *blocks;
    uint16_t *values; /* by cell, of the last store, mixed; set where there is a record of it */
    struct race_line *lines;
    struct ig_spare_memory mapped; /* memory NULL: none */
};
/* No records; false: no memory. Memory comes from dispatches before, and goes to later ones: fresh
 * pages cost more than the checks. */
bool race_shadow_map(struct ig_sanitizer *sanitizer, struct race_shadow *shadow);
/* Is there a shadow? Memory that is written gets it when it is first accessed. */
bool race_shadow_is_there(struct race_dispatch *race, struct race_shadow *shadow);
void race_shadow_unmap(struct ig_sanitizer *sanitizer, struct race_shadow *shadow);

/* ---- what fences order (race_order.c) ---- */

/* Of one thread, in kernels with fences; by space. Times count releases of a dispatch. */
struct race_thread {
    uint32_t clock[RACE_SPACES]; /* fences with release so far */
    struct race_released {
        bool is_set;
        uint32_t scope, clock, epoch, turn; /* when the last such fence was */
    } released[RACE_SPACES];
    uint64_t seen; /* the last release that its atomics read from */
    /* The last release that is known to have happened before: to be relied upon by accesses of
     * its own threadgroup, and of others. */
    uint64_t known[RACE_SPACES], known_device[RACE_SPACES];
};
struct race_release; /* race_order.c */
struct race_order {
    pthread_mutex_t lock;
    uint64_t time;
    struct race_release *releases; /* in the order of their times, from 1 on */
    size_t count, capacity;
    uint32_t *last_of_group; /* 1 + the index of a threadgroup's last release; by group & mask */
    struct race_location {   /* an atomic that was stored to behind a release; open addressing */
        uint64_t address, time;
    } *locations;
    size_t location_count, location_capacity;
    bool is_full; /* no memory: everything counts as ordered */
};

/* ---- a dispatch, and a threadgroup on a thread ---- */

/* What is known of a place before it comes by (race_quick.c). */
struct race_quick {
    uint64_t place;                       /* its number, as it stands in a record */
    _Atomic(struct race_shadow *) shadow; /* of an argument, or the last one; NULL: none */
    uint32_t bytes, cells;                /* of a lane; 0 cells: there is no quick way */
    unsigned lines_shift;                 /* log2 of the lines of all lanes, if is_even */
    enum race_space space;
    bool is_store, is_argument, is_even, has_no_value;
};

struct race_dispatch {
    struct ig_sanitized *sanitized;
    struct race_layout layout;
    struct race_masks masks;
    uint64_t group_count;
    unsigned threadgroup_shift, device_shift;
    struct race_quick *quick; /* by place */
    bool has_fences, reports_same_value;
    struct race_shadow *shadows; /* of device memory, in order of addresses */
    size_t shadow_count;
    struct race_shadow **by_slot;
    uint8_t *watched; /* by slot */
    struct race_order order;
    pthread_mutex_t lock; /* of the list */
    struct race_group *groups;
};
struct race_group {
    struct race_group *next;
    const struct ingot_cpu_group *group; /* whose it is */
    uint64_t id;
    /* Barriers that a SIMD-group has passed: of the threadgroup, and since then of its own. */
    uint32_t epoch[RACE_SPACES][INGOT_SIMD_WIDTH], turn[RACE_SPACES][INGOT_SIMD_WIDTH];
    /* What its lane 0 leaves now, without the place; 0: there is no quick way. */
    uint64_t record[RACE_SPACES][INGOT_SIMD_WIDTH];
    struct race_shadow shadow;   /* of threadgroup memory */
    struct race_thread *threads; /* by index; in kernels with fences */
    uint64_t known[RACE_SPACES], known_device[RACE_SPACES];
    bool has_fenced[RACE_SPACES][INGOT_SIMD_WIDTH]; /* a SIMD-group, since its last barrier */
};

bool race_quick_open(struct race_dispatch *race);
/* After a barrier, and at the start. */
void race_quick_set(const struct race_dispatch *race, struct race_group *own, enum race_space space,
                    uint32_t simdgroup);

bool race_order_open(struct race_dispatch *race);
void race_order_close(struct race_dispatch *race);
/* A barrier or a fence. */
void race_tell_order(struct race_dispatch *race, struct race_group *own,
                     const struct ig_check *check);
/* An atomic: before it, if it may write; and behind it, if it read. */
void race_publish(struct race_dispatch *race, struct race_group *own, uint32_t thread,
                  uint64_t address);
void race_see(struct race_dispatch *race, struct race_group *own, uint32_t thread,
              uint64_t address);
/* Did fences order the access of the record before `thread`? */
bool race_is_released(struct race_dispatch *race, const struct race_group *own,
                      enum race_space space, uint64_t record, uint32_t thread);

#endif
