/*
 * Running threadgroups on the calling thread.
 *
 * Requires an executor that the thread has entered (cpu_thread_enter). Kernel code always
 * runs on a fiber's stack, so that a fault, a trap or a timeout can leave it by switching back
 * to the thread's own stack. Kernels without barriers, and groups of one SIMD-group, run whole
 * chunks of groups on fiber 0. Otherwise every SIMD-group is a fiber, and they take turns at
 * barriers from the highest to SIMD-group 0, which wakes the highest again. Many kernels have
 * all SIMD-groups read what SIMD-group 0 has left in threadgroup memory, and let SIMD-group 0
 * overwrite it without a barrier in between; in this order they work as on a GPU.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/cpu/cpu.h"
#include "runtime/profile/counters.h"
#include "runtime/sanitize/sanitizer.h"

#define GROUP_MEMORY_ALIGNMENT 128u
/* Between threadgroup memory and the guard page: as far as a masked access of a SIMD-group's 32
 * elements of 8 bytes reaches past the last of them that is there. AMD's Zen 4 takes some 2000
 * cycles for a masked access of which a part, masked or not, is on such a page. */
#define GROUP_MEMORY_SLACK 256u
#define ROW_BLOCK          128u /* threads of a row, when there are more rows to a group */

/* ---- executors ---- */

/* Checked code has a shadow behind it, at a distance that the code knows. */
static bool map_group_memory(struct cpu_executor *executor, size_t bytes, bool has_shadow) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = (bytes + GROUP_MEMORY_SLACK + page - 1) / page * page;
    size_t guard = has_shadow ? INGOT_CPU_SHADOW_DISTANCE - size : page;
    size_t all = has_shadow ? INGOT_CPU_SHADOW_DISTANCE + size + page : size + page;
    char *memory =
        mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    mprotect(memory + size, guard, PROT_NONE);
    mprotect(memory + all - page, page, PROT_NONE);
    executor->group_memory = memory;
    executor->group_memory_size = size;
    executor->group_memory_mapped = all;
    return true;
}

struct cpu_executor *cpu_executor_create(struct cpu_device *device) {
    struct cpu_executor *executor = calloc(1, sizeof *executor);
    if (!executor) {
        return NULL;
    }
    executor->device = device;
    if (!map_group_memory(executor, device->base.capabilities.max_threadgroup_memory,
                          device->base.sanitizer != NULL)) {
        free(executor);
        return NULL;
    }
    return executor;
}

void cpu_executor_free(struct cpu_executor *executor) {
    ig_stacks_free(&executor->stacks);
    cpu_log_free(executor);
    cpu_lanes_free(executor);
    munmap(executor->group_memory, executor->group_memory_mapped);
    for (int i = 0; i < CPU_LANE_SHAPES; i++) {
        free(executor->shapes[i].positions);
    }
    free(executor);
}

/* ---- one group's description ---- */

static uint32_t simdgroup_mask(const struct cpu_executor *executor, uint32_t simdgroup) {
    return simdgroup + 1 == executor->group.simdgroup_count ? executor->last_mask : UINT32_MAX;
}

static bool set_lane_positions(struct cpu_executor *executor) {
    struct ingot_cpu_group *group = &executor->group;
    const uint32_t *size = group->group_size;
    struct cpu_lane_shape *shape = NULL;
    for (int i = 0; i < CPU_LANE_SHAPES && !shape; i++) {
        if (executor->shapes[i].positions && !memcmp(executor->shapes[i].size, size, 12)) {
            shape = &executor->shapes[i];
        }
    }
    if (!shape) {
        shape = &executor->shapes[executor->next_shape];
        executor->next_shape = (executor->next_shape + 1) % CPU_LANE_SHAPES;
        if (!shape->positions) {
            shape->positions = calloc((size_t)3 * CPU_MAX_THREADS, sizeof *shape->positions);
        }
        if (!shape->positions) {
            return false;
        }
        memcpy(shape->size, size, 12);
        memset(shape->positions, 0, 3 * CPU_MAX_THREADS * sizeof *shape->positions);
        uint32_t thread = 0;
        for (uint32_t z = 0; z < size[2]; z++) {
            for (uint32_t y = 0; y < size[1]; y++) {
                for (uint32_t x = 0; x < size[0]; x++, thread++) {
                    shape->positions[thread] = x;
                    shape->positions[CPU_MAX_THREADS + thread] = y;
                    shape->positions[2 * CPU_MAX_THREADS + thread] = z;
                }
            }
        }
    }
    group->lane_positions = shape->positions;
    group->lane_stride = CPU_MAX_THREADS;
    return true;
}

