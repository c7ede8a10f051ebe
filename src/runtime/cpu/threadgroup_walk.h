/*
 * The order in which a thread goes through a run of threadgroups: one after the other, or in
 * stripes. Groups are numbered x first, then y, then z. A stripe is a part of the run; the thread
 * takes a unit of so many groups in one stripe, then in the next, and begins again with the first.
 */
#ifndef INGOT_RUNTIME_CPU_THREADGROUP_WALK_H
#define INGOT_RUNTIME_CPU_THREADGROUP_WALK_H

#include <stdbool.h>
#include <stdint.h>

#define CPU_STRIPES 2u

struct cpu_stripe {
    uint32_t position[3]; /* of the group that comes next */
    uint64_t left;
};

struct cpu_group_walk {
    uint32_t groups[2]; /* of the grid, in x and y */
    uint32_t stripes, current;
    uint64_t unit, left_of_unit;
    struct cpu_stripe stripe[CPU_STRIPES];
};

/* Groups [first, first + count), count > 0; unit 0: one after the other. */
void cpu_group_walk_begin(struct cpu_group_walk *walk, const uint32_t groups[3], uint64_t first,
                          uint64_t count, uint64_t unit);

/* The group that comes next. */
static inline const uint32_t *cpu_group_walk_position(const struct cpu_group_walk *walk) {
    return walk->stripe[walk->current].position;
}

/* So many may be run with it: they come one after the other in x. At least one. */
static inline uint32_t cpu_group_walk_most(const struct cpu_group_walk *walk) {
    uint32_t in_row = walk->groups[0] - cpu_group_walk_position(walk)[0];
    return walk->left_of_unit < in_row ? (uint32_t)walk->left_of_unit : in_row;
}

/* `count` groups of those are done. False: that was all. */
bool cpu_group_walk_on(struct cpu_group_walk *walk, uint32_t count);

#endif
