/* Where a thread is in a run of threadgroups, in each of its stripes. */
#include "runtime/cpu/threadgroup_walk.h"

static void begin_stripe(struct cpu_stripe *stripe, const uint32_t groups[3], uint64_t first,
                         uint64_t count) {
    stripe->position[0] = (uint32_t)(first % groups[0]);
    stripe->position[1] = (uint32_t)(first / groups[0] % groups[1]);
    stripe->position[2] = (uint32_t)(first / groups[0] / groups[1]);
    stripe->left = count;
}

static void begin_unit(struct cpu_group_walk *walk) {
    uint64_t left = walk->stripe[walk->current].left;
    walk->left_of_unit = walk->unit && walk->unit < left ? walk->unit : left;
}

void cpu_group_walk_begin(struct cpu_group_walk *walk, const uint32_t groups[3], uint64_t first,
                          uint64_t count, uint64_t unit) {
    walk->groups[0] = groups[0];
    walk->groups[1] = groups[1];
    walk->current = 0;
    walk->unit = unit;
    walk->stripes = unit == 0 ? 1 : count < CPU_STRIPES ? (uint32_t)count : CPU_STRIPES;
    uint64_t each = count / walk->stripes, more = count % walk->stripes;
    for (uint32_t i = 0; i < walk->stripes; i++) {
        uint64_t size = each + (i < more);
        begin_stripe(&walk->stripe[i], groups, first, size);
        first += size;
    }
    begin_unit(walk);
}

/* On by `count` groups, which are all in one row of groups. */
static void step(const uint32_t groups[2], uint32_t position[3], uint32_t count) {
    if (count < groups[0] - position[0]) {
        position[0] += count;
        return;
    }
    position[0] = 0;
    if (++position[1] < groups[1]) {
        return;
    }
    position[1] = 0;
    position[2]++;
}

bool cpu_group_walk_on(struct cpu_group_walk *walk, uint32_t count) {
    struct cpu_stripe *stripe = &walk->stripe[walk->current];
    step(walk->groups, stripe->position, count);
    stripe->left -= count;
    walk->left_of_unit -= count;
    if (walk->left_of_unit > 0) {
        return true;
    }
    walk->current = walk->current + 1 == walk->stripes ? 0 : walk->current + 1;
    /* The first stripes are the longest: when one that comes next is done, so are all. */
    begin_unit(walk);
    return walk->left_of_unit > 0;
}
