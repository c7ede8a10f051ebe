/*
 * race: the usual accesses, in few steps. All lanes of a SIMD-group access whole lines of one
 * block, one behind the other; or they all load the same place of threadgroup memory. What was
 * there before is ordered: nothing, the same threads, or what is behind a barrier. Everything else
 * is left to race.c. What can be known of a place is found out when the dispatch begins.
 */
#include <stdlib.h>

#include "runtime/sanitize/race_fast.h"
#include "runtime/sanitize/race_visit.h"

/* ---- what is known before ---- */

static void set_quick(const struct race_dispatch *race, uint32_t number, struct race_quick *quick) {
    const struct ingot_cpu_place *place = &race->sanitized->places->items[number];
    const uint32_t accesses = INGOT_CPU_RACE_READS | INGOT_CPU_RACE_WRITES;
    const bool is_device = place->space == INGOT_SPACE_DEVICE;
    const unsigned shift = is_device ? race->device_shift : race->threadgroup_shift;
    const uint32_t cells = place->bytes >> shift;
    quick->space = is_device ? RACE_DEVICE : RACE_THREADGROUP;
    if (place->kind != IG_SANITIZE_race || !(place->detail & accesses) ||
        place->detail & (INGOT_CPU_RACE_ATOMIC | INGOT_CPU_RACE_SEEN) || !cells ||
        cells << shift != place->bytes || cells > RACE_LINE) {
        return;
    }
    quick->cells = cells;
    quick->bytes = place->bytes;
    quick->is_store = place->detail & INGOT_CPU_RACE_WRITES;
    quick->has_no_value = place->detail & INGOT_CPU_RACE_NO_VALUE;
    quick->place =
        number + 1 <= race->layout.place_mask ? (uint64_t)(number + 1) << RACE_PLACE_BIT : 0;
    quick->lines_shift = (unsigned)__builtin_ctz(cells);
    quick->is_even = !(cells & (cells - 1)) && cells <= RACE_BLOCK_LINES;
    atomic_init(&quick->shadow,
                is_device && place->slot != INGOT_CPU_NO_SLOT ? race->by_slot[place->slot] : NULL);
    quick->is_argument = is_device && place->slot != INGOT_CPU_NO_SLOT;
}

bool race_quick_open(struct race_dispatch *race) {
    const uint64_t count = race->sanitized->places->count;
    race->quick = calloc((size_t)count + 1, sizeof *race->quick);
    for (uint32_t i = 0; race->quick && i < count; i++) {
        set_quick(race, i, &race->quick[i]);
    }
    return race->quick != NULL;
}

void race_quick_set(const struct race_dispatch *race, struct race_group *own, enum race_space space,
                    uint32_t simdgroup) {
    const struct race_layout *layout = &race->layout;
    const uint32_t epoch = own->epoch[space][simdgroup], turn = own->turn[space][simdgroup];
    const bool is_exact =
        epoch < layout->epoch_mask && (!layout->turn_mask || turn < layout->turn_mask);
    own->record[space][simdgroup] =
        own->threads || !is_exact
            ? 0
            : (own->id & layout->group_mask) << layout->group | (uint64_t)epoch << layout->epoch |
                  (uint64_t)turn << layout->turn |
                  (uint64_t)(simdgroup * INGOT_SIMD_WIDTH) << layout->thread | 1;
}

/* ---- lanes one behind the other ---- */

struct whole {
    const struct race_masks *masks;
    struct race_block *block;
    unsigned first, lines; /* in the block */
    uint64_t mine, step;   /* the record of the first line, and how far to the next one's */
    uint8_t shape;
    bool is_threadgroup;
};

/* May lanes follow those of a row? False: it takes more to say. `apart` is where records differ. */
static inline bool is_before(const struct whole *whole, uint8_t shape, uint64_t row,
                             uint64_t apart) {
    const struct race_masks *masks = whole->masks;
    const enum race_many many = race_many_of(row);
    if (shape == RACE_EMPTY) {
        return true;
    }
    if (shape == RACE_CELLS || many == RACE_GROUPS) {
        return false;
    }
    if (apart & masks->group) {
        return whole->is_threadgroup;
    }
    if (apart & masks->epoch) {
        return true;
    }
    if (!(apart & masks->simdgroup) && apart & masks->turn) {
        return many != RACE_SIMDGROUPS;
    }
    return shape == whole->shape && !(apart & masks->thread) && many == RACE_ONE;
}

