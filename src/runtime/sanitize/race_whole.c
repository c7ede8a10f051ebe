/*
 * race: the usual access, in few steps. All lanes of a SIMD-group access whole lines of one block,
 * one behind the other, and what the lines have had before is ordered: nothing, the same threads,
 * or what is behind a barrier. Everything else is left to race_rows.c.
 */
#include "runtime/sanitize/race_fast.h"
#include "runtime/sanitize/race_visit.h"

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

static bool all_are_before(const struct whole *whole) {
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

static void leave(const struct whole *whole, bool is_store) {
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

bool race_visit_whole(const struct race_visit *visit, uint64_t base, const uint64_t *values) {
    struct race_shadow *shadow = visit->shadow;
    const uint32_t size = visit->place->bytes, lines = size >> shadow->shift;
    const uint64_t offset = base - shadow->start;
    const uint64_t line = offset >> shadow->shift >> RACE_LINE_BITS;
    struct whole whole = {.masks = &visit->race->masks,
                          .block = &shadow->blocks[line / RACE_BLOCK_LINES],
                          .first = (unsigned)(line % RACE_BLOCK_LINES),
                          .lines = lines,
                          .is_threadgroup = visit->space == RACE_THREADGROUP};
    if (!lines || lines & (lines - 1) || whole.first + lines > RACE_BLOCK_LINES ||
        offset & (((uint64_t)RACE_LINE << shadow->shift) - 1) || offset >= shadow->bytes ||
        (uint64_t)INGOT_SIMD_WIDTH * size > shadow->bytes - offset || visit->is_ordered ||
        visit->is_ordered_here || visit->own->threads) {
        return false;
    }
    const bool is_store = visit->detail & INGOT_CPU_RACE_WRITES;
    const unsigned shift = (unsigned)__builtin_ctz(lines);
    whole.shape = (uint8_t)(RACE_ROW + shift);
    whole.mine = visit->common | (uint64_t)(visit->simdgroup * INGOT_SIMD_WIDTH)
                                     << visit->race->layout.thread;
    whole.step = whole.masks->step * (INGOT_SIMD_WIDTH >> shift);
    if (shadow->is_shared) {
        race_lock_block(shadow, line / RACE_BLOCK_LINES);
    }
    if (is_store && whole.block->has_uniform) {
        for (uint32_t i = 0; i < lines; i++) {
            race_settle(visit, line + i);
        }
    }
    const bool is_good = all_are_before(&whole);
    if (is_good) {
        leave(&whole, is_store);
        if (is_store) {
            race_keep_values(visit, shadow->values + line * RACE_LINE, values, shift);
        }
    }
    if (shadow->is_shared) {
        race_unlock_block(shadow, line / RACE_BLOCK_LINES);
    }
    return is_good;
}
