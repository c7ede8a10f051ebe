/*
 * race: lanes that lie apart from each other in threadgroup memory, in few steps: tiles, columns,
 * rows with gaps. As race_cells.c does it, one lane after the other, as far as what was there
 * before is ordered by barriers, or by the lane itself; from the first lane on of which that cannot
 * be said at once, race.c goes on.
 */
#include "runtime/sanitize/race_visit.h"

#define INLINED static inline __attribute__((always_inline))

/* What does not change from lane to lane: a copy, which no store to a record changes. */
struct apart {
    struct race_masks masks;
    struct race_line *lines;
    struct race_block *blocks;
    uint16_t *values;
    uint64_t start, bytes, within; /* a cell is within + 1 bytes */
    uint32_t size;                 /* of a lane */
    unsigned shift;
};

/* Is a record of an earlier threadgroup or epoch, or of an earlier turn of the SIMD-group? */
INLINED bool is_past(const struct race_masks *masks, uint64_t apart) {
    return apart & (masks->group | masks->epoch) ||
           (!(apart & masks->simdgroup) && apart & masks->turn);
}

INLINED bool is_clear(const struct race_masks *masks, uint64_t record, uint64_t mine) {
    const uint64_t apart = record ^ mine;
    return !record || is_past(masks, apart) ||
           !(apart & (masks->group | masks->epoch | masks->thread));
}

INLINED bool are_clear(const struct race_masks *masks, uint64_t record, uint64_t mine) {
    const uint64_t apart = record ^ mine;
    const enum race_many many = race_many_of(record);
    return many == RACE_ONE          ? is_clear(masks, record, mine)
           : many == RACE_SIMDGROUP  ? is_past(masks, apart)
           : many == RACE_SIMDGROUPS ? (apart & (masks->group | masks->epoch)) != 0
                                     : false;
}

INLINED bool load(const struct race_visit *visit, const struct apart *all, uint64_t cell,
                  uint64_t mine) {
    const size_t in_block = cell / RACE_LINE % RACE_BLOCK_LINES, at = cell % RACE_LINE;
    const struct race_block *block = &all->blocks[cell >> RACE_BLOCK_BITS];
    struct race_line *line = &all->lines[cell / RACE_LINE];
    const uint8_t shape = block->write_shape[in_block];
    if (shape != RACE_EMPTY) {
        const uint64_t write =
            shape == RACE_CELLS
                ? line->writes[at]
                : block->write_row[in_block] + (at >> (shape - RACE_ROW)) * all->masks.step;
        if (!is_clear(&all->masks, write, mine)) {
            return false;
        }
    }
    if (block->read_shape[in_block] != RACE_CELLS) {
        race_spread_reads(visit, cell / RACE_LINE);
    }
    if (!are_clear(&all->masks, line->reads[at], mine)) {
        return false;
    }
    line->reads[at] = mine;
    return true;
}

INLINED bool store(const struct race_visit *visit, const struct apart *all, uint64_t cell,
                   uint64_t mine, uint16_t value) {
    const size_t in_block = cell / RACE_LINE % RACE_BLOCK_LINES, at = cell % RACE_LINE;
    struct race_block *block = &all->blocks[cell >> RACE_BLOCK_BITS];
    struct race_line *line = &all->lines[cell / RACE_LINE];
    if (block->has_uniform >> in_block & 1) {
        return false;
    }
    if (block->write_shape[in_block] != RACE_CELLS) {
        race_spread_writes(visit, cell / RACE_LINE);
    }
    if (!is_clear(&all->masks, line->writes[at], mine)) {
        return false;
    }
    if (block->read_shape[in_block] != RACE_EMPTY) {
        if (block->read_shape[in_block] != RACE_CELLS) {
            race_spread_reads(visit, cell / RACE_LINE);
        }
        if (!are_clear(&all->masks, line->reads[at], mine)) {
            return false;
        }
        line->reads[at] = 0;
    }
    line->writes[at] = mine;
    all->values[cell] = value;
    return true;
}

/* The lanes that are left. Cells of the first of them may be done, and are done again by race.c. */
INLINED uint32_t visit_lanes(const struct race_visit *visit, const struct apart *all,
                             const struct race_lanes *lanes, uint64_t record, bool is_store,
                             uint32_t cells) {
    uint32_t rest = lanes->mask;
    for (; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest);
        const uint64_t offset = race_address_of(lanes, lane) - all->start,
                       cell = offset >> all->shift, mine = record + lane * all->masks.step;
        if (offset & all->within || offset >= all->bytes || all->size > all->bytes - offset) {
            return rest;
        }
        for (uint32_t i = 0; i < cells; i++) {
            const uint64_t value = is_store && lanes->values ? lanes->values[lane] : 0;
            if (is_store ? !store(visit, all, cell + i, mine,
                                  race_value_in_cell(visit, value, i, all->size))
                         : !load(visit, all, cell + i, mine)) {
                return rest;
            }
        }
    }
    return rest;
}

uint32_t race_visit_apart(const struct race_visit *visit, const struct race_lanes *lanes) {
    const struct race_quick *quick = &visit->race->quick[visit->number];
    const struct race_shadow *shadow = visit->shadow;
    const uint64_t record = visit->own->record[RACE_THREADGROUP][visit->simdgroup];
    const struct apart all = {.masks = visit->race->masks,
                              .lines = shadow->lines,
                              .blocks = shadow->blocks,
                              .values = shadow->values,
                              .start = shadow->start,
                              .bytes = shadow->bytes,
                              .within = (UINT64_C(1) << shadow->shift) - 1,
                              .size = quick->bytes,
                              .shift = shadow->shift};
    if (!record || !quick->cells || quick->space != RACE_THREADGROUP ||
        (!lanes->addresses && (!lanes->stride || lanes->stride == (int64_t)quick->bytes))) {
        return lanes->mask;
    }
    if (quick->is_store) {
        return visit_lanes(visit, &all, lanes, record | quick->place, true, quick->cells);
    }
    return quick->cells == 1
               ? visit_lanes(visit, &all, lanes, record | quick->place, false, 1)
               : visit_lanes(visit, &all, lanes, record | quick->place, false, quick->cells);
}
