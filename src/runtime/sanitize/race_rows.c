/*
 * race: lanes one after the other access cells one after the other. A line that is covered whole
 * keeps one record for all its cells (RACE_ROW); the others have one for each. What is not ordered
 * is left to race_cells.c, which reports it.
 */
#include <string.h>

#include "runtime/sanitize/race_fast.h"
#include "runtime/sanitize/race_visit.h"

/* The part of a run that is in one line. */
struct part {
    const struct race_visit *visit;
    const struct race_run *run;
    struct race_block *block;
    uint64_t line;
    unsigned in_block; /* the line's number there */
    unsigned from;     /* the first cell in the line */
    struct race_fast fast;
    uint8_t shape;   /* that its records have as a row */
    uint64_t record; /* of the first cell */
    bool is_full;    /* the line's records become a row */
};

static uint32_t lane_at(const struct race_run *run, uint64_t at) {
    return run->lane + (uint32_t)(at >> run->shift);
}

/* Whom to compare a row's threads with: each cell's is the part's own, or none of them is. */
static uint32_t thread_for(const struct part *part, uint8_t shape, uint64_t row) {
    const struct race_layout *layout = &part->visit->race->layout;
    unsigned shift = part->run->shift, within = (1u << shift) - 1;
    uint32_t thread = race_thread_of(layout, row);
    bool is_own = shape == part->shape && !((part->from ^ part->fast.at) & within) &&
                  thread + (part->from >> shift) == race_thread_of(layout, part->record);
    return is_own ? thread : RACE_NO_THREAD;
}

static bool stores_are_before(const struct part *part) {
    uint8_t shape = part->block->write_shape[part->in_block];
    uint64_t row = part->block->write_row[part->in_block];
    if (shape == RACE_CELLS) {
        const struct race_line *line = &part->visit->shadow->lines[part->line];
        return race_fast_stores_before(&part->fast, line->writes + part->from);
    }
    return shape == RACE_EMPTY || race_is_before(part->visit, row, thread_for(part, shape, row));
}

static bool loads_are_before(const struct part *part) {
    uint8_t shape = part->block->read_shape[part->in_block];
    uint64_t row = part->block->read_row[part->in_block];
    if (shape == RACE_CELLS) {
        const struct race_line *line = &part->visit->shadow->lines[part->line];
        return race_fast_loads_before(&part->fast, line->reads + part->from);
    }
    return shape == RACE_EMPTY ||
           race_unordered_reader(part->visit, row, thread_for(part, shape, row)) == RACE_NO_THREAD;
}

/* ---- stores ---- */

/* As race_value_in_cell makes them, four cells at a time. */
static void keep_wide_values(const uint64_t *stored, uint32_t count, unsigned shift,
                             uint16_t *values) {
    const uint64_t each = UINT64_C(0x0001000100010001), four = UINT64_C(0x0006000400020000);
    for (uint32_t i = 0; i < count; i += 4) {
        uint64_t index = i & ((1u << shift) - 1), base = race_mixed(stored[i >> shift]);
        uint64_t mixed = ((base * each) ^ four ^ (index << 1) * each) | each;
        for (unsigned k = 0; k < 4; k++) {
            values[i + k] = (uint16_t)(mixed >> 16 * k);
        }
    }
}

/* So many cells, from the first one of a lane on; false: not of this form. */
static bool keep_even_values(const struct race_visit *visit, uint16_t *to, const uint64_t *values,
                             unsigned shift, unsigned cells) {
    const uint32_t size = visit->place->bytes, cell = visit->shadow->shift;
    const unsigned lanes = cells >> shift;
    if (!shift) {
        race_fast_mix(values, cells, to);
    } else if (cells & ((4u << shift) - 1)) {
        return false;
    } else if (shift == 1 && cell && size <= 8) {
        race_fast_mix_pairs(values, lanes, 8u << cell, to);
    } else if (shift == 2 && size == 8) {
        race_fast_mix_fours(values, lanes, to);
    } else if (shift == 2 && size > 8) {
        race_fast_mix_wide(values, lanes, to);
    } else if (shift > 2 && size > 8) {
        keep_wide_values(values, cells, shift, to);
    } else {
        return false;
    }
    return true;
}

void race_keep_values(const struct race_visit *visit, uint16_t *to, const uint64_t *values,
                      unsigned shift) {
    const unsigned cells = INGOT_SIMD_WIDTH << shift;
    if (visit->detail & INGOT_CPU_RACE_NO_VALUE || !values) {
        memset(to, 0, cells * sizeof *to);
    } else if (!keep_even_values(visit, to, values, shift, cells)) {
        for (uint32_t i = 0; i < cells; i++) {
            to[i] = race_value_in_cell(visit, values[i >> shift], i & ((1u << shift) - 1),
                                       visit->place->bytes);
        }
    }
}

static void keep_values(const struct part *part) {
    const struct race_run *run = part->run;
    const uint64_t first = part->fast.at, within = (UINT64_C(1) << run->shift) - 1;
    uint16_t *values = part->visit->shadow->values + run->cell + first;
    uint32_t size = part->visit->place->bytes, count = part->fast.count;
    if (part->visit->detail & INGOT_CPU_RACE_NO_VALUE || !run->values) {
        memset(values, 0, count * sizeof *values);
    } else if (first & within ||
               !keep_even_values(part->visit, values, run->values + lane_at(run, first), run->shift,
                                 count)) {
        for (uint32_t i = 0; i < count; i++) {
            uint64_t value = run->values[lane_at(run, first + i)];
            values[i] = race_value_in_cell(part->visit, value, (first + i) & within, size);
        }
    }
}

