/*
 * Running the commands of a stream in order: taking them off its queue, and finishing them.
 *
 * Requires that the caller leads (or helps) the stream, see cpu.h. A command of little work runs on
 * the leader alone (command_plan.c decides); others are opened to helpers. A failed stream drops
 * commands, but events still complete.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/cpu/cpu.h"
#include "runtime/profile/counters.h"
#include "runtime/sanitize/sanitizer.h"

#define LINGER_NS     2000u /* a leader waits this long for the next command */
#define LONGEST_LIMIT 1e9   /* seconds; beyond is none */
#define MAX_FREE      1024u
#define TIMED_EVERY   8u /* commands that run on one thread */

/* ---- finishing ---- */

static void release_resources(struct cpu_command *command) {
    switch (command->kind) {
    case CPU_DISPATCH:
        if (command->is_lent) {
            break;
        }
        for (uint32_t slot = 0; slot < command->u.dispatch.slots; slot++) {
            ingot_buffer_release(command->u.dispatch.retained[slot]);
        }
        ig_sanitized_close(command->u.dispatch.sanitized);
        ig_counted_close(command->u.dispatch.counted);
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

/* Lock held: nobody leads the stream any more. */
static void be_idle(struct cpu_stream *stream) {
    atomic_store_explicit(&stream->state, CPU_STREAM_IDLE, memory_order_relaxed);
    stream->busy = false;
    /* The last touch: who closes the stream waits for this. */
    pthread_cond_broadcast(&stream->progress);
}

/* Fills the batch from the queue. False: there is nothing, and the caller leads no more. */
static bool take_batch(struct cpu_stream *stream, bool linger) {
    if (linger && !atomic_load_explicit(&stream->queue_first, memory_order_relaxed)) {
        uint64_t end = cpu_now() + LINGER_NS;
        while (!atomic_load_explicit(&stream->queue_first, memory_order_relaxed) &&
               cpu_now() < end) {
            cpu_relax();
        }
    }
    pthread_mutex_lock(&stream->lock);
    struct cpu_command *surplus = recycle(stream);
    stream->batch = atomic_load_explicit(&stream->queue_first, memory_order_relaxed);
    atomic_store_explicit(&stream->queue_first, NULL, memory_order_relaxed);
    stream->queue_last = NULL;
    bool found = stream->batch != NULL;
    if (!found) {
        be_idle(stream);
    }
    pthread_mutex_unlock(&stream->lock);
    free_commands(surplus);
    return found;
}

/* ---- the loop ---- */

/* From the end, a stretch at a time. */
static void run_backwards(struct cpu_executor *executor, struct cpu_command *command) {
    uint64_t left = command->pieces;
    while (left > 0 && !atomic_load_explicit(&command->failed, memory_order_relaxed)) {
        uint64_t count = command->stretch < left ? command->stretch : left;
        left -= count;
        cpu_run_pieces(executor, command, left, count);
    }
}

/* Reading the clock costs as much as a small threadgroup: once in a while is enough. */
static void run_alone(struct cpu_executor *executor, struct cpu_command *command) {
    struct cpu_code *code = command->kind == CPU_DISPATCH ? command->u.dispatch.code : NULL;
    bool timed = code && (executor->alone_count++ % TIMED_EVERY == 0 ||
                          !atomic_load_explicit(&code->cost, memory_order_relaxed));
    bool traced = ig_observed.traces;
    uint64_t start = timed || traced ? cpu_now() : 0, compared = cpu_time_to_compare(command);
    if (command->stretch) {
        run_backwards(executor, command);
    } else {
        cpu_run_pieces(executor, command, 0, command->pieces);
    }
    if (code) {
        cpu_end_groups(executor);
    }
    if (traced) {
        cpu_trace_part(executor, command, start, cpu_now());
    }
    if (timed) {
        cpu_note_cost(code, cpu_now() - start, command->pieces);
    }
    if (command->is_compared) {
        cpu_note_order(command, compared, command->pieces);
    }
}

/* The command's stream was cancelled before it began. */
static void refuse(struct cpu_command *command) {
    atomic_store_explicit(&command->failed, true, memory_order_relaxed);
    if (command->kind == CPU_DISPATCH) {
        ig_fail(&command->error, INGOT_CANCELLED,
                "kernel \"%s\": dropped by ingot_stream_cancel before it began",
                command->u.dispatch.kernel->variant->kernel);
    } else {
        ig_fail(&command->error, INGOT_CANCELLED,
                "a %s: dropped by ingot_stream_cancel before it began",
                command->kind == CPU_WAIT_EVENT ? "wait for an event" : "copy");
    }
}

static void set_deadline(struct cpu_command *command) {
    if (command->time_limit > 0 && command->time_limit < LONGEST_LIMIT) {
        command->deadline =
            cpu_now_for(command->time_limit) + (uint64_t)(command->time_limit * 1e9);
    }
}

enum outcome { DONE, HELPERS_GO_ON, BLOCKED };

static enum outcome run_front(struct cpu_executor *executor, struct cpu_stream *stream) {
    struct cpu_command *command = stream->batch;
    if (command->kind == CPU_RECORD) {
        struct cpu_event *event = command->u.event.event->state;
        cpu_event_complete(event, command->u.event.generation);
        return DONE;
    }
    if (atomic_load(&stream->failed)) {
        return DONE;
    }
    if (cpu_stream_cancelled(stream)) {
        refuse(command);
        return DONE;
    }
    if (command->kind == CPU_WAIT_EVENT) {
        struct cpu_event *event = command->u.event.event->state;
        return cpu_event_block(event, command->u.event.generation, stream) ? BLOCKED : DONE;
    }
    cpu_prefetch_command(command->next);
    set_deadline(command);
    bool alone = cpu_plan_command(executor, stream, command);
    if (alone) {
        run_alone(executor, command);
        return DONE;
    }
    bool by_team = cpu_team_can_run(stream, command);
    cpu_make_shares(stream, command);
    if (by_team) {
        cpu_team_run(executor, stream, command);
        return DONE;
    }
    cpu_pool_open(stream, command);
    cpu_take_part(executor, stream, command, true);
    return cpu_pool_leave(stream) ? DONE : HELPERS_GO_ON;
}

void cpu_run_commands(struct cpu_executor *executor, struct cpu_stream *stream, uint64_t until) {
    atomic_store_explicit(&executor->stream, stream, memory_order_relaxed);
    for (;;) {
        if (!stream->batch && !take_batch(stream, until == UINT64_MAX)) {
            return;
        }
        if (atomic_load_explicit(&stream->completed, memory_order_relaxed) >= until) {
            cpu_pool_ready(stream, CPU_UNKNOWN_WORK);
            return;
        }
        if (run_front(executor, stream) != DONE) {
            return;
        }
        finish(stream);
    }
}

void cpu_run_at_once(struct cpu_executor *executor, struct cpu_stream *stream,
                     struct cpu_command *command) {
    atomic_store_explicit(&executor->stream, stream, memory_order_relaxed);
    stream->batch = command;
    if (cpu_stream_cancelled(stream)) {
        refuse(command);
    } else if (!atomic_load(&stream->failed)) {
        set_deadline(command);
        run_alone(executor, command);
    }
    finish(stream);
    pthread_mutex_lock(&stream->lock);
    struct cpu_command *surplus = recycle(stream);
    bool more = atomic_load_explicit(&stream->queue_first, memory_order_relaxed) != NULL;
    if (!more) {
        be_idle(stream);
    }
    pthread_mutex_unlock(&stream->lock);
    free_commands(surplus);
    if (more) { /* from another thread, which found the stream led */
        cpu_pool_ready(stream, CPU_UNKNOWN_WORK);
    }
}

void cpu_help_with_command(struct cpu_executor *executor, struct cpu_stream *stream,
                           uint64_t until) {
    atomic_store_explicit(&executor->stream, stream, memory_order_relaxed);
    struct cpu_team *team = &stream->team;
    const struct cpu_command *command = stream->active;
    bool stays = command->is_brief && cpu_team_size(stream) < executor->device->max_spinning &&
                 cpu_team_size(stream) < command->shares - 1;
    cpu_take_part(executor, stream, stream->active, true);
    if (stays) { /* before it leaves: the stream may not be closed while its team has members */
        atomic_fetch_add_explicit(&team->members, 1, memory_order_relaxed);
    }
    bool last = cpu_pool_leave(stream);
    if (stays && !last) {
        cpu_team_follow(executor, stream, until);
    }
    if (stays) {
        atomic_fetch_sub_explicit(&team->members, 1, memory_order_release);
    }
    if (last) {
        finish(stream);
        cpu_run_commands(executor, stream, until);
    }
}
