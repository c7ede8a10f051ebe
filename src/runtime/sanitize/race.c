/*
 * race: two threads, at least one storing, and no ordering between them.
 *
 * An access of up to 32 lanes is told before it happens: where its lanes go is found out here.
 * Cells of device memory are locked, block by block; those of threadgroup memory belong to one
 * thread.
 */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "runtime/sanitize/race_visit.h"

/* ---- lanes ---- */

void race_wait_for_block(struct race_block *block) {
    unsigned tries = 0;
    do {
        if (++tries % 64 == 0) {
            sched_yield();
        }
    } while (atomic_exchange_explicit(&block->is_held, true, memory_order_acquire));
}

void race_clear_block(struct race_block *block, uint32_t generation) {
    memset(block->write_shape, RACE_EMPTY, sizeof block->write_shape);
    memset(block->read_shape, RACE_EMPTY, sizeof block->read_shape);
    block->has_uniform = 0;
    block->generation = generation;
}

/* One lane; `held` is the block that is locked, or UINT64_MAX. */
static uint64_t visit_lane(const struct race_visit *visit, uint32_t lane, uint64_t address,
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
                race_unlock_block(shadow, held);
            }
            held = cell >> RACE_BLOCK_BITS;
            race_lock_block(shadow, held);
        }
        if (visit->detail & INGOT_CPU_RACE_WRITES) {
            race_settle(visit, cell / RACE_LINE);
            race_store_cell(visit, lane, cell,
                            race_value_in_cell(visit, value, cell - first, size));
        } else {
            race_load_cell(visit, lane, cell);
        }
    }
    return held;
}

struct race_shadow *race_find_shadow(const struct race_dispatch *race, uint64_t address) {
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
    return shadow && address - shadow->start < shadow->bytes ? shadow : NULL;
}

/* Addresses that turn out to grow evenly. */
static void straighten(struct race_lanes *lanes) {
    uint32_t first = (uint32_t)__builtin_ctz(lanes->mask), rest = lanes->mask & (lanes->mask - 1);
    const uint64_t *addresses = lanes->addresses;
    uint32_t second = rest ? (uint32_t)__builtin_ctz(rest) : first;
    uint64_t stride = second == first + 1 ? addresses[second] - addresses[first] : 0;
    uint64_t base = addresses[first] - stride * first, apart = 0;
    for (; rest && !apart; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        apart = addresses[lane] ^ (base + stride * lane);
    }
    if (!apart) {
        lanes->addresses = NULL;
        lanes->base = base;
        lanes->stride = (int64_t)stride;
    }
}

/* Lanes one after the other, each behind the last one; false: it is to be done lane by lane. */
static bool visit_as_run(const struct race_visit *visit, const struct race_lanes *lanes) {
    const struct race_shadow *shadow = visit->shadow;
    uint32_t first = (uint32_t)__builtin_ctz(lanes->mask), shifted = lanes->mask >> first;
    uint64_t offset = lanes->base + (uint64_t)lanes->stride * first - shadow->start;
    uint32_t size = visit->place->bytes, cells = size >> shadow->shift;
    uint64_t bytes = (uint64_t)(32 - __builtin_clz(shifted)) * size; /* if there are no gaps */
    if (lanes->stride != (int64_t)size || shifted & (shifted + 1) || visit->own->threads ||
        visit->is_ordered || visit->detail & INGOT_CPU_RACE_ATOMIC || !cells ||
        cells & (cells - 1) || cells > RACE_LINE || offset & ((1u << shadow->shift) - 1) ||
        offset >= shadow->bytes || bytes > shadow->bytes - offset) {
        return false;
    }
    if (visit->space == RACE_DEVICE && !race_shadow_is_there(visit->race, visit->shadow)) {
        return true;
    }
    struct race_run run = {.cell = offset >> shadow->shift,
                           .count = bytes >> shadow->shift,
                           .lane = first,
                           .shift = (unsigned)__builtin_ctz(cells),
                           .values = lanes->values};
    race_visit_run(visit, &run);
    return true;
}

/* Of lanes that all access the same place, do two stand for them? All load; or all store the same
 * value, which is a race for nobody. */
static bool stand_for_all(const struct race_visit *visit, const struct race_lanes *lanes) {
    if (!(visit->detail & INGOT_CPU_RACE_WRITES)) {
        return true;
    }
    if (visit->detail != INGOT_CPU_RACE_WRITES || !lanes->values ||
        visit->race->reports_same_value || !visit->place->bytes) {
        return false;
    }
    const uint64_t value = lanes->values[__builtin_ctz(lanes->mask)];
    uint64_t apart = 0;
    for (uint32_t rest = lanes->mask; rest; rest &= rest - 1) {
        apart |= lanes->values[__builtin_ctz(rest)] ^ value;
    }
    return !apart;
}

