/*
 * race: what barriers and fences order.
 *
 * Barriers count up: of the threadgroup an epoch, of a SIMD-group alone a turn within it. Accesses
 * of a threadgroup in different epochs are ordered.
 *
 * A fence with release, a store by an atomic, a load by an atomic that reads it, a fence with
 * acquire: what was before the first is before what is behind the last. Here releases of a dispatch
 * have times. An atomic's address has the time of the last release that was published through it.
 * Who acquires from it knows all releases up to that time. That is more than the language promises
 * where unrelated addresses are in use, and never less: no race is reported that fences exclude.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/sanitize/race.h"

enum { ORDER_ACQUIRE = 2, ORDER_RELEASE = 3, ORDER_ACQ_REL = 4, ORDER_SEQ_CST = 5 };
enum { SCOPE_THREAD = 0, SCOPE_THREADGROUP = 1, SCOPE_SIMDGROUP = 4 };

struct race_release {
    uint64_t group;
    uint32_t thread, previous; /* 1 + the index of the one before it of the threadgroup, or 0 */
    struct race_released of[RACE_SPACES];
};

bool race_order_open(struct race_dispatch *race) {
    struct race_order *order = &race->order;
    if (!race->has_fences) {
        return true;
    }
    uint64_t groups = race->group_count <= race->layout.group_mask ? race->group_count
                                                                   : race->layout.group_mask + 1;
    order->last_of_group = calloc(groups, sizeof *order->last_of_group);
    order->location_capacity = 64;
    order->locations = calloc(order->location_capacity, sizeof *order->locations);
    return order->last_of_group && order->locations;
}

void race_order_close(struct race_dispatch *race) {
    free(race->order.releases);
    free(race->order.last_of_group);
    free(race->order.locations);
}

/* ---- barriers ---- */

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* What the lanes know becomes known to all that meet at the barrier. */
static void share_knowledge(struct race_group *own, const struct ig_check *check, int space,
                            bool is_simdgroup) {
    struct race_thread *threads = own->threads + check->simdgroup * INGOT_SIMD_WIDTH;
    uint64_t known = 0, known_device = 0;
    for (uint32_t rest = check->mask; rest; rest &= rest - 1) {
        const struct race_thread *thread = &threads[__builtin_ctz(rest)];
        known = larger(known, thread->known[space]);
        known_device = larger(known_device, thread->known_device[space]);
    }
    if (!is_simdgroup) {
        own->known[space] = larger(own->known[space], known);
        own->known_device[space] = larger(own->known_device[space], known_device);
        return;
    }
    for (uint32_t rest = check->mask; rest; rest &= rest - 1) {
        struct race_thread *thread = &threads[__builtin_ctz(rest)];
        thread->known[space] = known;
        thread->known_device[space] = known_device;
    }
}

/* Without the memory's flag, a barrier behind a fence orders what was before the fence. */
static void pass_barrier(struct race_group *own, const struct ig_check *check,
                         enum race_space space, bool is_simdgroup, bool has_flag) {
    uint32_t simdgroup = check->simdgroup;
    if (is_simdgroup && check->group->full_simdgroup_count > 1) {
        own->turn[space][simdgroup]++;
    } else {
        own->epoch[space][simdgroup]++;
        own->turn[space][simdgroup] = 0;
    }
    race_quick_set(check->dispatch->states[IG_SANITIZE_race], own, space, simdgroup);
    if (!own->threads) {
        return;
    }
    if (has_flag) {
        share_knowledge(own, check, space, is_simdgroup);
    }
    if (own->has_fenced[space][simdgroup] && !is_simdgroup) { /* the fence covers who came here */
        struct race_thread *threads = own->threads + simdgroup * INGOT_SIMD_WIDTH;
        for (uint32_t rest = check->mask; rest; rest &= rest - 1) {
            struct race_released *released = &threads[__builtin_ctz(rest)].released[space];
            released->epoch = own->epoch[space][simdgroup];
            released->turn = 0;
        }
        own->has_fenced[space][simdgroup] = false;
    }
}

/* ---- fences ---- */

static void release(struct race_group *own, struct race_thread *thread, uint32_t simdgroup,
                    int space, uint32_t scope) {
    thread->released[space] = (struct race_released){.is_set = true,
                                                     .scope = scope,
                                                     .clock = ++thread->clock[space],
                                                     .epoch = own->epoch[space][simdgroup],
                                                     .turn = own->turn[space][simdgroup]};
}

static void pass_fence(struct race_group *own, const struct ig_check *check, int space) {
    uint32_t order = check->place->detail / INGOT_CPU_RACE_ORDER & 15;
    uint32_t scope = check->place->detail / INGOT_CPU_RACE_SCOPE & 15;
    bool releases = order >= ORDER_RELEASE,
         acquires = order >= ORDER_ACQUIRE && order != ORDER_RELEASE;
    if (scope == SCOPE_THREAD) {
        return;
    }
    own->has_fenced[space][check->simdgroup] |= releases;
    for (uint32_t rest = check->mask; rest; rest &= rest - 1) {
        struct race_thread *thread =
            &own->threads[check->simdgroup * INGOT_SIMD_WIDTH + (uint32_t)__builtin_ctz(rest)];
        if (acquires) {
            thread->known[space] = larger(thread->known[space], thread->seen);
            if (scope != SCOPE_THREADGROUP && scope != SCOPE_SIMDGROUP) {
                thread->known_device[space] = larger(thread->known_device[space], thread->seen);
            }
        }
        if (releases) {
            release(own, thread, check->simdgroup, space, scope);
        }
    }
}

