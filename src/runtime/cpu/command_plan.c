/*
 * Planning a command: what it costs, by what its kernel cost before; whether the leader runs it
 * alone or shares it, in chunks of which size; and in which order threads go through their memory.
 */
#include <time.h>

#include "base/last_cache.h"
#include "runtime/cpu/cpu.h"

#define QUEUED_ALONE_NS   3000u /* of work are not worth sharing where BACKLOG_NS are queued */
#define BACKLOG_NS        40000u
#define BACKLOG_MOST_NS   400000u   /* less than makes a command long */
#define BRIEF_NS          100000u   /* who helps with so little work stays in the team */
#define CROWDED_NS        10000000u /* longer work is for all workers, also without CPUs of theirs */
#define HANDOVER_NS       400u
#define CHUNKS_PER_THREAD 8u
#define BLIT_BYTES_PER_NS 8u
#define ROW_THREADS       64u
#define ALTERNATED_NS     400000u /* work that may be more than the caches hold, */
#define STRETCH_NS        50000u  /* and a part of it that is less */
#define FIRST_TRIALS      4u      /* of two orders in turn, */
#define TRIED_EVERY       32u     /* and then of the slower one */
#define LEAST_STRIPED     64u     /* threadgroups */

/* ---- what was measured ---- */

void cpu_note_cost(struct cpu_code *code, uint64_t nanoseconds, uint64_t groups) {
    uint64_t cost = nanoseconds * 16 / groups + 1;
    uint32_t mean = atomic_load_explicit(&code->cost, memory_order_relaxed);
    if (cost > UINT32_MAX) {
        cost = UINT32_MAX;
    }
    uint32_t updated = mean ? (uint32_t)(((uint64_t)mean * 3 + cost) / 4) : (uint32_t)cost;
    atomic_store_explicit(&code->cost, updated, memory_order_relaxed);
}

