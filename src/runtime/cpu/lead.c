/*
 * Leading a stream: taking commands off its queue and running them in order.
 *
 * Requires that the caller leads (or helps) the stream, see cpu.h. A command of little work,
 * judged by what its kernel cost before, runs on the leader alone, one of some more in a round
 * (rounds.c); others are opened to helpers. A failed stream drops commands, but events still
 * complete.
 */
#include <stdlib.h>
#include <string.h>

#include "base/last_cache.h"
#include "runtime/cpu/cpu.h"

#define ALONE_NS          10000u /* less work than this is not worth sharing, */
#define QUEUED_ALONE_NS   3000u  /* nor this where BACKLOG_NS of work are queued */
#define BACKLOG_NS        40000u
#define BACKLOG_MOST_NS   400000u  /* less than makes a command long */
#define BRIEF_NS          1000000u /* so little work is run in a round */
#define HANDOVER_NS       400u
#define SAMPLED_EVERY     64u   /* short commands */
#define SHORT_CHUNK_NS    500u  /* the same where threads attend */
#define EVEN_NS           5000u /* a thread more has so little to do that it does no other's */
#define LINGER_NS         2000u /* a leader waits this long for the next command */
#define LONGEST_LIMIT     1e9   /* seconds; beyond is none */
#define MAX_FREE          1024u
#define BLIT_BYTES_PER_NS 8u
#define ROW_THREADS       64u
#define TURNED_NS         400000u /* work that may be more than the caches hold, */
#define STRETCH_NS        50000u  /* and a part of it that is less */
#define FIRST_TRIALS      4u      /* of two orders in turn, */
#define TRIED_EVERY       32u     /* and then of the slower one */
#define LEAST_STRIPED     64u     /* threadgroups */

/* ---- planning ---- */

