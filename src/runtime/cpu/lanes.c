/*
 * Code for debuggers: each thread of a SIMD-group is a fiber, and runs until it comes to something
 * that concerns other lanes. When no thread of the SIMD-group can go on, those go on that are
 * furthest behind in the code: they are the ones that the others, if any, wait for. What is behind
 * is told from the return addresses of the functions they are in, the outermost first, since code
 * lies in the order of the source (docs/design/debugger.md).
 *
 * Requires code whose functions keep frame pointers. The fiber of the SIMD-group, which group.c
 * runs, switches between the threads' fibers, and runs what they do together.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/cpu/cpu.h"

#define MOST_FRAMES  256
#define SERVICE_ROOM ((size_t)128 << 10) /* for services, and what a debugger calls */

struct path { /* return addresses, the outermost first */
    size_t count;
    const void *at[MOST_FRAMES];
};

struct lane {
    struct cpu_executor *executor;
    const struct ingot_cpu_debug *debug;
    struct ingot_cpu_lane *shown; /* the object's, for debuggers */
    uint32_t simdgroup, index;    /* the lane */
    const char *top;              /* frames of the kernel's code are below it */
    /* of one that waits */
    ingot_cpu_simdgroup_fn *operation;
    void *operands;
    uint32_t kind;
};

struct cpu_lanes {
    struct ig_stacks stacks;                        /* one per thread of a threadgroup */
    struct ig_fiber schedulers[CPU_MAX_SIMDGROUPS]; /* where SIMD-groups' fibers are left */
    struct lane lanes[CPU_MAX_THREADS];
    struct path paths[INGOT_SIMD_WIDTH]; /* of the SIMD-group that decides who goes on */
    uint32_t current;                    /* the thread that runs, by its index */
    /* the threadgroup that runs, and which of its SIMD-groups have begun */
    const struct cpu_command *command;
    uint32_t position[3], begun;
};

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void guard_lock(void) {
    static struct ig_fork_hook hook;
    ig_fork_guard_mutex(&hook, &one_at_a_time);
}

void cpu_lanes_begin(const struct ingot_cpu_kernel *kernel) {
    if (kernel->flags & INGOT_CPU_KERNEL_DEBUG) {
        pthread_mutex_lock(&one_at_a_time);
    }
}

void cpu_lanes_end(struct cpu_executor *executor, const struct ingot_cpu_kernel *kernel) {
    if (!(kernel->flags & INGOT_CPU_KERNEL_DEBUG)) {
        return;
    }
    pthread_mutex_unlock(&one_at_a_time);
    if (executor->failure.kind != CPU_NO_FAILURE) {
        cpu_lanes_free(executor); /* they hold whatever the kernel left */
    } else if (executor->lanes) {
        executor->lanes->command = NULL; /* the next command may be at the same address */
    }
}

void cpu_lanes_free(struct cpu_executor *executor) {
    if (executor->lanes) {
        ig_stacks_free(&executor->lanes->stacks);
        free(executor->lanes);
        executor->lanes = NULL;
    }
}

/* ---- switching ---- */

static void show_thread(const struct lane *lane, const struct ingot_cpu_group *group) {
    struct ingot_cpu_thread *thread = lane->debug->thread;
    thread->group = group;
    thread->simdgroup = lane->simdgroup;
    thread->lane = lane->index;
    for (int axis = 0; axis < 3; axis++) {
        uint32_t position = lane->shown->position[axis];
        thread->position_in_threadgroup[axis] = position;
        thread->threadgroup[axis] = group->group_position[axis];
        thread->position[axis] =
            group->group_position[axis] * group->full_group_size[axis] + position;
    }
}

/* To the SIMD-group's fiber. */
IG_NEVER_RETURNS static void leave_lane(struct lane *lane, bool ends) {
    struct cpu_executor *executor = lane->executor;
    struct cpu_lanes *lanes = executor->lanes;
    uint32_t thread = lane->simdgroup * INGOT_SIMD_WIDTH + lane->index;
    executor->in_kernel = 0; /* a switch is not to be left half-way */
    ig_fiber_switch(&lanes->stacks.fibers[thread], &lanes->schedulers[lane->simdgroup], ends);
    cpu_reenter_kernel(executor);
}

