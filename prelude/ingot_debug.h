/*
 * What debuggers ask of code that is made for them: which thread runs, and where the others are.
 * Included at the end of such sources only. src/base/cpu_abi.h has the same structs, and the CPU
 * device fills them in.
 */
#ifndef INGOT_DEBUG_H
#define INGOT_DEBUG_H

struct ingot_debug_position {
    unsigned x, y, z;
};

struct ingot_debug_thread {
    const void *group;
    unsigned simdgroup, lane;
    ingot_debug_position position; /* thread_position_in_grid */
    ingot_debug_position position_in_threadgroup, threadgroup;
    unsigned reserved;
};

/* Of a threadgroup, by thread_index_in_threadgroup. */
struct ingot_debug_lane {
    unsigned state;   /* 0: none, 1: may run, 2: at a barrier, 3: waits for other lanes, 4: ended */
    unsigned x, y, z; /* position in the threadgroup */
    const void *frame, *resumes,
        *stack; /* where it waits: frame pointer, return address, stack pointer */
};

extern "C" {
__attribute__((used)) ingot_debug_thread ingot_thread;
__attribute__((used)) ingot_debug_lane ingot_lanes[1024];

__attribute__((used)) bool ingot_thread_is(unsigned x, unsigned y, unsigned z) {
    return ingot_thread.position.x == x && ingot_thread.position.y == y &&
           ingot_thread.position.z == z;
}
__attribute__((used)) bool ingot_threadgroup_is(unsigned x, unsigned y, unsigned z) {
    return ingot_thread.threadgroup.x == x && ingot_thread.threadgroup.y == y &&
           ingot_thread.threadgroup.z == z;
}
}

#endif