uint64_t cpu_time_to_compare(const struct cpu_command *command) {
    struct timespec time;
    if (!command->is_compared || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) {
        return 0;
    }
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Follows what is faster at once and what is slower by and by: others may have been in the way. */
void cpu_note_order(const struct cpu_command *command, uint64_t start, uint64_t groups) {
    struct cpu_code *code = command->u.dispatch.code;
    uint64_t nanoseconds = cpu_time_to_compare(command) - start;
    atomic_uint *kept = command->stripe_unit ? &code->striped_cost : &code->plain_cost;
    uint32_t before = atomic_load_explicit(kept, memory_order_relaxed);
    uint64_t cost = nanoseconds * 16 / groups + 1;
    if (before && cost > before) {
        cost = before + (cost - before) / 8;
    }
    atomic_store_explicit(kept, cost < UINT32_MAX ? (uint32_t)cost : UINT32_MAX,
                          memory_order_relaxed);
}

/* ---- plans ---- */

uint64_t cpu_largest_chunk(const struct cpu_executor *executor, const struct cpu_command *command) {
    uint64_t most =
        command->pieces / ((uint64_t)executor->device->worker_count * CHUNKS_PER_THREAD);
    return most ? most : 1;
}

uint64_t cpu_expected_work(const struct cpu_command *command) {
    uint64_t work;
    switch (command->kind) {
    case CPU_DISPATCH: {
        uint64_t cost = atomic_load_explicit(&command->u.dispatch.code->cost, memory_order_relaxed);
        if (cost == 0 || __builtin_mul_overflow(cost, command->pieces, &work)) {
            return CPU_UNKNOWN_WORK;
        }
        return work / 16;
    }
    case CPU_COPY:
    case CPU_FILL:
        return command->u.blit.length / BLIT_BYTES_PER_NS;
    default:
        return 0;
    }
}

/* Groups that are narrow in x, and run by rows, need others beside them to fill SIMD-groups. */
static uint64_t smallest_chunk(const struct cpu_command *command) {
    if (command->kind != CPU_DISPATCH || !command->u.dispatch.code->kernel->row) {
        return 1;
    }
    uint64_t groups = ROW_THREADS / command->u.dispatch.group[0];
    if (groups > command->u.dispatch.groups[0]) {
        groups = command->u.dispatch.groups[0];
    }
    return groups ? groups : 1;
}

/* Work like this command's that is queued: who is woken for one finds the others. */
static uint64_t backlog(const struct cpu_stream *stream, const struct cpu_command *command) {
    uint64_t completed = atomic_load_explicit(&stream->completed, memory_order_relaxed);
    uint64_t submitted = atomic_load_explicit(&stream->submitted, memory_order_relaxed);
    uint64_t work = command->work * (submitted - completed);
    return work < BACKLOG_MOST_NS ? work : BACKLOG_MOST_NS;
}

/* The bytes that a dispatch by rows goes through, where the compiler knows them; else 0. */
static uint64_t row_bytes(const struct cpu_command *command) {
    const uint32_t *threads = command->u.dispatch.threads;
    uint32_t flags = command->u.dispatch.code->kernel->flags;
    return (uint64_t)(flags / INGOT_CPU_KERNEL_BYTES_PER_THREAD % 256) * threads[0] * threads[1] *
           threads[2];
}

/* Commands on much data, one after the other, often meet at it: where one ended, the caches hold
 * what the next can begin with. Every other one goes through its shares from their ends, a stretch
 * at a time: long ones for the last cache, shorter ones for those of the cores. Only where the
 * order cannot matter: kernels that run by rows have no atomics. */
static void alternate_direction(struct cpu_stream *stream, struct cpu_command *command,
                                uint64_t work, bool alone) {
    if (command->stripe_unit || command->kind != CPU_DISPATCH ||
        !command->u.dispatch.code->kernel->row || work == CPU_UNKNOWN_WORK) {
        return;
    }
    uint64_t stretches = work / STRETCH_NS;
    if (work < ALTERNATED_NS) {
        uint64_t quarter = ig_core_cache_bytes() / 4, bytes = row_bytes(command);
        if (bytes / (alone ? 1 : command->most_shares) < 3 * quarter) {
            return;
        }
        stretches = bytes / quarter;
    }
    stream->backwards = !stream->backwards;
    if (stream->backwards) {
        command->stretch = command->pieces / stretches + 1;
    }
}

/* Two places to work at in turn, or one after the other? That depends on the machine and on the
 * size of the pages, which cannot be known: the first commands of a kernel try both, and from time
 * to time one does what was slower. */
static bool prefers_stripes(const struct cpu_device *device, struct cpu_code *code) {
    if (device->stripes != CPU_STRIPES_COMPARED) {
        return device->stripes == CPU_STRIPES_ON;
    }
    uint32_t number = atomic_fetch_add_explicit(&code->compared, 1, memory_order_relaxed);
    if (number < FIRST_TRIALS) {
        return number % 2;
    }
    uint32_t plain = atomic_load_explicit(&code->plain_cost, memory_order_relaxed);
    uint32_t striped = atomic_load_explicit(&code->striped_cost, memory_order_relaxed);
    return (striped < plain) != (number % TRIED_EVERY == 0);
}

/* The stripe unit, in threads of a row, of a kernel that runs by rows and goes through more memory
 * than the caches hold; else 0. A unit is a page of each array; less where there are so many arrays
 * that one loses what was prefetched for another. */
static uint32_t row_stripe_unit(const struct cpu_command *command) {
    static const uint32_t unit_bytes[] = {0, 4096, 8192, 4096, 2048};
    const uint32_t *group = command->u.dispatch.group;
    uint32_t flags = command->u.dispatch.code->kernel->flags;
    uint32_t arrays = flags / INGOT_CPU_KERNEL_ARRAYS;
    uint32_t each = flags / INGOT_CPU_KERNEL_BYTES_PER_THREAD % 256;
    if (!each || arrays >= sizeof unit_bytes / sizeof *unit_bytes || group[1] * group[2] != 1 ||
        row_bytes(command) <= ig_last_cache_bytes()) {
        return 0;
    }
    return unit_bytes[arrays] / each;
}

/* The same of a kernel that says that it moves memory, group by group: which, only its buffers
 * tell. */
static bool moves_much(const struct cpu_command *command) {
    uint64_t bytes = 0;
    if (!(command->u.dispatch.code->kernel->flags & INGOT_CPU_KERNEL_MEMORY_BOUND)) {
        return false;
    }
    for (uint32_t slot = 0; slot < command->u.dispatch.slots; slot++) {
        if (command->u.dispatch.retained[slot]) {
            bytes += command->u.dispatch.retained[slot]->length;
        }
    }
    return bytes > ig_last_cache_bytes() && command->pieces >= LEAST_STRIPED;
}

/* At the end of a page a core begins anew: it looks up where the next one is, and only then loads
 * ahead there. Where pages are small, it is faster for a thread to work at two places in turn:
 * while it is at one, the other is got ready. What is in the caches needs none of this. */
static void stripe(const struct cpu_device *device, struct cpu_command *command) {
    if (command->kind != CPU_DISPATCH) {
        return;
    }
    uint32_t together = row_stripe_unit(command), split = 1, width = command->u.dispatch.group[0];
    if (!together && !moves_much(command)) {
        return;
    }
    command->is_compared = true;
    if (!prefers_stripes(device, command->u.dispatch.code)) {
        return;
    }
    while (together && width / split > together && width % (2 * split * INGOT_SIMD_WIDTH) == 0) {
        split *= 2;
    }
    uint32_t block = width / split;
    command->split = split;
    command->stripe_unit = block < together ? together / block : 1;
}

/* Of work that is done before a thread that has no CPU gets one, no more shares than there are
 * CPUs: all would wait for the last of them. */
static uint32_t most_shares(const struct cpu_device *device, uint64_t work) {
    bool is_soon_done = work <= CROWDED_NS && device->cpus < device->worker_count;
    return is_soon_done ? device->cpus : device->worker_count;
}

/* Each thread more takes HANDOVER_NS until it is there and its work has come back; with n threads
 * work / n + n * HANDOVER_NS is least where both are equal. */
static uint32_t worthwhile_shares(uint64_t work, uint32_t most) {
    uint32_t shares = 2;
    while (shares < most && (uint64_t)shares * shares * HANDOVER_NS < work) {
        shares++;
    }
    return shares;
}

/* True when the leader should run it alone; else how it is shared. */
static bool plan_shares(const struct cpu_executor *executor, const struct cpu_stream *stream,
                        struct cpu_command *command) {
    if (executor->device->worker_count == 1) {
        return true;
    }
    if (command->work == CPU_UNKNOWN_WORK || command->kind != CPU_DISPATCH) {
        return false;
    }
    uint64_t cost = command->work / command->pieces + 1; /* of one threadgroup */
    uint64_t chunk = CPU_CHUNK_NS / cost, most = cpu_largest_chunk(executor, command);
    uint32_t threads = most_shares(executor->device, command->work);
    if (threads == 1) {
        return true;
    }
    command->most_shares = worthwhile_shares(command->work, threads);
    command->is_short = command->work <= CPU_ALONE_NS;
    command->is_brief = command->work <= BRIEF_NS && !executor->device->shares_cpus;
    if (command->is_short) {
        if (command->work <= QUEUED_ALONE_NS || !command->is_brief) {
            return true;
        }
        command->work = backlog(stream, command);
        if (command->work <= BACKLOG_NS) {
            return true;
        }
    } else if (chunk > most) { /* evenness, but not for claims that cost more than their work */
        chunk = most > chunk / 2 ? most : chunk / 2;
    }
    if (command->chunk < chunk) {
        command->chunk = chunk;
    }
    return false;
}

bool cpu_plan_command(const struct cpu_executor *executor, struct cpu_stream *stream,
                      struct cpu_command *command) {
    if (command->pieces == 1) {
        return true;
    }
    if (command->kind == CPU_DISPATCH && command->u.dispatch.schedule) {
        return true;
    }
    command->chunk = smallest_chunk(command);
    const uint64_t work = command->work = cpu_expected_work(command);
    stripe(executor->device, command);
    bool alone = plan_shares(executor, stream, command); /* may count what is queued as its work */
    alternate_direction(stream, command, work, alone);
    return alone;
}