/* The first variant of the position built-ins that is present and holds; COUNT: none. */
static enum ingot_cpu_ids choose_ids(const struct ingot_cpu_group *group,
                                     const struct ingot_cpu_kernel *kernel) {
    const bool holds[INGOT_CPU_IDS_COUNT] = {
        [INGOT_CPU_IDS_ALIGNED] =
            group->group_size[0] % 32 == 0 && group->full_group_size[0] % 32 == 0,
        [INGOT_CPU_IDS_LINEAR] = group->group_size[1] == 1 && group->group_size[2] == 1,
        [INGOT_CPU_IDS_GENERAL] = true,
        [INGOT_CPU_IDS_ROW] = false,
    };
    for (int ids = 0; ids < INGOT_CPU_IDS_COUNT; ids++) {
        if (holds[ids] && (kernel->simdgroup[ids] || kernel->group[ids])) {
            return (enum ingot_cpu_ids)ids;
        }
    }
    return INGOT_CPU_IDS_COUNT;
}

static bool fail_with(struct cpu_executor *executor, enum cpu_failure_kind kind,
                      const char *reason) {
    executor->failure.kind = kind;
    strncpy(executor->failure.reason, reason, sizeof executor->failure.reason - 1);
    return false;
}

static void begin_checks(const struct cpu_executor *executor) {
    const struct ingot_cpu_group *group = &executor->group;
    if (!group->sanitizer) {
        return;
    }
    if (executor->command->u.dispatch.counted) {
        ig_counted_begin_group(group);
    } else {
        ig_sanitized_begin_group(group);
    }
}

static void end_checks(const struct cpu_executor *executor) {
    if (executor->command->u.dispatch.sanitized) {
        ig_sanitized_end_group(&executor->group);
    }
}

/* Moves to the group at `position`; what depends on its extent only is kept when it can. */
static bool set_group(struct cpu_executor *executor, const uint32_t position[3],
                      enum ingot_cpu_ids *ids) {
    struct cpu_command *command = executor->command;
    struct ingot_cpu_group *group = &executor->group;
    bool same = true;
    for (int axis = 0; axis < 3; axis++) {
        uint32_t full = command->u.dispatch.group[axis];
        uint32_t rest = command->u.dispatch.threads[axis] - position[axis] * full;
        uint32_t size = rest < full ? rest : full;
        group->group_position[axis] = position[axis];
        same = same && group->group_size[axis] == size;
        group->group_size[axis] = size;
    }
    if (same) {
        begin_checks(executor);
        return true;
    }
    group->thread_count = group->group_size[0] * group->group_size[1] * group->group_size[2];
    group->simdgroup_count = (group->thread_count + 31) / 32;
    uint32_t tail = group->thread_count % 32;
    executor->last_mask = tail ? (1u << tail) - 1 : UINT32_MAX;
    const struct ingot_cpu_kernel *kernel = command->u.dispatch.code->kernel;
    *ids = choose_ids(group, kernel);
    if (*ids == INGOT_CPU_IDS_COUNT) {
        return fail_with(executor, CPU_TRAP, "the code has no version for this threadgroup shape");
    }
    executor->simdgroup_function = kernel->simdgroup[*ids];
    if (*ids == INGOT_CPU_IDS_GENERAL && !set_lane_positions(executor)) {
        return fail_with(executor, CPU_NO_MEMORY, "no memory for the positions of threads");
    }
    begin_checks(executor);
    return true;
}