static void visit_lanes(struct race_visit *visit, const struct race_lanes *lanes, bool is_known) {
    uint64_t held = UINT64_MAX;
    uint32_t mask = lanes->mask;
    if (!lanes->addresses && !lanes->stride && stand_for_all(visit, lanes)) {
        mask = 1u << __builtin_ctz(mask) | 1u << (31 - __builtin_clz(mask));
    }
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        uint64_t address = race_address_of(lanes, lane),
                 value = lanes->values ? lanes->values[lane] : 0;
        uint64_t size = visit->place->bytes ? visit->place->bytes : value;
        if (!is_known && !(visit->shadow && address >= visit->shadow->start &&
                           address - visit->shadow->start < visit->shadow->bytes)) {
            struct race_shadow *shadow = race_find_shadow(visit->race, address);
            if (shadow != visit->shadow && held != UINT64_MAX) {
                race_unlock_block(visit->shadow, held);
                held = UINT64_MAX;
            }
            visit->shadow = shadow;
        }
        if (visit->shadow && race_shadow_is_there(visit->race, visit->shadow)) {
            held = visit_lane(visit, lane, address, size, value, held);
        }
    }
    if (held != UINT64_MAX) {
        race_unlock_block(visit->shadow, held);
    }
}

static void set_record(struct race_visit *visit) {
    const struct race_layout *layout = &visit->race->layout;
    uint32_t epoch = visit->own->epoch[visit->space][visit->simdgroup];
    uint32_t turn = visit->own->turn[visit->space][visit->simdgroup];
    uint32_t place = visit->number + 1;
    epoch = epoch < layout->epoch_mask ? epoch : layout->epoch_mask;
    turn = turn < layout->turn_mask ? turn : layout->turn_mask;
    visit->is_ordered = epoch == layout->epoch_mask;
    visit->is_ordered_here = layout->turn_mask && turn == layout->turn_mask;
    visit->turn = turn;
    visit->key = (visit->own->id & layout->group_mask) << (layout->group - layout->epoch) | epoch;
    visit->common = visit->key << layout->epoch | (uint64_t)turn << layout->turn |
                    (uint64_t)(place <= layout->place_mask ? place : 0) << RACE_PLACE_BIT | 1;
}

/* Atomics in kernels with fences: what they hand on, and what they see. */
static void pass_on(struct race_visit *visit, const struct race_lanes *lanes) {
    for (uint32_t rest = lanes->mask; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        uint32_t thread = visit->simdgroup * INGOT_SIMD_WIDTH + lane;
        uint64_t address = race_address_of(lanes, lane);
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
    struct race_dispatch *race = sanitized->states[IG_SANITIZE_race];
    if (mask == UINT32_MAX && stride != INGOT_CPU_SCATTERED &&
        race_visit_quick(group, race, simdgroup, place, base, stride, values)) {
        return;
    }
    struct race_visit visit = {.group = group,
                               .race = race,
                               .own = own,
                               .place = &sanitized->places->items[place],
                               .number = place,
                               .simdgroup = simdgroup};
    struct race_lanes lanes = {.mask = mask, .base = base, .stride = stride, .values = values};
    if (stride == INGOT_CPU_SCATTERED) {
        lanes.addresses = (const uint64_t *)(uintptr_t)base;
        straighten(&lanes);
        if (mask == UINT32_MAX && !lanes.addresses &&
            race_visit_quick(group, race, simdgroup, place, lanes.base, lanes.stride, values)) {
            return;
        }
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
        lanes.mask = race_visit_apart(&visit, &lanes);
        if (!lanes.mask) {
            return;
        }
    } else if (visit.place->slot != INGOT_CPU_NO_SLOT) {
        visit.shadow = visit.race->by_slot[visit.place->slot];
        if (!visit.shadow) {
            return;
        }
    }
    set_record(&visit);
    bool is_known = visit.shadow != NULL;
    if (!lanes.addresses && !is_known) {
        visit.shadow =
            race_find_shadow(visit.race, race_address_of(&lanes, (uint32_t)__builtin_ctz(mask)));
    }
    if (lanes.addresses || !visit.shadow || !visit_as_run(&visit, &lanes)) {
        visit_lanes(&visit, &lanes, is_known);
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
