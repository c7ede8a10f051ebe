/*
 * barrier: barriers that not all threads reach, or reach in different order.
 *
 * A barrier that a part of a SIMD-group reaches is seen by the mask. Those of the threadgroup are
 * counted for each SIMD-group: the n-th of one has to be the n-th of all, and who ends with fewer
 * has missed one. After the first such finding the counts of the threadgroup say nothing more.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/sanitize/kinds.h"

enum { OF_THREADGROUP = 2, MOST_ROUNDS = 1 << 20 };

struct round {
    uint32_t place, simdgroup, lane; /* who came first */
};
struct arrivals { /* of the threadgroup that runs on a thread */
    struct arrivals *next;
    const struct ingot_cpu_group *group;
    uint32_t passed[INGOT_SIMD_WIDTH]; /* by SIMD-group */
    bool is_broken;
    struct round *rounds;
    size_t count, capacity;
};
struct barriers {
    pthread_mutex_t lock; /* of the list */
    struct arrivals *list;
};

bool ig_barrier_open(struct ig_sanitized *dispatch) {
    struct barriers *barriers = calloc(1, sizeof *barriers);
    if (!barriers || pthread_mutex_init(&barriers->lock, NULL)) {
        free(barriers);
        return false;
    }
    dispatch->states[IG_SANITIZE_barrier] = barriers;
    return true;
}

void ig_barrier_close(struct ig_sanitized *dispatch) {
    struct barriers *barriers = dispatch->states[IG_SANITIZE_barrier];
    for (struct arrivals *own = barriers->list, *next; own; own = next) {
        next = own->next;
        free(own->rounds);
        free(own);
    }
    pthread_mutex_destroy(&barriers->lock);
    free(barriers);
}

/* NULL: no memory. */
static struct arrivals *find(struct ig_sanitized *dispatch, const struct ingot_cpu_group *group) {
    struct barriers *barriers = dispatch->states[IG_SANITIZE_barrier];
    pthread_mutex_lock(&barriers->lock);
    struct arrivals *own = barriers->list;
    while (own && own->group != group) {
        own = own->next;
    }
    if (!own && (own = calloc(1, sizeof *own))) {
        own->group = group;
        own->next = barriers->list;
        barriers->list = own;
    }
    pthread_mutex_unlock(&barriers->lock);
    return own;
}

void ig_barrier_begin_group(struct ig_sanitized *dispatch, const struct ingot_cpu_group *group) {
    struct arrivals *own = find(dispatch, group);
    if (own) {
        memset(own->passed, 0, sizeof own->passed);
        own->is_broken = false;
        own->count = 0;
    }
}

static uint32_t all_lanes(const struct ingot_cpu_group *group, uint32_t simdgroup) {
    uint32_t tail = group->thread_count % INGOT_SIMD_WIDTH;
    return simdgroup + 1 == group->simdgroup_count && tail ? (1u << tail) - 1 : UINT32_MAX;
}

static void name_thread(const struct ingot_cpu_group *group, uint32_t index,
                        struct ig_lane_finding *finding) {
    const uint32_t *size = group->group_size;
    finding->has_other = true;
    memcpy(finding->other_threadgroup, group->group_position, sizeof finding->other_threadgroup);
    finding->other_thread[0] = index % size[0];
    finding->other_thread[1] = index / size[0] % size[1];
    finding->other_thread[2] = index / size[0] / size[1];
}

/* The n-th barrier of a SIMD-group; false: it is another one than that of the others. */
static bool arrive(struct arrivals *own, const struct ig_check *check) {
    uint32_t turn = own->passed[check->simdgroup]++;
    if (turn < own->count) {
        return own->rounds[turn].place == check->number;
    }
    if (own->count == own->capacity && own->count < MOST_ROUNDS) {
        size_t capacity = own->capacity ? 2 * own->capacity : 64;
        struct round *rounds = realloc(own->rounds, capacity * sizeof *rounds);
        if (rounds) {
            own->rounds = rounds;
            own->capacity = capacity;
        }
    }
    if (own->count < own->capacity) {
        own->rounds[own->count++] =
            (struct round){check->number, check->simdgroup, (uint32_t)__builtin_ctz(check->mask)};
    }
    return true;
}

void ig_barrier_tell(const struct ig_check *check) {
    uint32_t all = all_lanes(check->group, check->simdgroup), missing = all & ~check->mask;
    struct ig_lane_finding finding = {.lane = (uint32_t)__builtin_ctz(check->mask)};
    bool is_threadgroups = check->place->detail == OF_THREADGROUP;
    struct arrivals *own = is_threadgroups || missing ? find(check->dispatch, check->group) : NULL;
    bool is_same = !is_threadgroups || !own || arrive(own, check) || own->is_broken;
    if (missing) {
        uint32_t lane = (uint32_t)__builtin_ctz(missing);
        name_thread(check->group, check->simdgroup * INGOT_SIMD_WIDTH + lane, &finding);
    } else if (!is_same) {
        const struct round *first = &own->rounds[own->passed[check->simdgroup] - 1];
        finding.other = &check->dispatch->places->items[first->place];
        name_thread(check->group, first->simdgroup * INGOT_SIMD_WIDTH + first->lane, &finding);
    } else {
        return;
    }
    if (own && is_threadgroups) {
        own->is_broken = true;
    }
    ig_sanitize_found(check, check->mask, &finding);
}

void ig_barrier_end_group(struct ig_sanitized *dispatch, const struct ingot_cpu_group *group) {
    struct arrivals *own = find(dispatch, group);
    for (uint32_t i = 0; own && !own->is_broken && i < group->simdgroup_count; i++) {
        if (own->passed[i] >= own->count) {
            continue;
        }
        const struct round *missed = &own->rounds[own->passed[i]];
        struct ig_check check = {.group = group,
                                 .dispatch = dispatch,
                                 .simdgroup = missed->simdgroup,
                                 .mask = 1u << missed->lane,
                                 .number = missed->place,
                                 .place = &dispatch->places->items[missed->place]};
        struct ig_lane_finding finding = {.lane = missed->lane};
        name_thread(group, i * INGOT_SIMD_WIDTH, &finding);
        ig_sanitize_found(&check, check.mask, &finding);
        own->is_broken = true;
    }
}

void ig_barrier_describe(const struct ig_check *check, struct ig_lane_finding *finding,
                         struct ig_text *message) {
    bool is_threadgroups = check->place->detail == OF_THREADGROUP;
    const uint32_t *other = finding->other_thread;
    ig_text_printf(message, "this %s is ",
                   is_threadgroups ? "threadgroup_barrier" : "simdgroup_barrier");
    if (finding->other) {
        ig_text_printf(message, "reached while thread (%u, %u, %u) is at another one", other[0],
                       other[1], other[2]);
    } else {
        ig_text_printf(message, "not reached by thread (%u, %u, %u) of its %s", other[0], other[1],
                       other[2], is_threadgroups ? "threadgroup" : "SIMD-group");
    }
}