static void begin_command(struct cpu_executor *executor, struct cpu_command *command) {
    struct ingot_cpu_group *group = &executor->group;
    executor->command = command;
    group->buffers = command->u.dispatch.buffers;
    /* At the end of the mapping, so that an overrun meets the guard page. */
    size_t bytes = (command->u.dispatch.threadgroup_bytes + (size_t)GROUP_MEMORY_ALIGNMENT - 1) &
                   ~((size_t)GROUP_MEMORY_ALIGNMENT - 1);
    group->threadgroup_memory =
        executor->group_memory + executor->group_memory_size - GROUP_MEMORY_SLACK - bytes;
    group->threadgroup_offsets = command->u.dispatch.offsets;
    group->services = &cpu_services;
    group->sanitizer = (const struct ingot_cpu_sanitizer *)command->u.dispatch.sanitized;
    if (command->u.dispatch.counted) {
        group->sanitizer = &ig_counted_worker(command->u.dispatch.counted, executor)->table;
    }
    group->runtime = executor;
    group->race = NULL;
    group->ranges = &executor->ranges;
    if (command->u.dispatch.sanitized) {
        executor->ranges = (struct ingot_cpu_ranges){0};
    }
    executor->lenient = executor->device->lenient_barriers ||
                        ig_sanitized_wants(command->u.dispatch.sanitized, IG_SANITIZE_barrier);
    memcpy(group->groups_per_grid, command->u.dispatch.groups, 12);
    memcpy(group->full_group_size, command->u.dispatch.group, 12);
    memcpy(group->threads_per_grid, command->u.dispatch.threads, 12);
    const uint32_t *full = command->u.dispatch.group;
    group->full_simdgroup_count = (full[0] * full[1] * full[2] + 31) / 32;
    memset(group->group_size, 0, sizeof group->group_size);
}

/* ---- on a fiber ---- */

IG_NEVER_RETURNS void cpu_escape(struct cpu_executor *executor) {
    executor->in_kernel = 0;
    ig_fiber_switch(&executor->abandoned, &executor->main, true);
    __builtin_unreachable();
}

void cpu_reenter_kernel(struct cpu_executor *executor) {
    executor->in_kernel = 1;
    if (executor->expired) {
        executor->failure.kind = CPU_TIMEOUT;
        cpu_escape(executor);
    }
}

/* The rows [y, y_end) x [z, z_end) of the threads [x, x_end), block by block, so that what the
 * rows of a group share stays in the cache. */
static void run_rows(struct cpu_executor *executor, ingot_cpu_row_fn *row, const uint32_t from[3],
                     const uint32_t end[3]) {
    struct ingot_cpu_group *group = &executor->group;
    bool one_row = end[1] - from[1] == 1 && end[2] - from[2] == 1;
    for (uint32_t x = from[0], next; x < end[0]; x = next) {
        next = end[0];
        if (!one_row && end[0] - x > ROW_BLOCK + INGOT_SIMD_WIDTH) {
            next = (x + ROW_BLOCK) & ~(INGOT_SIMD_WIDTH - 1);
        }
        for (uint32_t z = from[2]; z < end[2]; z++) {
            for (uint32_t y = from[1]; y < end[1]; y++) {
                group->row[0] = y;
                group->row[1] = z;
                row(group, x, next);
            }
        }
    }
}

/* `count` blocks beside each other in x, row by row; groups are cut into command->split of them.
 * How many; 0: they are so narrow that the variant for any shape wastes fewer lanes. */
static uint32_t run_in_rows(struct cpu_executor *executor, const uint32_t position[3],
                            uint32_t count) {
    const struct cpu_command *command = executor->command;
    const struct ingot_cpu_kernel *kernel = command->u.dispatch.code->kernel;
    uint32_t from[3], end[3], split = command->split;
    for (int axis = 0; axis < 3; axis++) {
        uint32_t full = command->u.dispatch.group[axis] / (axis == 0 ? split : 1);
        uint64_t past = ((uint64_t)position[axis] + (axis == 0 ? count : 1)) * full;
        uint32_t threads = command->u.dispatch.threads[axis];
        from[axis] = position[axis] * full;
        end[axis] = past < threads ? (uint32_t)past : threads;
    }
    bool one_row = end[1] - from[1] == 1 && end[2] - from[2] == 1;
    if (!one_row && end[0] - from[0] < INGOT_SIMD_WIDTH && kernel->group[INGOT_CPU_IDS_GENERAL]) {
        return 0;
    }
    memcpy(executor->group.group_position, position, sizeof executor->group.group_position);
    executor->group.group_position[0] = position[0] / split;
    executor->run = (position[0] + count - 1) / split - position[0] / split + 1;
    if (from[0] < end[0]) { /* not so: blocks of a last group that has fewer */
        run_rows(executor, kernel->row, from, end);
    }
    return count;
}