IG_NEVER_RETURNS static void run_lane(void *context) {
    struct lane *lane = context;
    lane->top = __builtin_frame_address(0);
    cpu_reenter_kernel(lane->executor);
    lane->debug->run();
    lane->shown->state = INGOT_CPU_LANE_ENDED;
    leave_lane(lane, true);
    __builtin_unreachable();
}

/* Until it waits or ends. */
IG_NEVER_RETURNS static void resume(struct lane *lane, const struct ingot_cpu_group *group) {
    struct cpu_executor *executor = lane->executor;
    struct cpu_lanes *lanes = executor->lanes;
    uint32_t thread = lane->simdgroup * INGOT_SIMD_WIDTH + lane->index;
    lanes->current = thread;
    show_thread(lane, group);
    executor->in_kernel = 0;
    ig_fiber_switch(&lanes->schedulers[lane->simdgroup], &lanes->stacks.fibers[thread], false);
    cpu_reenter_kernel(executor);
}

void cpu_meet(const struct ingot_cpu_group *group, ingot_cpu_simdgroup_fn *operation,
              void *operands, const void *frame, uint32_t kind) {
    struct cpu_executor *executor = group->runtime;
    struct lane *lane = &executor->lanes->lanes[executor->lanes->current];
    lane->operation = operation;
    lane->operands = operands;
    lane->kind = kind;
    lane->shown->frame = frame;
    lane->shown->resumes = __builtin_return_address(0);
    lane->shown->stack = __builtin_frame_address(0);
    lane->shown->state =
        kind == INGOT_CPU_MEET_AT_BARRIER ? INGOT_CPU_LANE_AT_BARRIER : INGOT_CPU_LANE_WAITS;
    leave_lane(lane, false);
}

/* ---- who goes on ---- */

/* A frame pointer points to that of the caller, and the return address follows it. */
__attribute__((no_sanitize("address"))) static void find_path(const struct lane *lane,
                                                              struct path *path) {
    const void *const *frame = lane->shown->frame;
    size_t depth = 0;
    for (const void *const *f = frame; depth < 1u << 20; depth++) {
        const void *const *next = f[0];
        if (next <= f || (const char *)next >= lane->top) {
            break;
        }
        f = next;
    }
    path->count = depth < MOST_FRAMES ? depth : MOST_FRAMES;
    for (size_t i = depth; i > 0; i--, frame = frame[0]) {
        if (i <= MOST_FRAMES) {
            path->at[i - 1] = frame[1];
        }
    }
}

/* Negative: a is behind b. */
static int compare_paths(const struct path *a, const struct path *b) {
    size_t count = a->count < b->count ? a->count : b->count;
    for (size_t i = 0; i < count; i++) {
        if (a->at[i] != b->at[i]) {
            return (uintptr_t)a->at[i] < (uintptr_t)b->at[i] ? -1 : 1;
        }
    }
    return a->count == b->count ? 0 : a->count < b->count ? 1 : -1;
}

/* Of the lanes in `waiting`, those that are furthest behind. */
static uint32_t choose(struct cpu_lanes *lanes, const struct lane *first, uint32_t waiting) {
    uint32_t chosen = 0, best = 0;
    for (uint32_t left = waiting; left; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(left);
        find_path(&first[i], &lanes->paths[i]);
        int order = chosen ? compare_paths(&lanes->paths[i], &lanes->paths[best]) : -1;
        if (order < 0) {
            chosen = 0;
            best = i;
        }
        chosen |= order <= 0 ? 1u << i : 0;
    }
    return chosen;
}

/* What the lanes of `mask` have met for; all of them may go on then. */
static void meet(const struct ingot_cpu_group *group, struct lane *first, uint32_t mask) {
    struct lane *one = &first[__builtin_ctz(mask)];
    for (uint32_t i = 0; i < INGOT_SIMD_WIDTH; i++) {
        /* operands of lanes that do not take part may be read, but not used */
        one->debug->operands[i] = mask >> i & 1 ? first[i].operands : one->operands;
    }
    if (one->kind == INGOT_CPU_MEET_AT_BARRIER) {
        cpu_services.barrier(group, one->simdgroup, mask);
    } else if (one->kind == INGOT_CPU_MEET_TO_OPERATE) {
        show_thread(one, group);
        one->operation(group, one->simdgroup, mask);
    }
    for (uint32_t left = mask; left; left &= left - 1) {
        first[__builtin_ctz(left)].shown->state = INGOT_CPU_LANE_READY;
    }
}

/* ---- a SIMD-group ---- */

