/*
 * race: one cell of one lane. It looks at the records of the cell and leaves its own. A record that
 * is not ordered before it is a race, unless both are atomics, or both store the same value.
 */
#include <string.h>

#include "runtime/sanitize/race_visit.h"

/* Instead of a thread: one of a threadgroup that is not known. */
#define ANOTHER_GROUP (RACE_NO_THREAD - 1)

/* ---- the other side ---- */

static void position_in(const uint32_t size[3], uint64_t index, uint32_t position[3]) {
    position[0] = (uint32_t)(index % size[0]);
    position[1] = (uint32_t)(index / size[0] % size[1]);
    position[2] = (uint32_t)(index / size[0] / size[1]);
}

static void name_other(const struct race_visit *visit, uint64_t record, uint32_t thread,
                       struct ig_lane_finding *finding) {
    const struct race_layout *layout = &visit->race->layout;
    const struct ingot_cpu_places *places = visit->race->sanitized->places;
    uint32_t place = (uint32_t)(record >> RACE_PLACE_BIT) & layout->place_mask;
    uint64_t group = record >> layout->group & layout->group_mask;
    uint32_t size[3];
    finding->other = place && place <= places->count ? &places->items[place - 1] : NULL;
    if (thread == ANOTHER_GROUP) {
        memset(finding->other_threadgroup, 0xff, sizeof finding->other_threadgroup);
        memset(finding->other_thread, 0xff, sizeof finding->other_thread);
        return;
    }
    position_in(visit->group->groups_per_grid, group, finding->other_threadgroup);
    for (int axis = 0; axis < 3; axis++) {
        uint32_t full = visit->group->full_group_size[axis];
        uint32_t rest =
            visit->group->threads_per_grid[axis] - finding->other_threadgroup[axis] * full;
        size[axis] = rest < full && rest ? rest : full;
    }
    position_in(size, thread, finding->other_thread);
}

static void report(const struct race_visit *visit, uint32_t lane, uint64_t cell, uint64_t record,
                   uint32_t thread) {
    struct ig_check check = {.group = visit->group,
                             .dispatch = visit->race->sanitized,
                             .simdgroup = visit->simdgroup,
                             .mask = 1u << lane,
                             .number = visit->number,
                             .place = visit->place};
    struct ig_lane_finding finding = {.lane = lane, .has_other = true};
    const uint64_t address = visit->shadow->start + (cell << visit->shadow->shift);
    uint64_t from = visit->shadow->start;
    if (visit->place->slot != INGOT_CPU_NO_SLOT && visit->space == RACE_DEVICE) {
        from = (uintptr_t)visit->race->sanitized->buffers[visit->place->slot];
    }
    if (visit->space == RACE_DEVICE) {
        finding.has_offset = visit->place->slot != INGOT_CPU_NO_SLOT;
        finding.offset = (int64_t)(address - from);
    }
    name_other(visit, record, thread, &finding);
    ig_sanitize_found(&check, check.mask, &finding);
}

/* Does the store that left a record stand for a load as well? */
static bool has_loaded(const struct race_visit *visit, uint64_t record) {
    uint32_t place = (uint32_t)(record >> RACE_PLACE_BIT) & visit->race->layout.place_mask;
    return place && visit->race->sanitized->places->items[place - 1].detail & INGOT_CPU_RACE_READS;
}

static bool both_are_atomic(const struct race_visit *visit, uint64_t record) {
    const struct race_layout *layout = &visit->race->layout;
    uint32_t place = (uint32_t)(record >> RACE_PLACE_BIT) & layout->place_mask;
    return visit->detail & INGOT_CPU_RACE_ATOMIC && place &&
           visit->race->sanitized->places->items[place - 1].detail & INGOT_CPU_RACE_ATOMIC;
}

/* ---- is a record ordered before an access? ---- */

static bool is_fenced(const struct race_visit *visit, uint64_t record, uint32_t thread) {
    return visit->race->has_fences &&
           race_is_released(visit->race, visit->own, visit->space, record, thread);
}