static void run_group(struct cpu_executor *executor, const struct ingot_cpu_kernel *kernel,
                      enum ingot_cpu_ids ids) {
    executor->run = 1;
    if (ids < INGOT_CPU_IDS_COUNT && kernel->group[ids]) {
        kernel->group[ids](&executor->group);
        return;
    }
    for (uint32_t simdgroup = 0; simdgroup < executor->group.simdgroup_count; simdgroup++) {
        executor->simdgroup_function(&executor->group, simdgroup,
                                     simdgroup_mask(executor, simdgroup));
    }
}

/* A chunk of groups, SIMD-groups in turn. */
IG_NEVER_RETURNS static void run_chunk(void *context) {
    struct cpu_executor *executor = context;
    const struct ingot_cpu_kernel *kernel = executor->command->u.dispatch.code->kernel;
    struct cpu_group_walk *walk = &executor->walk;
    enum ingot_cpu_ids ids = INGOT_CPU_IDS_COUNT;
    uint32_t count;
    cpu_reenter_kernel(executor);
    do {
        const uint32_t *position = cpu_group_walk_position(walk);
        count = kernel->row ? run_in_rows(executor, position, cpu_group_walk_most(walk)) : 0;
        if (count == 0) {
            if (!set_group(executor, position, &ids)) {
                break;
            }
            run_group(executor, kernel, ids);
            end_checks(executor);
            count = 1;
        }
    } while (cpu_group_walk_on(walk, count));
    cpu_escape(executor);
}

/* The order of the SIMD-groups up to the next barrier. */
static void begin_round(struct cpu_executor *executor) {
    uint32_t count = executor->group.simdgroup_count;
    executor->turn = executor->arrived = 0;
    if (cpu_schedule_is_random(executor->command->u.dispatch.schedule)) {
        cpu_schedule_shuffle(&executor->shuffles, executor->order, count);
    }
}

/* The next SIMD-group that still runs. The barrier is complete when the round is. With lenient
 * barriers those that have ended do not count. */
static uint32_t next_running(struct cpu_executor *executor) {
    uint32_t count = executor->group.simdgroup_count;
    do {
        if (++executor->turn == count) {
            if (executor->ended && executor->arrived && !executor->lenient) {
                executor->failure.kind = CPU_BARRIER_ENDED;
                executor->failure.mask = executor->ended_mask;
                cpu_escape(executor);
            }
            if (executor->ended == count) {
                cpu_escape(executor);
            }
            begin_round(executor);
        }
    } while (executor->ended_mask >> executor->order[executor->turn] & 1);
    return executor->order[executor->turn];
}

/* The running SIMD-group has arrived at a barrier or ended: on to the next one. */
IG_NEVER_RETURNS static void advance(struct cpu_executor *executor, bool ends) {
    uint32_t current = executor->current, next = next_running(executor);
    if (next == current) {
        return;
    }
    executor->current = next;
    executor->in_kernel = 0; /* a switch is not to be left half-way */
    ig_fiber_switch(&executor->stacks.fibers[current], &executor->stacks.fibers[next], ends);
    cpu_reenter_kernel(executor);
}

IG_NEVER_RETURNS static void run_simdgroup(void *context) {
    struct cpu_executor *executor = context;
    cpu_reenter_kernel(executor);
    uint32_t simdgroup = executor->current;
    executor->simdgroup_function(&executor->group, simdgroup, simdgroup_mask(executor, simdgroup));
    executor->ended++;
    executor->ended_mask |= 1u << simdgroup;
    advance(executor, true);
    __builtin_unreachable();
}

