/*
 * race: two threads, at least one storing, and no ordering between them.
 *
 * Each access of a lane looks at the records of its cells and leaves its own. A record that is not
 * ordered before it is a race, unless both are atomics, or both store the same value. Cells of
 * device memory are locked, block by block; those of threadgroup memory belong to one thread.
 */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "runtime/sanitize/race_fast.h"

/* One access, of up to 32 lanes. */
struct visit {
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
    bool is_ordered; /* the epoch is one that counts as ordered */
};

/* Instead of a thread: one of a threadgroup that is not known. */
#define ANOTHER_GROUP (UINT32_MAX - 1)

/* ---- the other side ---- */

static void position_in(const uint32_t size[3], uint64_t index, uint32_t position[3]) {
    position[0] = (uint32_t)(index % size[0]);
    position[1] = (uint32_t)(index / size[0] % size[1]);
    position[2] = (uint32_t)(index / size[0] / size[1]);
}

static void name_other(const struct visit *visit, uint64_t record, uint32_t thread,
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

static void report(const struct visit *visit, uint32_t lane, uint64_t cell, uint64_t record,
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

static bool both_are_atomic(const struct visit *visit, uint64_t record) {
    const struct race_layout *layout = &visit->race->layout;
    uint32_t place = (uint32_t)(record >> RACE_PLACE_BIT) & layout->place_mask;
    return visit->detail & INGOT_CPU_RACE_ATOMIC && place &&
           visit->race->sanitized->places->items[place - 1].detail & INGOT_CPU_RACE_ATOMIC;
}

/* ---- is a record ordered before an access? ---- */

static bool is_before(const struct visit *visit, uint64_t record, uint32_t thread) {
    const struct race_layout *layout = &visit->race->layout;
    if (record >> layout->epoch != visit->key) {
        return visit->space == RACE_THREADGROUP ||
               record >> layout->group == visit->key >> (layout->group - layout->epoch);
    }
    uint32_t by = race_thread_of(layout, record);
    return by == thread || visit->is_ordered ||
           (by / INGOT_SIMD_WIDTH == visit->simdgroup &&
            race_turn_of(layout, record) != visit->turn);
}

static bool is_fenced(const struct visit *visit, uint64_t record, uint32_t thread) {
    return visit->race->has_fences &&
           race_is_released(visit->race, visit->own, visit->space, record, thread);
}

/* The thread among those that a record of loads stands for which is not ordered before a store by
 * `thread`; UINT32_MAX: they all are. */
static uint32_t unordered_reader(const struct visit *visit, uint64_t record, uint32_t thread) {
    const struct race_layout *layout = &visit->race->layout;
    uint32_t first = race_thread_of(layout, record), second = race_second_of(layout, record);
    enum race_many many = race_many_of(record);
    if (many == RACE_GROUPS && !visit->race->has_fences) {
        bool is_own = record >> layout->group == visit->key >> (layout->group - layout->epoch);
        return is_own ? ANOTHER_GROUP : first;
    }
    if (many == RACE_ONE || many == RACE_GROUPS || record >> layout->epoch != visit->key) {
        return is_before(visit, record, thread) || is_fenced(visit, record, thread) ? UINT32_MAX
                                                                                    : first;
    }
    if (visit->is_ordered || is_fenced(visit, record, thread)) {
        return UINT32_MAX;
    }
    if (many == RACE_SIMDGROUPS) {
        return first / INGOT_SIMD_WIDTH == visit->simdgroup ? second : first;
    }
    if (first / INGOT_SIMD_WIDTH == visit->simdgroup &&
        race_turn_of(layout, record) != visit->turn) {
        return UINT32_MAX;
    }
    return first == thread ? second : first;
}

/* ---- cells ---- */

static void look_at_store(const struct visit *visit, uint32_t lane, uint64_t cell, uint32_t thread,
                          uint16_t value) {
    const struct race_block *block = &visit->shadow->blocks[cell >> RACE_BLOCK_BITS];
    const size_t at = cell & (RACE_BLOCK - 1);
    uint64_t record = block->writes[at];
    if (is_before(visit, record, thread) || both_are_atomic(visit, record)) {
        return;
    }
    bool is_same = visit->detail & INGOT_CPU_RACE_WRITES && value && block->values[at] == value &&
                   !visit->race->reports_same_value;
    if (!is_same && !is_fenced(visit, record, thread)) {
        report(visit, lane, cell, record, race_thread_of(&visit->race->layout, record));
    }
}

static uint64_t own_record(const struct visit *visit, uint32_t thread) {
    const struct race_layout *layout = &visit->race->layout;
    uint64_t clock = 0;
    if (visit->own->threads) {
        clock = visit->own->threads[thread].clock[visit->space];
        clock = clock < layout->clock_mask ? clock : layout->clock_mask;
    }
    return visit->common | (uint64_t)thread << layout->thread | clock << layout->clock;
}

static void store_cell(const struct visit *visit, uint32_t lane, uint64_t cell, uint16_t value) {
    struct race_block *block = &visit->shadow->blocks[cell >> RACE_BLOCK_BITS];
    const size_t at = cell & (RACE_BLOCK - 1);
    uint32_t thread = visit->simdgroup * INGOT_SIMD_WIDTH + lane;
    if (block->writes[at]) {
        look_at_store(visit, lane, cell, thread, value);
    }
    uint64_t read = block->reads[at];
    if (read) {
        uint32_t other = unordered_reader(visit, read, thread);
        if (other != UINT32_MAX && !both_are_atomic(visit, read)) {
            report(visit, lane, cell, read, other);
        }
        block->reads[at] = 0;
    }
    block->writes[at] = own_record(visit, thread);
    block->values[at] = value;
}

/* The record of loads when one more thread loads: the first one keeps its place, since who stores
 * has mostly loaded just before. */
static uint64_t join_reader(const struct visit *visit, uint64_t old, uint64_t new) {
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

static void load_cell(const struct visit *visit, uint32_t lane, uint64_t cell) {
    struct race_block *block = &visit->shadow->blocks[cell >> RACE_BLOCK_BITS];
    const size_t at = cell & (RACE_BLOCK - 1);
    uint32_t thread = visit->simdgroup * INGOT_SIMD_WIDTH + lane;
    if (block->writes[at]) {
        look_at_store(visit, lane, cell, thread, 0);
    }
    uint64_t old = block->reads[at], new = own_record(visit, thread);
    if (old && visit->detail & INGOT_CPU_RACE_ATOMIC && !both_are_atomic(visit, old) &&
        old >> visit->race->layout.epoch == visit->key) {
        return; /* a plain load conflicts with more */
    }
    block->reads[at] = old && !(both_are_atomic(visit, old)) ? join_reader(visit, old, new) : new;
}

/* ---- lanes ---- */

static void lock_block(struct race_shadow *shadow, uint64_t block) {
    unsigned tries = 0;
    struct race_lock *lock = &shadow->locks[block];
    while (atomic_exchange_explicit(&lock->is_held, true, memory_order_acquire)) {
        if (++tries % 64 == 0) {
            sched_yield();
        }
    }
    if (lock->generation != shadow->generation) {
        memset(&shadow->blocks[block], 0, sizeof *shadow->blocks);
        lock->generation = shadow->generation;
    }
}

static void unlock_block(struct race_shadow *shadow, uint64_t block) {
    atomic_store_explicit(&shadow->locks[block].is_held, false, memory_order_release);
}

/* The part of a stored value that goes to a cell; wide values are mixed, and the same for all. */
static uint16_t value_in_cell(const struct visit *visit, uint64_t value, uint64_t index,
                              uint64_t size) {
    if (visit->detail & INGOT_CPU_RACE_NO_VALUE) {
        return 0;
    }
    unsigned bits = 8u << visit->shadow->shift;
    if (size > 8 || size <= 1u << visit->shadow->shift) {
        return race_mixed(value + (size > 8 ? index : 0));
    }
    return race_mixed(value >> bits * index & ((UINT64_C(1) << bits) - 1));
}

/* One lane; `held` is the block that is locked, or UINT64_MAX. */
static uint64_t visit_lane(const struct visit *visit, uint32_t lane, uint64_t address,
                           uint64_t size, uint64_t value, uint64_t held) {
    struct race_shadow *shadow = visit->shadow;
    uint64_t offset = address - shadow->start;
    if (offset >= shadow->bytes || !size || size > shadow->bytes - offset) {
        return held;
    }
    uint64_t first = offset >> shadow->shift, last = (offset + size - 1) >> shadow->shift;
    for (uint64_t cell = first; cell <= last; cell++) {
        if (shadow->is_shared && cell >> RACE_BLOCK_BITS != held) {
            if (held != UINT64_MAX) {
                unlock_block(shadow, held);
            }
            held = cell >> RACE_BLOCK_BITS;
            lock_block(shadow, held);
        }
        if (visit->detail & INGOT_CPU_RACE_WRITES) {
            store_cell(visit, lane, cell, value_in_cell(visit, value, cell - first, size));
        } else {
            load_cell(visit, lane, cell);
        }
    }
    return held;
}

/* The shadow of an address that is no argument's; NULL: there is none. */
static struct race_shadow *find_shadow(const struct race_dispatch *race, uint64_t address) {
    size_t low = 0, high = race->shadow_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (race->shadows[middle].start <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    struct race_shadow *shadow = low ? &race->shadows[low - 1] : NULL;
    return shadow && shadow->mapped.memory && address - shadow->start < shadow->bytes ? shadow
                                                                                      : NULL;
}

struct lanes {
    uint32_t mask;
    uint64_t base;
    int64_t stride;
    const uint64_t *addresses, *values;
};

static uint64_t address_of(const struct lanes *lanes, uint32_t lane) {
    return lanes->addresses ? lanes->addresses[lane] : lanes->base + (uint64_t)lanes->stride * lane;
}

/* Lanes one after the other, each with a cell of its own; false: it is to be done lane by lane. */
static bool visit_row(const struct visit *visit, const struct lanes *lanes) {
    const struct race_layout *layout = &visit->race->layout;
    struct race_shadow *shadow = visit->shadow;
    uint32_t first = (uint32_t)__builtin_ctz(lanes->mask), shifted = lanes->mask >> first;
    uint64_t offset = lanes->base + (uint64_t)lanes->stride * first - shadow->start;
    uint32_t count = (uint32_t)__builtin_popcount(shifted);
    uint64_t bytes = (uint64_t)count << shadow->shift, cell = offset >> shadow->shift;
    if (lanes->stride != (int64_t)1 << shadow->shift || shifted & (shifted + 1) ||
        visit->place->bytes != 1u << shadow->shift || visit->own->threads || visit->is_ordered ||
        visit->detail & (INGOT_CPU_RACE_ATOMIC | INGOT_CPU_RACE_NO_VALUE) ||
        offset & ((1u << shadow->shift) - 1) || offset >= shadow->bytes ||
        bytes > shadow->bytes - offset) {
        return false;
    }
    uint64_t block = cell >> RACE_BLOCK_BITS, last = (cell + count - 1) >> RACE_BLOCK_BITS;
    if (block != last) {
        return false;
    }
    struct race_fast fast = {.mine = own_record(visit, visit->simdgroup * INGOT_SIMD_WIDTH + first),
                             .step = (uint64_t)1 << layout->thread,
                             .group = layout->group_mask << layout->group,
                             .epoch = (uint64_t)layout->epoch_mask << layout->epoch,
                             .thread = (uint64_t)layout->thread_mask << layout->thread,
                             .simdgroup = (uint64_t)(layout->thread_mask & ~(INGOT_SIMD_WIDTH - 1))
                                          << layout->thread,
                             .turn = (uint64_t)layout->turn_mask << layout->turn,
                             .is_threadgroup = visit->space == RACE_THREADGROUP,
                             .writes = shadow->blocks[block].writes + cell % RACE_BLOCK,
                             .reads = shadow->blocks[block].reads + cell % RACE_BLOCK,
                             .values = shadow->blocks[block].values + cell % RACE_BLOCK,
                             .count = count};
    if (shadow->is_shared) {
        lock_block(shadow, block);
    }
    bool done = visit->detail & INGOT_CPU_RACE_WRITES
                    ? race_fast_store(&fast, lanes->values + first)
                    : race_fast_load(&fast);
    if (shadow->is_shared) {
        unlock_block(shadow, block);
    }
    return done;
}

static void visit_lanes(struct visit *visit, const struct lanes *lanes) {
    uint64_t held = UINT64_MAX;
    bool is_known = visit->shadow != NULL;
    uint32_t mask = lanes->mask;
    if (!lanes->addresses && !lanes->stride && visit->detail & INGOT_CPU_RACE_READS) {
        /* all load the same: two stand for them */
        mask = 1u << __builtin_ctz(mask) | 1u << (31 - __builtin_clz(mask));
    }
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        uint64_t address = address_of(lanes, lane), value = lanes->values ? lanes->values[lane] : 0;
        uint64_t size = visit->place->bytes ? visit->place->bytes : value;
        if (!is_known) {
            struct race_shadow *shadow = find_shadow(visit->race, address);
            if (shadow != visit->shadow && held != UINT64_MAX) {
                unlock_block(visit->shadow, held);
                held = UINT64_MAX;
            }
            visit->shadow = shadow;
        }
        if (visit->shadow) {
            held = visit_lane(visit, lane, address, size, value, held);
        }
    }
    if (held != UINT64_MAX) {
        unlock_block(visit->shadow, held);
    }
}

static void set_record(struct visit *visit) {
    const struct race_layout *layout = &visit->race->layout;
    uint32_t epoch = visit->own->epoch[visit->space][visit->simdgroup];
    uint32_t turn = visit->own->turn[visit->space][visit->simdgroup];
    uint32_t place = visit->number + 1;
    epoch = epoch < layout->epoch_mask ? epoch : layout->epoch_mask;
    turn = turn < layout->turn_mask ? turn : layout->turn_mask;
    visit->is_ordered = epoch == layout->epoch_mask;
    visit->turn = turn;
    visit->key = (visit->own->id & layout->group_mask) << (layout->group - layout->epoch) | epoch;
    visit->common = visit->key << layout->epoch | (uint64_t)turn << layout->turn |
                    (uint64_t)(place <= layout->place_mask ? place : 0) << RACE_PLACE_BIT | 1;
}

/* Atomics in kernels with fences: what they hand on, and what they see. */
static void pass_on(struct visit *visit, const struct lanes *lanes) {
    for (uint32_t rest = lanes->mask; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        uint32_t thread = visit->simdgroup * INGOT_SIMD_WIDTH + lane;
        uint64_t address = address_of(lanes, lane);
        if (visit->detail & INGOT_CPU_RACE_SEEN) {
            race_see(visit->race, visit->own, thread, address);
        } else if (visit->detail & INGOT_CPU_RACE_WRITES) {
            race_publish(visit->race, visit->own, thread, address);
        }
    }
}

void ig_race_access(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask,
                    uint32_t place, uint64_t base, int64_t stride, const uint64_t *values) {
    struct race_group *own = group->race;
    if (!own) {
        return;
    }
    const struct ig_sanitized *sanitized = ig_sanitized_of(group);
    struct visit visit = {.group = group,
                          .race = sanitized->states[IG_SANITIZE_race],
                          .own = own,
                          .place = &sanitized->places->items[place],
                          .number = place,
                          .simdgroup = simdgroup};
    struct lanes lanes = {.mask = mask, .base = base, .stride = stride, .values = values};
    if (stride == INGOT_CPU_SCATTERED) {
        lanes.addresses = (const uint64_t *)(uintptr_t)base;
    }
    visit.detail = visit.place->detail;
    visit.space = visit.place->space == INGOT_SPACE_DEVICE ? RACE_DEVICE : RACE_THREADGROUP;
    if (visit.detail & INGOT_CPU_RACE_ATOMIC && own->threads) {
        pass_on(&visit, &lanes);
    }
    if (visit.detail & INGOT_CPU_RACE_SEEN) {
        return;
    }
    if (visit.space == RACE_THREADGROUP) {
        visit.shadow = &own->shadow;
    } else if (visit.place->slot != INGOT_CPU_NO_SLOT) {
        visit.shadow = visit.race->by_slot[visit.place->slot];
        if (!visit.shadow) {
            return;
        }
    }
    set_record(&visit);
    if (!visit.shadow || lanes.addresses || (visit.detail & INGOT_CPU_RACE_WRITES && !values) ||
        !visit_row(&visit, &lanes)) {
        visit_lanes(&visit, &lanes);
    }
}

void ig_race_tell(const struct ig_check *check) {
    if (check->group->race) {
        race_tell_order(check->dispatch->states[IG_SANITIZE_race], check->group->race, check);
    }
}

/* ---- words ---- */

void ig_race_describe(const struct ig_check *check, struct ig_lane_finding *finding,
                      struct ig_text *message) {
    const struct ingot_cpu_place *place = check->place, *other = finding->other;
    const uint32_t *group = finding->other_threadgroup, *own = check->group->group_position;
    bool same_group = group[0] == own[0] && group[1] == own[1] && group[2] == own[2];
    ig_text_printf(message, "%s of ", ig_access_name(place->access));
    if (place->bytes) {
        ig_text_printf(message, "%u bytes in ", place->bytes);
    }
    ig_say_object(check, message);
    if (finding->has_offset) {
        ig_text_printf(message, " at offset %lld", (long long)finding->offset);
    }
    ig_text_printf(message, ", which another thread%s %s; nothing orders the two",
                   same_group ? "" : " of another threadgroup",
                   !other                              ? "accesses"
                   : other->access == INGOT_CPU_LOAD   ? "loads"
                   : other->access == INGOT_CPU_ATOMIC ? "changes by an atomic"
                                                       : "stores to");
}