/* The thread among those that a record of loads stands for which is not ordered before a store by
 * `thread`; RACE_NO_THREAD: they all are. */
uint32_t race_unordered_reader(const struct race_visit *visit, uint64_t record, uint32_t thread) {
    const struct race_layout *layout = &visit->race->layout;
    uint32_t first = race_thread_of(layout, record), second = race_second_of(layout, record);
    enum race_many many = race_many_of(record);
    if (many == RACE_GROUPS && !visit->race->has_fences) {
        bool is_own = record >> layout->group == visit->key >> (layout->group - layout->epoch);
        return is_own ? ANOTHER_GROUP : first;
    }
    if (many == RACE_ONE || many == RACE_GROUPS || record >> layout->epoch != visit->key) {
        return race_is_before(visit, record, thread) || is_fenced(visit, record, thread)
                   ? RACE_NO_THREAD
                   : first;
    }
    if (visit->is_ordered || is_fenced(visit, record, thread)) {
        return RACE_NO_THREAD;
    }
    if (many == RACE_SIMDGROUPS) {
        return first / INGOT_SIMD_WIDTH == visit->simdgroup ? second : first;
    }
    if (first / INGOT_SIMD_WIDTH == visit->simdgroup &&
        (visit->is_ordered_here || race_turn_of(layout, record) != visit->turn)) {
        return RACE_NO_THREAD;
    }
    return first == thread ? second : first;
}

/* ---- lines ---- */

/* The second thread that a record of loads names steps as the first one does. */
static void spread(const struct race_visit *visit, uint8_t shape, uint64_t row, uint64_t *records) {
    const struct race_layout *layout = &visit->race->layout;
    enum race_many many = race_many_of(row);
    uint64_t step = (uint64_t)1 << layout->thread;
    if (shape == RACE_CELLS) {
        return;
    }
    if (shape == RACE_EMPTY) {
        memset(records, 0, RACE_LINE * sizeof *records);
        return;
    }
    if (many == RACE_SIMDGROUP || many == RACE_SIMDGROUPS) {
        step |= (uint64_t)1 << layout->second;
    }
    for (unsigned i = 0; i < RACE_LINE; i++) {
        records[i] = row + (i >> (shape - RACE_ROW)) * step;
    }
}

/* One cell's record of a line of any shape. */
static uint64_t record_of(const struct race_visit *visit, uint8_t shape, uint64_t row,
                          const uint64_t *records, size_t at) {
    return shape == RACE_EMPTY   ? 0
           : shape == RACE_CELLS ? records[at]
                                 : row + (at >> (shape - RACE_ROW) << visit->race->layout.thread);
}

static uint64_t write_of(const struct race_visit *visit, uint64_t cell) {
    const struct race_block *block = &visit->shadow->blocks[cell >> RACE_BLOCK_BITS];
    const size_t line = cell / RACE_LINE % RACE_BLOCK_LINES;
    return record_of(visit, block->write_shape[line], block->write_row[line],
                     visit->shadow->lines[cell / RACE_LINE].writes, cell % RACE_LINE);
}

void race_spread_writes(const struct race_visit *visit, uint64_t line) {
    struct race_block *block = &visit->shadow->blocks[line / RACE_BLOCK_LINES];
    const size_t at = line % RACE_BLOCK_LINES;
    spread(visit, block->write_shape[at], block->write_row[at], visit->shadow->lines[line].writes);
    block->write_shape[at] = RACE_CELLS;
}

void race_spread_reads(const struct race_visit *visit, uint64_t line) {
    struct race_block *block = &visit->shadow->blocks[line / RACE_BLOCK_LINES];
    const size_t at = line % RACE_BLOCK_LINES;
    if (block->read_shape[at] == RACE_CELLS) {
        return;
    }
    spread(visit, block->read_shape[at], block->read_row[at], visit->shadow->lines[line].reads);
    block->read_shape[at] = RACE_CELLS;
}

/* ---- cells ---- */