static void barrier(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask) {
    struct cpu_executor *executor = group->runtime;
    if (mask != simdgroup_mask(executor, simdgroup) && !executor->lenient) {
        executor->failure.kind = CPU_BARRIER_LANES;
        executor->failure.simdgroup = simdgroup;
        executor->failure.mask = mask;
        cpu_escape(executor);
    }
    if (group->simdgroup_count == 1) {
        return;
    }
    executor->arrived++;
    advance(executor, false);
}

static void trap(const struct ingot_cpu_group *group, const char *reason) {
    struct cpu_executor *executor = group->runtime;
    fail_with(executor, CPU_TRAP, reason ? reason : "no reason was given");
    cpu_escape(executor);
}

/* services.c */
void cpu_service_log(const struct ingot_cpu_group *group, uint32_t level, const char *format,
                     uint32_t count, const uint64_t *args);

const struct ingot_cpu_services cpu_services = {
    .barrier = barrier,
    .log = cpu_service_log,
    .trap = trap,
    .run_threads = cpu_run_threads,
    .meet = cpu_meet,
};

/* ---- on the thread's own stack ---- */

/* Kernels run with default rounding and without flush-to-zero, whatever the thread has. */
/* Kernels may store past the caches (__ingot_stream_b32), which other stores do not wait for. */
static void order_streamed_stores(void) {
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#elif defined(__aarch64__)
    __asm__ volatile("dmb ishst" ::: "memory");
#endif
}

#if defined(__x86_64__)
#define DEFAULT_MXCSR 0x1f80u
static uint64_t floating_point_enter(void) {
    uint32_t saved = __builtin_ia32_stmxcsr();
    if ((saved & ~0x3fu) != DEFAULT_MXCSR) {
        __builtin_ia32_ldmxcsr(DEFAULT_MXCSR);
    }
    return saved;
}
static void floating_point_leave(uint64_t saved) {
    if ((saved & ~0x3fu) != DEFAULT_MXCSR) {
        __builtin_ia32_ldmxcsr((uint32_t)saved);
    }
}
#elif defined(__aarch64__)
static uint64_t floating_point_enter(void) {
    uint64_t saved;
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved));
    if (saved) {
        __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0));
    }
    return saved;
}
static void floating_point_leave(uint64_t saved) {
    if (saved) {
        __asm__ volatile("msr fpcr, %0" : : "r"(saved));
    }
}
#endif

static bool prepare_stacks(struct cpu_executor *executor, uint32_t count, size_t bytes) {
    struct ig_stacks *stacks = &executor->stacks;
    if (stacks->count >= count && stacks->bytes >= bytes) {
        return true;
    }
    if (stacks->bytes > bytes) {
        bytes = stacks->bytes;
    }
    if (stacks->count > count) {
        count = stacks->count;
    }
    ig_stacks_free(stacks);
    return ig_stacks_create(stacks, count, bytes, CPU_STACK_GUARD) ||
           fail_with(executor, CPU_NO_MEMORY, "no memory for the stacks of SIMD-groups");
}

/* 2 cache lines plus an odd number of them from one stack to the next. */
static size_t colour(uint32_t fiber) {
    return 64 + (size_t)fiber % 16 * 576 % 4096;
}

/* From the highest SIMD-group to SIMD-group 0, unless a schedule says otherwise. */
static void begin_order(struct cpu_executor *executor) {
    uint32_t count = executor->group.simdgroup_count;
    const uint32_t *at = executor->group.group_position;
    const uint32_t *grid = executor->group.groups_per_grid;
    for (uint32_t i = 0; i < count; i++) {
        executor->order[i] = count - 1 - i;
    }
    executor->ended = executor->ended_mask = 0;
    executor->shuffles =
        cpu_schedule_state(executor->command->u.dispatch.schedule,
                           at[0] + (uint64_t)grid[0] * (at[1] + (uint64_t)grid[1] * at[2]));
    begin_round(executor);
    executor->current = executor->order[0];
}