uint64_t cpu_expected_work(const struct cpu_command *command) {
    uint64_t work;
    switch (command->kind) {
    case CPU_DISPATCH: {
        uint64_t cost = atomic_load_explicit(&command->u.dispatch.code->cost, memory_order_relaxed);
        if (cost == 0 || __builtin_mul_overflow(cost, command->pieces, &work))
            return CPU_UNKNOWN_WORK;
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
    if (command->kind != CPU_DISPATCH || !command->u.dispatch.code->kernel->row)
        return 1;
    uint64_t groups = ROW_THREADS / command->u.dispatch.group[0];
    if (groups > command->u.dispatch.groups[0])
        groups = command->u.dispatch.groups[0];
    return groups ? groups : 1;
}

/* Work like this command's that is queued: who is woken for one finds the others. */
static uint64_t backlog(const struct cpu_stream *stream, const struct cpu_command *command) {
    uint64_t completed = atomic_load_explicit(&stream->completed, memory_order_relaxed);
    uint64_t submitted = atomic_load_explicit(&stream->submitted, memory_order_relaxed);
    uint64_t work = command->work * (submitted - completed);
    return work < BACKLOG_MOST_NS ? work : BACKLOG_MOST_NS;
}

/* Commands on much data, one after the other, often meet at it: where one ended, the caches hold
 * what the next can begin with. Every other one goes through its shares from their ends, a stretch
 * at a time. Only where the order cannot matter: kernels that run by rows have no atomics. */
static void turn(struct cpu_stream *stream, struct cpu_command *command) {
    if (command->turn || command->kind != CPU_DISPATCH || !command->u.dispatch.code->kernel->row ||
        command->work == CPU_UNKNOWN_WORK || command->work < TURNED_NS)
        return;
    stream->backwards = !stream->backwards;
    if (stream->backwards)
        command->stretch = command->pieces / (command->work / STRETCH_NS) + 1;
}

/* Two places to work at in turn, or one after the other? That depends on the machine and on the
 * size of the pages, which cannot be known: the first commands of a kernel try both, and from time
 * to time one does what was slower. */
static bool prefers_stripes(const struct cpu_device *device, struct cpu_code *code) {
    if (device->stripes != CPU_STRIPES_COMPARED)
        return device->stripes == CPU_STRIPES_ON;
    uint32_t number = atomic_fetch_add_explicit(&code->compared, 1, memory_order_relaxed);
    if (number < FIRST_TRIALS)
        return number % 2;
    uint32_t plain = atomic_load_explicit(&code->plain_cost, memory_order_relaxed);
    uint32_t striped = atomic_load_explicit(&code->striped_cost, memory_order_relaxed);
    return (striped < plain) != (number % TRIED_EVERY == 0);
}

/* Threads of a row together in a turn of a kernel that runs by rows and goes through more memory
 * than the caches hold; else 0. A turn is of a page of each array; of less where there are so many
 * arrays that one loses what was got ready for another. */
static uint32_t row_turn(const struct cpu_command *command) {
    static const uint32_t turn_bytes[] = {0, 4096, 8192, 4096, 2048};
    const uint32_t *group = command->u.dispatch.group, *threads = command->u.dispatch.threads;
    uint32_t flags = command->u.dispatch.code->kernel->flags;
    uint32_t arrays = flags / INGOT_CPU_KERNEL_ARRAYS;
    uint32_t each = flags / INGOT_CPU_KERNEL_STREAMED % 256;
    if (!each || arrays >= sizeof turn_bytes / sizeof *turn_bytes || group[1] * group[2] != 1 ||
        (uint64_t)each * threads[0] * threads[1] * threads[2] <= ig_last_cache_bytes())
        return 0;
    return turn_bytes[arrays] / each;
}

/* The same of a kernel that says that it moves memory, group by group: which, only its buffers
 * tell. */
static bool moves_much(const struct cpu_command *command) {
    uint64_t bytes = 0;
    if (!(command->u.dispatch.code->kernel->flags & INGOT_CPU_KERNEL_MOVES))
        return false;
    for (uint32_t slot = 0; slot < command->u.dispatch.slots; slot++)
        if (command->u.dispatch.retained[slot])
            bytes += command->u.dispatch.retained[slot]->length;
    return bytes > ig_last_cache_bytes() && command->pieces >= LEAST_STRIPED;
}

/* At the end of a page a core begins anew: it looks up where the next one is, and only then loads
 * ahead there. Where pages are small, it is faster for a thread to work at two places in turn:
 * while it is at one, the other is got ready. What is in the caches needs none of this. */
static void stripe(const struct cpu_device *device, struct cpu_command *command) {
    if (command->kind != CPU_DISPATCH)
        return;
    uint32_t together = row_turn(command), split = 1, width = command->u.dispatch.group[0];
    if (!together && !moves_much(command))
        return;
    command->is_compared = true;
    if (!prefers_stripes(device, command->u.dispatch.code))
        return;
    while (together && width / split > together && width % (2 * split * INGOT_SIMD_WIDTH) == 0)
        split *= 2;
    uint32_t block = width / split;
    command->split = split;
    command->turn = block < together ? together / block : 1;
}

/* Each thread more takes HANDOVER_NS until it is there and its work has come back; with n threads
 * work / n + n * HANDOVER_NS is least where both are equal. */
static uint32_t worthwhile_shares(uint64_t work, uint32_t most) {
    uint32_t shares = 2;
    while (shares < most && (uint64_t)shares * shares * HANDOVER_NS < work)
        shares++;
    return shares;
}

/* How many threads a brief command is run by; true when by its leader alone. */
static bool plan_round(struct cpu_stream *stream, struct cpu_command *command) {
    uint32_t most = stream->device->max_spinning + 1, wanted = command->most_shares;
    if (wanted > most)
        wanted = most;
    if (wanted > command->pieces / command->chunk)
        wanted = (uint32_t)(command->pieces / command->chunk);
    if (wanted < 2)
        return true;
    command->shares = wanted;
    command->is_even = command->work <= (uint64_t)EVEN_NS * wanted;
    uint64_t work = command->is_short ? backlog(stream, command) : command->work;
    bool may_invite = !command->is_short || work > BACKLOG_NS;
    return !cpu_plan_round(stream, command, may_invite ? work : 0);
}

/* Sets the chunk size; true when the leader should run the command alone. */
static bool plan(const struct cpu_executor *executor, struct cpu_stream *stream,
                 struct cpu_command *command) {
    if (command->pieces == 1)
        return true;
    command->chunk = smallest_chunk(command);
    command->work = cpu_expected_work(command);
    stripe(executor->device, command);
    turn(stream, command);
    if (executor->device->worker_count == 1)
        return true;
    if (command->work == CPU_UNKNOWN_WORK || command->kind != CPU_DISPATCH)
        return false;
    uint64_t cost = command->work / command->pieces + 1; /* of one threadgroup */
    uint64_t chunk = CPU_CHUNK_NS / cost, most = cpu_largest_chunk(executor->device, command);
    command->most_shares = worthwhile_shares(command->work, executor->device->worker_count);
    command->is_short = command->work <= ALONE_NS;
    command->is_brief = command->work <= BRIEF_NS && !executor->device->shares_cpus &&
                        command->pieces < (uint64_t)1 << CPU_ROUND_PIECES;
    if (command->is_short) {
        command->is_sample = ++stream->short_commands % SAMPLED_EVERY == 0;
        if (command->work <= QUEUED_ALONE_NS || !command->is_brief || command->is_sample)
            return true;
        chunk = SHORT_CHUNK_NS / cost;
    } else if (chunk > most) { /* evenness, but not for claims that cost more than their work */
        chunk = most > chunk / 2 ? most : chunk / 2;
    }
    if (command->chunk < chunk)
        command->chunk = chunk;
    return command->is_brief && plan_round(stream, command);
}

/* ---- finishing ---- */

static void release_resources(struct cpu_command *command) {
    switch (command->kind) {
    case CPU_DISPATCH:
        for (uint32_t slot = 0; slot < command->u.dispatch.slots; slot++)
            ingot_buffer_release(command->u.dispatch.retained[slot]);
        ingot_kernel_release(command->u.dispatch.kernel);
        break;
    case CPU_COPY:
    case CPU_FILL:
        ingot_buffer_release(command->u.blit.source);
        ingot_buffer_release(command->u.blit.destination);
        break;
    case CPU_RECORD:
    case CPU_WAIT_EVENT:
        ingot_event_release(command->u.event.event);
        break;
    }
    free(command->heap);
    command->heap = NULL;
}

/* The first command of the batch is done: its error becomes the stream's. */
static void finish(struct cpu_stream *stream) {
    struct cpu_command *command = stream->batch;
    stream->batch = command->next;
    if (atomic_load_explicit(&command->failed, memory_order_relaxed)) {
        pthread_mutex_lock(&stream->lock);
        if (stream->error.status == INGOT_OK) {
            stream->error = command->error;
            memset(&command->error, 0, sizeof command->error);
            atomic_store(&stream->failed, true);
        }
        pthread_mutex_unlock(&stream->lock);
        ig_error_clear(&command->error);
    }
    release_resources(command);
    command->next = stream->done;
    stream->done = command;
    uint64_t completed = atomic_fetch_add(&stream->completed, 1) + 1;
    uint64_t wake_at = atomic_load(&stream->wake_at);
    if (wake_at && completed >= wake_at) {
        pthread_mutex_lock(&stream->lock);
        atomic_store(&stream->wake_at, 0); /* those with more to wait for set it again */
        pthread_cond_broadcast(&stream->progress);
        pthread_mutex_unlock(&stream->lock);
    }
}

/* Lock held. Finished commands are kept for reuse up to a limit; the rest is returned. */
static struct cpu_command *recycle(struct cpu_stream *stream) {
    while (stream->done && stream->free_count < MAX_FREE) {
        struct cpu_command *command = stream->done;
        stream->done = command->next;
        command->next = stream->free_commands;
        stream->free_commands = command;
        stream->free_count++;
    }
    struct cpu_command *surplus = stream->done;
    stream->done = NULL;
    return surplus;
}

static void free_commands(struct cpu_command *list) {
    while (list) {
        struct cpu_command *next = list->next;
        free(list);
        list = next;
    }
}

/* Fills the batch from the queue. False: there is nothing, and the caller leads no more. */
static bool take_batch(struct cpu_stream *stream, bool linger) {
    if (linger && !atomic_load_explicit(&stream->queue_first, memory_order_relaxed)) {
        uint64_t end = cpu_now() + LINGER_NS;
        while (!atomic_load_explicit(&stream->queue_first, memory_order_relaxed) && cpu_now() < end)
            cpu_relax();
    }
    pthread_mutex_lock(&stream->lock);
    struct cpu_command *surplus = recycle(stream);
    stream->batch = atomic_load_explicit(&stream->queue_first, memory_order_relaxed);
    atomic_store_explicit(&stream->queue_first, NULL, memory_order_relaxed);
    stream->queue_last = NULL;
    bool found = stream->batch != NULL;
    if (!found) {
        atomic_store_explicit(&stream->state, CPU_STREAM_IDLE, memory_order_relaxed);
        stream->busy = false;
        /* The last touch: who closes the stream waits for this. */
        pthread_cond_broadcast(&stream->progress);
    }
    pthread_mutex_unlock(&stream->lock);
    free_commands(surplus);
    return found;
}

/* ---- the loop ---- */

/* The command's stream was cancelled before it began. */
static void refuse(struct cpu_command *command) {
    atomic_store_explicit(&command->failed, true, memory_order_relaxed);
    if (command->kind == CPU_DISPATCH)
        ig_fail(&command->error, INGOT_CANCELLED,
                "kernel \"%s\": dropped by ingot_stream_cancel before it began",
                command->u.dispatch.kernel->variant->kernel);
    else
        ig_fail(&command->error, INGOT_CANCELLED,
                "a %s: dropped by ingot_stream_cancel before it began",
                command->kind == CPU_WAIT_EVENT ? "wait for an event" : "copy");
}

enum outcome { DONE, HELPERS_GO_ON, BLOCKED };

static enum outcome run_front(struct cpu_executor *executor, struct cpu_stream *stream) {
    struct cpu_command *command = stream->batch;
    if (command->kind == CPU_RECORD) {
        struct cpu_event *event = command->u.event.event->state;
        cpu_event_complete(event, command->u.event.generation);
        return DONE;
    }
    if (atomic_load(&stream->failed))
        return DONE;
    if (cpu_stream_cancelled(stream)) {
        refuse(command);
        return DONE;
    }
    if (command->kind == CPU_WAIT_EVENT) {
        struct cpu_event *event = command->u.event.event->state;
        return cpu_event_block(event, command->u.event.generation, stream) ? BLOCKED : DONE;
    }
    cpu_prefetch(command->next);
    if (command->time_limit > 0 && command->time_limit < LONGEST_LIMIT)
        command->deadline =
            cpu_now_for(command->time_limit) + (uint64_t)(command->time_limit * 1e9);
    bool alone = plan(executor, stream, command);
    if (alone && !command->stretch) {
        cpu_run_alone(executor, command);
        return DONE;
    }
    if (command->is_brief && !alone) {
        cpu_run_round(executor, stream, command);
        return DONE;
    }
    cpu_make_shares(stream, command);
    if (alone) {
        cpu_take_open_part(executor, stream, command);
        return DONE;
    }
    cpu_pool_open(stream, command);
    cpu_take_open_part(executor, stream, command);
    return cpu_pool_leave(stream) ? DONE : HELPERS_GO_ON;
}

void cpu_lead(struct cpu_executor *executor, struct cpu_stream *stream, uint64_t until) {
    atomic_store_explicit(&executor->stream, stream, memory_order_relaxed);
    for (;;) {
        if (!stream->batch && !take_batch(stream, until == UINT64_MAX))
            return;
        if (atomic_load_explicit(&stream->completed, memory_order_relaxed) >= until) {
            cpu_pool_ready(stream, CPU_UNKNOWN_WORK);
            return;
        }
        if (run_front(executor, stream) != DONE)
            return;
        finish(stream);
    }
}

void cpu_help(struct cpu_executor *executor, struct cpu_stream *stream, uint64_t until) {
    atomic_store_explicit(&executor->stream, stream, memory_order_relaxed);
    cpu_take_open_part(executor, stream, stream->active);
    if (cpu_pool_leave(stream)) {
        finish(stream);
        cpu_lead(executor, stream, until);
    }
}