static void look_at_store(const struct race_visit *visit, uint32_t lane, uint64_t cell,
                          uint64_t record, uint16_t value) {
    uint32_t thread = visit->simdgroup * INGOT_SIMD_WIDTH + lane;
    if (race_is_before(visit, record, thread) || both_are_atomic(visit, record)) {
        return;
    }
    bool is_same = visit->detail & INGOT_CPU_RACE_WRITES && value &&
                   visit->shadow->values[cell] == value && !visit->race->reports_same_value &&
                   !(visit->detail & INGOT_CPU_RACE_READS) && !has_loaded(visit, record);
    if (!is_same && !is_fenced(visit, record, thread)) {
        report(visit, lane, cell, record, race_thread_of(&visit->race->layout, record));
    }
}

static inline bool is_past(const struct race_visit *visit, uint64_t apart) {
    const struct race_masks *masks = &visit->race->masks;
    return visit->space == RACE_THREADGROUP ? (apart & (masks->group | masks->epoch)) != 0
                                            : !(apart & masks->group) && apart & masks->epoch;
}

/* Of the present epoch: of an earlier turn of the SIMD-group? */
static inline bool is_past_turn(const struct race_visit *visit, uint64_t apart) {
    const struct race_masks *masks = &visit->race->masks;
    return !(apart & (masks->group | masks->epoch | masks->simdgroup)) && apart & masks->turn;
}

/* A record that barriers order before, or of the thread that leaves `mine`. False also where it
 * takes more to say. */
static inline bool is_clear(const struct race_visit *visit, uint64_t record, uint64_t mine) {
    const struct race_masks *masks = &visit->race->masks;
    uint64_t apart = record ^ mine;
    return is_past(visit, apart) || !(apart & (masks->group | masks->epoch | masks->thread)) ||
           is_past_turn(visit, apart);
}

/* The same of loads. */
static inline bool are_clear(const struct race_visit *visit, uint64_t record, uint64_t mine) {
    switch (race_many_of(record)) {
    case RACE_ONE:
        return is_clear(visit, record, mine);
    case RACE_SIMDGROUP:
        return is_past(visit, record ^ mine) || is_past_turn(visit, record ^ mine);
    case RACE_SIMDGROUPS:
        return is_past(visit, record ^ mine);
    default:
        return false;
    }
}

void race_store_cell(const struct race_visit *visit, uint32_t lane, uint64_t cell, uint16_t value) {
    struct race_block *block = &visit->shadow->blocks[cell >> RACE_BLOCK_BITS];
    struct race_line *line = &visit->shadow->lines[cell / RACE_LINE];
    const size_t at = cell % RACE_LINE, in_block = cell / RACE_LINE % RACE_BLOCK_LINES;
    uint32_t thread = visit->simdgroup * INGOT_SIMD_WIDTH + lane;
    uint64_t mine = race_own_record(visit, thread);
    if (block->write_shape[in_block] != RACE_CELLS) {
        race_spread_writes(visit, cell / RACE_LINE);
    }
    if (line->writes[at] && !is_clear(visit, line->writes[at], mine)) {
        look_at_store(visit, lane, cell, line->writes[at], value);
    }
    if (block->read_shape[in_block] != RACE_EMPTY) {
        race_spread_reads(visit, cell / RACE_LINE);
        uint64_t read = line->reads[at];
        if (read && !are_clear(visit, read, mine)) {
            uint32_t other = race_unordered_reader(visit, read, thread);
            if (other != RACE_NO_THREAD && !both_are_atomic(visit, read)) {
                report(visit, lane, cell, read, other);
            }
        }
        line->reads[at] = 0;
    }
    line->writes[at] = mine;
    visit->shadow->values[cell] = value;
}

/* The record of loads when one more thread loads: the first one keeps its place, since who stores
 * has mostly loaded just before. */