void race_tell_order(struct race_dispatch *race, struct race_group *own,
                     const struct ig_check *check) {
    uint32_t detail = check->place->detail;
    (void)race;
    for (int space = 0; space < RACE_SPACES; space++) {
        bool has_flag = detail / INGOT_CPU_RACE_FLAGS >> space & 1;
        if (detail & INGOT_CPU_RACE_BARRIER) {
            bool is_simdgroup = detail & INGOT_CPU_RACE_SIMDGROUP;
            if (has_flag || (own->has_fenced[space][check->simdgroup] && !is_simdgroup)) {
                pass_barrier(own, check, space, is_simdgroup, has_flag);
            }
        } else if (has_flag && own->threads) {
            pass_fence(own, check, space);
        }
    }
}

/* ---- atomics ---- */

/* Where the address is, or would be. */
static struct race_location *find(struct race_order *order, uint64_t address) {
    size_t mask = order->location_capacity - 1;
    size_t at = (address >> 2) * UINT64_C(0x9e3779b97f4a7c15) >> 20 & mask;
    while (order->locations[at].address && order->locations[at].address != address) {
        at = (at + 1) & mask;
    }
    return &order->locations[at];
}

static bool grow_locations(struct race_order *order) {
    struct race_order larger_one = *order;
    larger_one.location_capacity *= 2;
    larger_one.locations = calloc(larger_one.location_capacity, sizeof *order->locations);
    if (!larger_one.locations) {
        return false;
    }
    for (size_t i = 0; i < order->location_capacity; i++) {
        if (order->locations[i].address) {
            *find(&larger_one, order->locations[i].address) = order->locations[i];
        }
    }
    free(order->locations);
    order->locations = larger_one.locations;
    order->location_capacity = larger_one.location_capacity;
    return true;
}

static bool add_release(struct race_order *order, const struct race_release *release) {
    if (order->count == order->capacity) {
        size_t capacity = order->capacity ? 2 * order->capacity : 256;
        struct race_release *list = realloc(order->releases, capacity * sizeof *list);
        if (!list || capacity > UINT32_MAX) {
            return false;
        }
        order->releases = list;
        order->capacity = capacity;
    }
    order->releases[order->count++] = *release;
    order->time = order->count;
    return true;
}

void race_publish(struct race_dispatch *race, struct race_group *own, uint32_t thread,
                  uint64_t address) {
    struct race_order *order = &race->order;
    const struct race_thread *state = &own->threads[thread];
    if (!state->released[RACE_DEVICE].is_set && !state->released[RACE_THREADGROUP].is_set) {
        return;
    }
    struct race_release release = {.group = own->id & race->layout.group_mask, .thread = thread};
    memcpy(release.of, state->released, sizeof release.of);
    pthread_mutex_lock(&order->lock);
    uint32_t *last = &order->last_of_group[release.group];
    release.previous = *last;
    if ((4 * (order->location_count + 1) > 3 * order->location_capacity &&
         !grow_locations(order)) ||
        !add_release(order, &release)) {
        order->is_full = true;
    } else {
        struct race_location *location = find(order, address);
        order->location_count += !location->address;
        *location = (struct race_location){address, order->time};
        *last = (uint32_t)order->count;
    }
    pthread_mutex_unlock(&order->lock);
}

void race_see(struct race_dispatch *race, struct race_group *own, uint32_t thread,
              uint64_t address) {
    struct race_order *order = &race->order;
    pthread_mutex_lock(&order->lock);
    const struct race_location *location = find(order, address);
    uint64_t time = location->address ? location->time : 0;
    pthread_mutex_unlock(&order->lock);
    own->threads[thread].seen = larger(own->threads[thread].seen, time);
}

/* Was the access before the release, by its own thread or by a barrier? */
static bool covers(const struct race_layout *layout, const struct race_release *release,
                   enum race_space space, uint64_t record) {
    const struct race_released *of = &release->of[space];
    uint32_t thread = race_thread_of(layout, record), epoch = race_epoch_of(layout, record);
    uint32_t clock = race_clock_of(layout, record), turn = race_turn_of(layout, record);
    if (!of->is_set) {
        return false;
    }
    if (epoch == layout->epoch_mask || epoch < of->epoch) {
        return true;
    }
    if (thread == release->thread) {
        return clock == layout->clock_mask || clock < of->clock;
    }
    return thread / INGOT_SIMD_WIDTH == release->thread / INGOT_SIMD_WIDTH && epoch == of->epoch &&
           ((layout->turn_mask && turn == layout->turn_mask) || turn < of->turn);
}

bool race_is_released(struct race_dispatch *race, const struct race_group *own,
                      enum race_space space, uint64_t record, uint32_t thread) {
    struct race_order *order = &race->order;
    const struct race_layout *layout = &race->layout;
    uint64_t group = record >> layout->group & layout->group_mask;
    bool is_own = group == (own->id & layout->group_mask);
    const struct race_thread *state = &own->threads[thread];
    uint64_t known = is_own ? larger(state->known[space], own->known[space])
                            : larger(state->known_device[space], own->known_device[space]);
    bool result = false;
    pthread_mutex_lock(&order->lock);
    uint32_t next = order->last_of_group[group];
    for (; next && !result; next = order->releases[next - 1].previous) {
        const struct race_release *release = &order->releases[next - 1];
        uint32_t scope = release->of[space].scope;
        bool is_wide =
            (scope != SCOPE_THREADGROUP && scope != SCOPE_SIMDGROUP) ||
            (is_own && (scope == SCOPE_THREADGROUP ||
                        release->thread / INGOT_SIMD_WIDTH == thread / INGOT_SIMD_WIDTH));
        result = next <= known && is_wide && covers(layout, release, space, record);
    }
    result |= order->is_full;
    pthread_mutex_unlock(&order->lock);
    return result;
}