static bool prepare(struct cpu_executor *executor, const struct ingot_cpu_debug *debug) {
    if (!executor->lanes) {
        executor->lanes = calloc(1, sizeof *executor->lanes);
    }
    struct ig_stacks *stacks = executor->lanes ? &executor->lanes->stacks : NULL;
    uint32_t count = executor->group.full_simdgroup_count * INGOT_SIMD_WIDTH;
    size_t bytes = debug->stack_bytes + SERVICE_ROOM;
    if (stacks && (stacks->count < count || stacks->bytes < bytes)) {
        /* nothing of an earlier kernel runs on them */
        count = count > stacks->count ? count : stacks->count;
        bytes = bytes > stacks->bytes ? bytes : stacks->bytes;
        ig_stacks_free(stacks);
        return ig_stacks_create(stacks, count, bytes, CPU_STACK_GUARD);
    }
    return stacks != NULL;
}

/* All threads of a new threadgroup are shown as such that have not begun. */
static void start_group(struct cpu_executor *executor, uint32_t simdgroup,
                        const struct ingot_cpu_debug *debug) {
    struct cpu_lanes *lanes = executor->lanes;
    const struct ingot_cpu_group *group = &executor->group;
    bool is_same = lanes->command == executor->command && !(lanes->begun >> simdgroup & 1) &&
                   !memcmp(lanes->position, group->group_position, sizeof lanes->position);
    if (!is_same) {
        lanes->command = executor->command;
        memcpy(lanes->position, group->group_position, sizeof lanes->position);
        lanes->begun = 0;
        memset(debug->lanes, 0, INGOT_CPU_MAX_LANES * sizeof *debug->lanes);
        for (uint32_t thread = 0; thread < group->thread_count; thread++) {
            debug->lanes[thread].state = INGOT_CPU_LANE_READY;
            for (int axis = 0; axis < 3; axis++) {
                debug->lanes[thread].position[axis] =
                    group->lane_positions[(uint64_t)axis * group->lane_stride + thread];
            }
        }
    }
    lanes->begun |= 1u << simdgroup;
}

static void start_lanes(struct cpu_executor *executor, uint32_t simdgroup, uint32_t mask,
                        const struct ingot_cpu_debug *debug) {
    start_group(executor, simdgroup, debug);
    for (uint32_t i = 0; i < INGOT_SIMD_WIDTH; i++) {
        uint32_t thread = simdgroup * INGOT_SIMD_WIDTH + i;
        struct lane *lane = &executor->lanes->lanes[thread];
        *lane = (struct lane){.executor = executor,
                              .debug = debug,
                              .shown = &debug->lanes[thread],
                              .simdgroup = simdgroup,
                              .index = i};
        if (mask >> i & 1) {
            ig_fiber_prepare(&executor->lanes->stacks.fibers[thread], 64, run_lane, lane);
        }
    }
}

static uint32_t lanes_in(const struct lane *first, uint32_t mask, bool waits) {
    uint32_t found = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(left), state = first[i].shown->state;
        bool is_waiting = state == INGOT_CPU_LANE_AT_BARRIER || state == INGOT_CPU_LANE_WAITS;
        found |= (waits ? is_waiting : state == INGOT_CPU_LANE_READY) ? 1u << i : 0;
    }
    return found;
}

void cpu_run_threads(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask,
                     const struct ingot_cpu_debug *debug) {
    struct cpu_executor *executor = group->runtime;
    executor->in_kernel = 0;
    if (!prepare(executor, debug)) {
        executor->failure.kind = CPU_NO_MEMORY;
        strncpy(executor->failure.reason, "no memory for the stacks of threads",
                sizeof executor->failure.reason - 1);
        cpu_escape(executor);
    }
    struct lane *first = &executor->lanes->lanes[simdgroup * INGOT_SIMD_WIDTH];
    ig_fiber_adopt_thread(&executor->lanes->schedulers[simdgroup]);
    start_lanes(executor, simdgroup, mask, debug);
    cpu_reenter_kernel(executor);
    for (;;) {
        for (uint32_t left = lanes_in(first, mask, false); left; left &= left - 1) {
            resume(&first[__builtin_ctz(left)], group);
        }
        uint32_t waiting = lanes_in(first, mask, true);
        if (!waiting) {
            return;
        }
        meet(group, first, choose(executor->lanes, first, waiting));
    }
}