uint64_t race_join_reader(const struct race_visit *visit, uint64_t old, uint64_t new) {
    const struct race_layout *layout = &visit->race->layout;
    uint32_t first = race_thread_of(layout, old), thread = race_thread_of(layout, new);
    bool same_simdgroup = first / INGOT_SIMD_WIDTH == thread / INGOT_SIMD_WIDTH;
    enum race_many many = race_many_of(old);
    if (old >> layout->group != new >> layout->group) {
        bool is_kept = old >> layout->group > new >> layout->group; /* it is mostly 0 that stores */
        return visit->space == RACE_THREADGROUP
                   ? new
                   : (is_kept ? old : new) | (uint64_t)RACE_GROUPS << 1;
    }
    if (old >> layout->epoch != visit->key || many == RACE_GROUPS) {
        return new | (uint64_t)(many == RACE_GROUPS ? RACE_GROUPS : RACE_ONE) << 1;
    }
    if (many == RACE_SIMDGROUPS) {
        return old;
    }
    if (same_simdgroup && race_turn_of(layout, old) != visit->turn) {
        return new;
    }
    if (same_simdgroup && (many == RACE_SIMDGROUP || first == thread)) {
        return old;
    }
    old &= ~((uint64_t)layout->thread_mask << layout->second | (uint64_t)3 << 1);
    return old | (uint64_t)thread << layout->second |
           (uint64_t)(same_simdgroup ? RACE_SIMDGROUP : RACE_SIMDGROUPS) << 1;
}

void race_load_cell(const struct race_visit *visit, uint32_t lane, uint64_t cell) {
    struct race_line *line = &visit->shadow->lines[cell / RACE_LINE];
    const size_t at = cell % RACE_LINE;
    uint64_t written = write_of(visit, cell);
    uint64_t mine = race_own_record(visit, visit->simdgroup * INGOT_SIMD_WIDTH + lane);
    bool is_atomic = visit->detail & INGOT_CPU_RACE_ATOMIC;
    if (written && !is_clear(visit, written, mine)) {
        look_at_store(visit, lane, cell, written, 0);
    }
    race_spread_reads(visit, cell / RACE_LINE);
    uint64_t old = line->reads[at];
    if (!old || (!is_atomic && are_clear(visit, old, mine))) {
        line->reads[at] = mine;
        return;
    }
    if (is_atomic && !both_are_atomic(visit, old) &&
        old >> visit->race->layout.epoch == visit->key) {
        return; /* a plain load conflicts with more */
    }
    line->reads[at] = !both_are_atomic(visit, old) ? race_join_reader(visit, old, mine) : mine;
}

/* ---- loads of one place by all lanes ---- */

/* A cell's loads and those of all lanes of a SIMD-group, both of this threadgroup or an earlier
 * one; `all` is of the present epoch. */
static uint64_t join_uniform(const struct race_visit *visit, uint64_t old, uint64_t all) {
    const struct race_layout *layout = &visit->race->layout;
    const struct race_masks *masks = &visit->race->masks;
    const uint64_t apart = old ^ all;
    if (!old || apart & (masks->group | masks->epoch)) {
        return all;
    }
    if (race_many_of(old) == RACE_SIMDGROUPS) {
        return old;
    }
    if (!(apart & masks->simdgroup)) {
        return race_turn_of(layout, old) > race_turn_of(layout, all) ? old : all;
    }
    old &= ~((uint64_t)layout->thread_mask << layout->second | (uint64_t)3 << 1);
    return old | (uint64_t)race_thread_of(layout, all) << layout->second |
           (uint64_t)RACE_SIMDGROUPS << 1;
}

void race_settle_line(const struct race_visit *visit, uint64_t line) {
    struct race_block *block = &visit->shadow->blocks[line / RACE_BLOCK_LINES];
    struct race_line *records = &visit->shadow->lines[line];
    block->has_uniform &= (uint16_t)~(1u << line % RACE_BLOCK_LINES);
    if (is_past(visit, records->uniform ^ visit->common)) {
        return;
    }
    race_spread_reads(visit, line);
    for (uint32_t rest = records->uniform_cells; rest; rest &= rest - 1) {
        uint64_t *read = &records->reads[__builtin_ctz(rest)];
        *read = join_uniform(visit, *read, records->uniform);
    }
}