static inline bool all_are_before(const struct whole *whole) {
    const struct race_block *block = whole->block;
    uint64_t mine = whole->mine;
    for (unsigned i = whole->first; i < whole->first + whole->lines; i++, mine += whole->step) {
        const uint64_t write = block->write_row[i], read = block->read_row[i];
        if (!is_before(whole, block->write_shape[i], write, write ^ mine) ||
            !is_before(whole, block->read_shape[i], read, read ^ mine)) {
            return false;
        }
    }
    return true;
}

static inline void leave(const struct whole *whole, bool is_store) {
    struct race_block *block = whole->block;
    uint64_t mine = whole->mine;
    for (unsigned i = whole->first; i < whole->first + whole->lines; i++, mine += whole->step) {
        if (is_store) {
            block->write_shape[i] = whole->shape;
            block->write_row[i] = mine;
            block->read_shape[i] = RACE_EMPTY;
        } else {
            block->read_shape[i] = whole->shape;
            block->read_row[i] = mine;
        }
    }
}

/* Are records of this threadgroup, or of an earlier one, of the present epoch? */
static inline bool is_now(const struct race_masks *masks, uint64_t apart) {
    return !(apart & (masks->group | masks->epoch));
}

/* Forgets loads of one place that a barrier has ordered; false: there are others. */
static bool forget_uniform(const struct race_shadow *shadow, const struct whole *whole,
                           uint64_t line) {
    for (unsigned i = 0; i < whole->lines; i++) {
        const uint16_t bit = (uint16_t)(1u << (whole->first + i));
        if (!(whole->block->has_uniform & bit)) {
            continue;
        }
        if (is_now(whole->masks, shadow->lines[line + i].uniform ^ whole->mine)) {
            return false;
        }
        whole->block->has_uniform &= (uint16_t)~bit;
    }
    return true;
}

static void keep_values(const struct race_quick *quick, const struct race_visit *visit,
                        uint64_t line, const uint64_t *values) {
    uint16_t *to = visit->shadow->values + line * RACE_LINE;
    if (quick->cells == 1 && values && !quick->has_no_value) {
        race_fast_mix_all(values, to);
    } else {
        race_keep_values(visit, to, values, quick->lines_shift);
    }
}

static bool visit_whole(const struct race_quick *quick, const struct race_visit *visit,
                        uint64_t mine, uint64_t base, const uint64_t *values) {
    struct race_shadow *shadow = visit->shadow;
    const unsigned lines = 1u << quick->lines_shift;
    const uint64_t offset = base - shadow->start;
    const uint64_t line = offset >> shadow->shift >> RACE_LINE_BITS;
    struct whole whole = {.masks = &visit->race->masks,
                          .block = &shadow->blocks[line / RACE_BLOCK_LINES],
                          .first = (unsigned)(line % RACE_BLOCK_LINES),
                          .lines = lines,
                          .mine = mine,
                          .step = visit->race->masks.step << (5 - quick->lines_shift),
                          .shape = (uint8_t)(RACE_ROW + quick->lines_shift),
                          .is_threadgroup = quick->space == RACE_THREADGROUP};
    if (whole.first + lines > RACE_BLOCK_LINES ||
        offset & (((uint64_t)RACE_LINE << shadow->shift) - 1) || offset >= shadow->bytes ||
        (uint64_t)INGOT_SIMD_WIDTH * quick->bytes > shadow->bytes - offset) {
        return false;
    }
    if (shadow->is_shared) {
        race_lock_block(shadow, line / RACE_BLOCK_LINES);
    }
    const bool is_good =
        (!quick->is_store || !whole.block->has_uniform || forget_uniform(shadow, &whole, line)) &&
        all_are_before(&whole);
    if (is_good) {
        leave(&whole, quick->is_store);
        if (quick->is_store) {
            keep_values(quick, visit, line, values);
        }
    }
    if (shadow->is_shared) {
        race_unlock_block(shadow, line / RACE_BLOCK_LINES);
    }
    return is_good;
}

/* ---- loads of one place of threadgroup memory by all lanes ---- */