static bool store(const struct part *part) {
    struct race_block *block = part->block;
    struct race_line *line = &part->visit->shadow->lines[part->line];
    const unsigned at = part->in_block;
    if (!stores_are_before(part) || !loads_are_before(part)) {
        return false;
    }
    if (part->is_full) {
        block->write_shape[at] = part->shape;
        block->write_row[at] = part->record;
        block->read_shape[at] = RACE_EMPTY;
    } else {
        race_spread_writes(part->visit, part->line);
        race_fast_leave(&part->fast, line->writes + part->from);
        if (block->read_shape[at] != RACE_EMPTY) {
            race_spread_reads(part->visit, part->line);
            memset(line->reads + part->from, 0, part->fast.count * sizeof *line->reads);
        }
    }
    keep_values(part);
    return true;
}

/* ---- loads ---- */

/* The line's loads were a row, or none: can they be one again? */
static bool load_row(const struct part *part) {
    struct race_block *block = part->block;
    uint8_t *shape = &block->read_shape[part->in_block];
    uint64_t *row = &block->read_row[part->in_block];
    if (*shape >= RACE_ROW && !part->is_full) { /* again what these threads have loaded before? */
        return race_many_of(*row) == RACE_ONE &&
               *row >> part->visit->race->layout.epoch == part->visit->key &&
               thread_for(part, *shape, *row) != RACE_NO_THREAD;
    }
    if (!part->is_full) {
        return false;
    }
    if (*shape == RACE_EMPTY || (*shape != part->shape && loads_are_before(part))) {
        *row = part->record;
        *shape = part->shape;
        return true;
    }
    if (*shape == part->shape) {
        *row = race_join_reader(part->visit, *row, part->record);
        return true;
    }
    return false;
}

static bool load(const struct part *part) {
    struct race_block *block = part->block;
    const unsigned at = part->in_block;
    uint64_t *reads = part->visit->shadow->lines[part->line].reads + part->from;
    if (!stores_are_before(part)) {
        return false;
    }
    if (block->read_shape[at] != RACE_CELLS && load_row(part)) {
        return true;
    }
    race_spread_reads(part->visit, part->line);
    if (part->is_full && race_fast_loads_before(&part->fast, reads)) {
        block->read_row[at] = part->record;
        block->read_shape[at] = part->shape;
        return true;
    }
    return race_fast_join(&part->fast, reads);
}

/* ---- runs ---- */

static void visit_cells(const struct part *part) {
    const struct race_run *run = part->run;
    const uint64_t first = part->fast.at, within = (UINT64_C(1) << run->shift) - 1;
    uint32_t size = part->visit->place->bytes;
    for (uint64_t at = first; at < first + part->fast.count; at++) {
        uint32_t lane = lane_at(run, at);
        if (part->visit->detail & INGOT_CPU_RACE_WRITES) {
            uint64_t value = run->values ? run->values[lane] : 0;
            race_store_cell(part->visit, lane, run->cell + at,
                            race_value_in_cell(part->visit, value, at & within, size));
        } else {
            race_load_cell(part->visit, lane, run->cell + at);
        }
    }
}

void race_visit_run(const struct race_visit *visit, const struct race_run *run) {
    struct race_shadow *shadow = visit->shadow;
    const uint64_t within = (UINT64_C(1) << run->shift) - 1;
    uint64_t held = UINT64_MAX;
    struct part part; /* its line is set for each */
    part.visit = visit;
    part.run = run;
    part.shape = (uint8_t)(RACE_ROW + run->shift);
    part.fast.mine = race_own_record(visit, visit->simdgroup * INGOT_SIMD_WIDTH + run->lane);
    part.fast.masks = &visit->race->masks;
    part.fast.is_threadgroup = visit->space == RACE_THREADGROUP;
    part.fast.shift = run->shift;
    for (uint64_t at = 0; at < run->count; at += part.fast.count) {
        uint64_t cell = run->cell + at, number = cell >> RACE_BLOCK_BITS, left = run->count - at;
        part.line = cell / RACE_LINE;
        part.in_block = (unsigned)(part.line % RACE_BLOCK_LINES);
        part.from = (unsigned)(cell % RACE_LINE);
        part.block = &shadow->blocks[number];
        part.fast.at = at;
        part.fast.count = left < RACE_LINE - part.from ? (unsigned)left : RACE_LINE - part.from;
        part.record = part.fast.mine + (at >> run->shift) * part.fast.masks->step;
        part.is_full = part.fast.count == RACE_LINE && !(at & within);
        if (shadow->is_shared && number != held) {
            if (held != UINT64_MAX) {
                race_unlock_block(shadow, held);
            }
            held = number;
            race_lock_block(shadow, held);
        }
        if (visit->detail & INGOT_CPU_RACE_WRITES) {
            race_settle(visit, part.line);
        }
        if (!(visit->detail & INGOT_CPU_RACE_WRITES ? store(&part) : load(&part))) {
            visit_cells(&part);
        }
    }
    if (held != UINT64_MAX) {
        race_unlock_block(shadow, held);
    }
}