static bool run_with_barriers(struct cpu_executor *executor) {
    executor->run = 1;
    enum ingot_cpu_ids ids = INGOT_CPU_IDS_COUNT;
    do {
        if (!set_group(executor, cpu_group_walk_position(&executor->walk), &ids)) {
            return false;
        }
        uint32_t count = executor->group.simdgroup_count;
        for (uint32_t simdgroup = 0; simdgroup < count; simdgroup++) {
            ig_fiber_prepare(&executor->stacks.fibers[simdgroup], colour(simdgroup), run_simdgroup,
                             executor);
        }
        begin_order(executor);
        ig_fiber_switch(&executor->main, &executor->stacks.fibers[executor->current], false);
        if (executor->failure.kind != CPU_NO_FAILURE) {
            return false;
        }
        end_checks(executor);
    } while (cpu_group_walk_on(&executor->walk, 1));
    return true;
}

/* Threadgroups [first, first + count), as they are numbered. */
static void run_walk(struct cpu_executor *executor, uint64_t first, uint64_t count, bool fibers) {
    const struct cpu_command *command = executor->command;
    const uint32_t *groups = command->u.dispatch.groups, split = command->split;
    cpu_group_walk_begin(&executor->walk, (uint32_t[]){groups[0] * split, groups[1], groups[2]},
                         first * split, count * split, command->stripe_unit);
    if (fibers) {
        run_with_barriers(executor);
    } else {
        ig_fiber_prepare(&executor->stacks.fibers[0], colour(0), run_chunk, executor);
        ig_fiber_switch(&executor->main, &executor->stacks.fibers[0], false);
    }
}

/* The same, as a schedule numbers them. */
static void run_scheduled(struct cpu_executor *executor, uint64_t first, uint64_t count,
                          bool fibers) {
    const struct cpu_command *command = executor->command;
    for (uint64_t i = first; i < first + count && executor->failure.kind == CPU_NO_FAILURE; i++) {
        run_walk(executor, cpu_schedule_group(command->u.dispatch.schedule, i, command->pieces), 1,
                 fibers);
    }
}

bool cpu_run_groups(struct cpu_executor *executor, struct cpu_command *command, uint64_t first,
                    uint64_t count) {
    const struct ingot_cpu_kernel *kernel = command->u.dispatch.code->kernel;
    executor->failure.kind = CPU_NO_FAILURE;
    begin_command(executor, command);
    uint32_t stacks = cpu_stack_count(kernel, executor->group.full_simdgroup_count);
    bool fibers = stacks > 1;
    if (!prepare_stacks(executor, stacks, ingot_cpu_stack_bytes(kernel) + CPU_STACK_MARGIN)) {
        return false;
    }
    cpu_thread_unblock(executor, command->is_own);
    cpu_lanes_begin(kernel);
    uint64_t saved = floating_point_enter();
    if (atomic_load_explicit(&executor->deadline, memory_order_relaxed) != command->deadline) {
        executor->expired = 0;
        /* In this order: the watchdog goes to sleep the other way round. */
        atomic_store(&executor->deadline, command->deadline);
        cpu_watchdog_poke(executor->device);
    }
    const bool units = kernel->flags & INGOT_CPU_KERNEL_MATRIX_UNITS;
    if (units) {
        cpu_matrix_units_enter();
    }
    if (command->u.dispatch.schedule) {
        run_scheduled(executor, first, count, fibers);
    } else {
        run_walk(executor, first, count, fibers);
    }
    if (units) {
        cpu_matrix_units_leave();
    }
    floating_point_leave(saved);
    cpu_lanes_end(executor, kernel);
    if (executor->failure.kind == CPU_NO_FAILURE) {
        return true;
    }
    /* The abandoned fibers hold whatever the kernel left: start afresh. */
    ig_stacks_free(&executor->stacks);
    return false;
}

void cpu_end_groups(struct cpu_executor *executor) {
    atomic_store_explicit(&executor->deadline, 0, memory_order_relaxed);
    executor->expired = 0;
    if (executor->command->u.dispatch.code->kernel->flags & INGOT_CPU_KERNEL_NONTEMPORAL) {
        order_streamed_stores();
    }
}