/* Are the stores to these cells of a line ordered before all lanes? */
static bool stores_are_past(const struct race_visit *visit, uint64_t mine, uint64_t cell,
                            uint32_t count) {
    const struct race_block *block = &visit->shadow->blocks[cell >> RACE_BLOCK_BITS];
    const struct race_masks *masks = &visit->race->masks;
    const size_t line = cell / RACE_LINE % RACE_BLOCK_LINES;
    const uint8_t shape = block->write_shape[line];
    const uint64_t *records = &visit->shadow->lines[cell / RACE_LINE].writes[cell % RACE_LINE];
    bool is_good = true;
    if (shape == RACE_EMPTY) {
        return true;
    }
    for (uint32_t i = 0; i < (shape == RACE_CELLS ? count : 1) && is_good; i++) {
        const uint64_t record = shape == RACE_CELLS ? records[i] : block->write_row[line];
        const uint64_t apart = record ^ mine;
        is_good = !record || !is_now(masks, apart) ||
                  (!(apart & masks->simdgroup) && apart & masks->turn);
    }
    return is_good;
}

static bool visit_uniform(const struct race_quick *quick, const struct race_visit *visit,
                          uint64_t mine, uint64_t address) {
    const struct race_shadow *shadow = visit->shadow;
    const struct race_layout *layout = &visit->race->layout;
    const struct race_masks *masks = &visit->race->masks;
    const uint64_t offset = address - shadow->start, cell = offset >> shadow->shift;
    const uint32_t at = cell % RACE_LINE;
    if (at + quick->cells > RACE_LINE || offset & ((UINT64_C(1) << shadow->shift) - 1) ||
        offset >= shadow->bytes || quick->bytes > shadow->bytes - offset) {
        return false;
    }
    struct race_block *block = &shadow->blocks[cell >> RACE_BLOCK_BITS];
    struct race_line *line = &shadow->lines[cell / RACE_LINE];
    const uint16_t bit = (uint16_t)(1u << cell / RACE_LINE % RACE_BLOCK_LINES);
    const uint32_t cells = (uint32_t)(((UINT64_C(1) << quick->cells) - 1) << at);
    const uint64_t same = masks->group | masks->epoch | masks->turn | masks->thread;
    const bool is_set = block->has_uniform & bit;
    const bool is_same = is_set && !((line->uniform ^ mine) & same);
    if (is_same && (line->uniform_cells & cells) == cells) {
        return true; /* a store would have cleared it */
    }
    if (!stores_are_past(visit, mine, cell, quick->cells) ||
        (is_set && !is_same && is_now(masks, line->uniform ^ mine))) {
        return false;
    }
    if (is_same) {
        line->uniform_cells |= cells;
        return true;
    }
    const uint64_t last = race_thread_of(layout, mine) + INGOT_SIMD_WIDTH - 1;
    block->has_uniform |= bit;
    line->uniform = mine | (uint64_t)RACE_SIMDGROUP << 1 | last << layout->second;
    line->uniform_cells = cells;
    return true;
}

/* ---- both ---- */

/* The memory that an address is in; NULL: none that has a shadow. */
static struct race_shadow *shadow_at(struct race_dispatch *race, struct race_quick *quick,
                                     uint64_t address) {
    struct race_shadow *shadow = atomic_load_explicit(&quick->shadow, memory_order_acquire);
    if (quick->is_argument || (shadow && address - shadow->start < shadow->bytes)) {
        return shadow;
    }
    shadow = race_find_shadow(race, address);
    if (!shadow || !race_shadow_is_there(race, shadow)) {
        return NULL;
    }
    atomic_store_explicit(&quick->shadow, shadow, memory_order_release);
    return shadow;
}

bool race_visit_quick(const struct ingot_cpu_group *group, struct race_dispatch *race,
                      uint32_t simdgroup, uint32_t place, uint64_t base, int64_t stride,
                      const uint64_t *values) {
    struct race_quick *quick = &race->quick[place];
    struct race_group *own = group->race;
    const uint64_t record = own->record[quick->space][simdgroup];
    const bool is_whole = quick->is_even && stride == (int64_t)quick->bytes;
    const bool is_uniform = !stride && !quick->is_store && quick->cells;
    if (!record || !(is_whole || (is_uniform && quick->space == RACE_THREADGROUP))) {
        return false;
    }
    const struct race_visit visit = {
        .race = race,
        .shadow = quick->space == RACE_THREADGROUP ? &own->shadow : shadow_at(race, quick, base),
        .place = &race->sanitized->places->items[place],
        .detail = race->sanitized->places->items[place].detail};
    if (!visit.shadow) {
        return false;
    }
    return is_whole ? visit_whole(quick, &visit, record | quick->place, base, values)
                    : visit_uniform(quick, &visit, record | quick->place, base);
}
