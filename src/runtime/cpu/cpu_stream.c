/*
 * Streams of the CPU device: encoding commands and waiting for them.
 *
 * Arguments are copied into the command, which keeps everything it uses alive. A thread that
 * waits runs commands of its stream itself when no worker has taken them yet.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cpu/cpu.h"
#include "runtime/profile/counters.h"
#include "runtime/sanitize/sanitizer.h"

#define WAIT_SPIN_NS 50000u
#define OFTEN        16
#define SELDOM       64
#define MAX_PENDING  65536u
#define ROOM         256u /* is made at a time when so many are pending */

void cpu_stream_locks(struct cpu_stream *stream) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&stream->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    pthread_cond_init(&stream->progress, NULL);
}

static void list_stream(struct cpu_stream *stream) {
    struct cpu_device *device = stream->device;
    pthread_mutex_lock(&device->lock);
    stream->next_of_device = device->streams;
    if (device->streams) {
        device->streams->previous_of_device = stream;
    }
    device->streams = stream;
    pthread_mutex_unlock(&device->lock);
}

static void unlist_stream(struct cpu_stream *stream) {
    struct cpu_device *device = stream->device;
    pthread_mutex_lock(&device->lock);
    if (stream->previous_of_device) {
        stream->previous_of_device->next_of_device = stream->next_of_device;
    } else {
        device->streams = stream->next_of_device;
    }
    if (stream->next_of_device) {
        stream->next_of_device->previous_of_device = stream->previous_of_device;
    }
    pthread_mutex_unlock(&device->lock);
}

ingot_status cpu_stream_open(ingot_device *device, void **result, struct ig_error *error) {
    struct cpu_stream *stream = aligned_alloc(_Alignof(struct cpu_stream), sizeof *stream);
    if (!stream) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a stream");
    }
    memset(stream, 0, sizeof *stream);
    stream->device = (struct cpu_device *)device;
    size_t shares = stream->device->worker_count * sizeof *stream->shares;
    stream->shares = aligned_alloc(_Alignof(struct cpu_share), shares);
    if (!stream->shares) {
        free(stream);
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a stream");
    }
    memset(stream->shares, 0, shares);
    atomic_store(&stream->team.round, CPU_TEAM_CLOSED);
    cpu_stream_locks(stream);
    list_stream(stream);
    *result = stream;
    return INGOT_OK;
}

void cpu_stream_close(void *handle) {
    struct cpu_stream *stream = handle;
    cpu_stream_wait(stream, NULL);
    pthread_mutex_lock(&stream->lock);
    while (stream->busy) {
        pthread_cond_wait(&stream->progress, &stream->lock);
    }
    pthread_mutex_unlock(&stream->lock);
    while (atomic_load(&stream->team.members) != 0) {
        sched_yield(); /* for some µs: nothing comes any more */
    }
    if (stream->executor) {
        cpu_pool_return(stream->executor);
    }
    unlist_stream(stream);
    for (struct cpu_command *command = stream->free_commands; command;) {
        struct cpu_command *next = command->next;
        free(command);
        command = next;
    }
    ig_error_clear(&stream->error);
    pthread_cond_destroy(&stream->progress);
    pthread_mutex_destroy(&stream->lock);
    free(stream->shares);
    free(stream);
}

/* ---- encoding ---- */

static void begin_command(struct cpu_command *command, enum cpu_command_kind kind) {
    memset(command, 0, offsetof(struct cpu_command, payload));
    command->kind = kind;
    command->pieces = command->chunk = command->split = 1;
}

static struct cpu_command *new_command(struct cpu_stream *stream, enum cpu_command_kind kind,
                                       struct ig_error *error) {
    pthread_mutex_lock(&stream->lock);
    struct cpu_command *command = stream->free_commands;
    if (command) {
        stream->free_commands = command->next;
        stream->free_count--;
    }
    pthread_mutex_unlock(&stream->lock);
    if (!command) {
        command = aligned_alloc(_Alignof(struct cpu_command), sizeof *command);
    }
    if (!command) {
        ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory to queue a command");
        return NULL;
    }
    begin_command(command, kind);
    return command;
}

static void submit(struct cpu_stream *stream, struct cpu_command *command) {
    if (atomic_load_explicit(&stream->device->restart, memory_order_relaxed)) {
        cpu_fork_restart(stream->device);
    }
    pthread_mutex_lock(&stream->lock);
    if (stream->queue_last) {
        stream->queue_last->next = command;
    } else {
        atomic_store_explicit(&stream->queue_first, command, memory_order_relaxed);
    }
    stream->queue_last = command;
    uint64_t work = cpu_expected_work(command);
    atomic_store_explicit(&stream->submitted,
                          atomic_load_explicit(&stream->submitted, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    bool start = !stream->busy;
    stream->busy = true;
    if (start) {
        stream->deferred_ns = 0;
    }
    bool known = !__builtin_add_overflow(stream->deferred_ns, work, &stream->deferred_ns);
    bool enough = !known || stream->deferred_ns > cpu_pool_deferrable(stream->device);
    pthread_mutex_unlock(&stream->lock);
    if (start) {
        cpu_pool_ready(stream, work);
    } else if (enough && atomic_load_explicit(&stream->deferred, memory_order_relaxed)) {
        cpu_pool_ring(stream->device);
    }
}

/* Takes room for `size` bytes from the command's payload. */
static void *take_room(unsigned char *base, size_t *used, size_t size, size_t alignment) {
    size_t start = (*used + alignment - 1) & ~(alignment - 1);
    *used = start + size;
    return base ? base + start : NULL;
}

static size_t bytes_alignment(const struct ig_argument *argument) {
    uint64_t alignment = argument->type_align;
    if (alignment <= 16 || alignment > 128 || (alignment & (alignment - 1))) {
        return 16;
    }
    return (size_t)alignment;
}

/* Lays out pointers, references, offsets and bytes; with `base` NULL it only measures. */
static size_t encode(struct cpu_command *command, const struct ig_launch *launch,
                     unsigned char *base) {
    const struct ig_variant *variant = launch->kernel->variant;
    uint32_t slots = launch->kernel->buffer_slots;
    size_t used = 0;
    void **buffers = take_room(base, &used, slots * sizeof *buffers, 8);
    ingot_buffer **retained = take_room(base, &used, slots * sizeof *retained, 8);
    uint32_t *offsets = take_room(base, &used, launch->threadgroup_slots * sizeof *offsets, 8);
    if (base) {
        memset(buffers, 0, slots * sizeof *buffers);
        memset(retained, 0, slots * sizeof *retained);
        memcpy(offsets, launch->threadgroup_offsets, launch->threadgroup_slots * sizeof *offsets);
        command->u.dispatch.slots = slots;
        command->u.dispatch.buffers = buffers;
        command->u.dispatch.retained = retained;
        command->u.dispatch.offsets = offsets;
    }
    for (uint32_t i = 0; i < variant->argument_count; i++) {
        const struct ig_argument *argument = &variant->arguments[i];
        if (argument->kind != INGOT_ARGUMENT_BUFFER || !argument->active ||
            argument->index >= launch->arg_count) {
            continue;
        }
        const ingot_arg *arg = &launch->args[argument->index];
        if (!arg->buffer && !arg->bytes) {
            continue;
        }
        if (!arg->buffer) {
            void *copy = take_room(base, &used, arg->size, bytes_alignment(argument));
            if (base) {
                memcpy(copy, arg->bytes, arg->size);
                buffers[argument->slot] = copy;
            }
        } else if (base) {
            buffers[argument->slot] = (char *)arg->buffer->contents + arg->offset;
            retained[argument->slot] = arg->buffer;
            if (!command->is_lent) {
                ig_retain(&arg->buffer->references);
            }
        }
    }
    return used;
}

/* The older of the two counts is read first, so that the difference is not negative. */
static uint64_t pending(struct cpu_stream *stream) {
    uint64_t completed = atomic_load(&stream->completed);
    return atomic_load(&stream->submitted) - completed;
}

/* Until so many commands are completed. Who completes others is not to be held up by waking. */
static void sleep_until(struct cpu_stream *stream, uint64_t target) {
    pthread_mutex_lock(&stream->lock);
    for (;;) {
        uint64_t wake_at = atomic_load(&stream->wake_at);
        if (wake_at == 0 || wake_at > target) {
            atomic_store(&stream->wake_at, target);
        }
        if (atomic_load(&stream->completed) >= target) {
            break;
        }
        pthread_cond_wait(&stream->progress, &stream->lock);
    }
    pthread_mutex_unlock(&stream->lock);
}

/* A bound on memory for callers that never wait: let the queue shrink first. */
static void limit_pending(struct cpu_stream *stream) {
    if (pending(stream) >= MAX_PENDING) {
        sleep_until(stream, atomic_load(&stream->submitted) - MAX_PENDING + ROOM);
    }
}

/* Private memory is on the stacks of SIMD-groups. */
static ingot_status check_stacks(const struct ig_launch *launch, struct ig_error *error) {
    const struct cpu_code *code = launch->kernel->loaded;
    const uint32_t *group = launch->group;
    uint32_t simdgroups =
        (group[0] * group[1] * group[2] + INGOT_SIMD_WIDTH - 1) / INGOT_SIMD_WIDTH;
    uint64_t bytes = ingot_cpu_stack_bytes(code->kernel);
    uint32_t stacks = cpu_stack_count(code->kernel, simdgroups);
    if (bytes <= CPU_MAX_STACKS / stacks) {
        return INGOT_OK;
    }
    return ig_fail(error, INGOT_LAUNCH_ERROR,
                   "kernel \"%s\": its private memory takes up to %llu bytes for each thread, and "
                   "so %llu for the %u threads of a threadgroup that run at a time, more than the "
                   "%llu that the CPU device has for them",
                   launch->kernel->variant->kernel, (unsigned long long)(bytes / INGOT_SIMD_WIDTH),
                   (unsigned long long)(bytes * stacks), stacks * INGOT_SIMD_WIDTH,
                   (unsigned long long)CPU_MAX_STACKS);
}

/* Sanitized or counted code gets its table. On failure the command is gone. */
static ingot_status start_checks(struct cpu_command *command, const struct ig_launch *launch,
                                 struct ig_error *error) {
    const struct cpu_code *code = launch->kernel->loaded;
    if (!code->places) {
        return INGOT_OK;
    }
    ingot_status status = INGOT_OK;
    if (launch->kernel->device->sanitizer) {
        status =
            ig_sanitized_open(launch, code->places, &cpu_sanitizer, command->u.dispatch.buffers,
                              &command->u.dispatch.sanitized, error);
    } else {
        command->u.dispatch.counted = ig_counted_open(launch, code->places, &cpu_counters);
        if (!command->u.dispatch.counted) {
            status = ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory to count kernel \"%s\"",
                             launch->kernel->variant->kernel);
        }
    }
    if (status != INGOT_OK) {
        for (uint32_t slot = 0; slot < command->u.dispatch.slots; slot++) {
            ingot_buffer_release(command->u.dispatch.retained[slot]);
        }
        free(command->heap);
        free(command);
    }
    return status;
}

static void set_launch(struct cpu_stream *stream, struct cpu_command *command,
                       const struct ig_launch *launch, uint64_t pieces) {
    command->u.dispatch.kernel = launch->kernel;
    command->u.dispatch.code = launch->kernel->loaded;
    memcpy(command->u.dispatch.groups, launch->groups, sizeof launch->groups);
    memcpy(command->u.dispatch.group, launch->group, sizeof launch->group);
    memcpy(command->u.dispatch.threads, launch->threads, sizeof launch->threads);
    command->u.dispatch.threadgroup_bytes = launch->threadgroup_bytes;
    command->u.dispatch.schedule =
        cpu_schedule_next(&stream->device->schedule, launch->groups, launch->group);
    command->time_limit = launch->time_limit_seconds;
    command->is_own = launch->is_own;
    command->pieces = pieces;
}

/* ---- at once ---- */

/* Where CPUs are shared with another pool, who calls an operation waits for it, and runs its launch
 * if that is short. Then it need not be queued first. */
static bool pays_at_once(const struct cpu_stream *stream, const struct ig_launch *launch,
                         uint64_t pieces) {
    const struct cpu_code *code = launch->kernel->loaded;
    uint64_t cost = atomic_load_explicit(&code->cost, memory_order_relaxed), work;
    return launch->is_own && stream->device->shares_cpus && !code->places && cost &&
           !__builtin_mul_overflow(cost, pieces, &work) && work / 16 <= CPU_ALONE_NS &&
           cpu_thread_can_enter() &&
           !atomic_load_explicit(&stream->device->restart, memory_order_relaxed) &&
           encode(NULL, launch, NULL) <= CPU_INLINE_BYTES;
}

/* The caller leads the stream from now on, with a command to run. NULL: it is not idle, or has no
 * command left from before. */
static struct cpu_command *lead_idle(struct cpu_stream *stream) {
    pthread_mutex_lock(&stream->lock);
    struct cpu_command *command = stream->busy ? NULL : stream->free_commands;
    if (command) {
        stream->free_commands = command->next;
        stream->free_count--;
        stream->busy = true;
        atomic_store_explicit(&stream->state, CPU_STREAM_LED, memory_order_relaxed);
        atomic_store_explicit(&stream->submitted,
                              atomic_load_explicit(&stream->submitted, memory_order_relaxed) + 1,
                              memory_order_relaxed);
    }
    pthread_mutex_unlock(&stream->lock);
    return command;
}

/* False: it is to be queued. */
static bool run_at_once(struct cpu_stream *stream, const struct ig_launch *launch,
                        uint64_t pieces) {
    struct cpu_executor *executor = atomic_exchange(&stream->executor, NULL);
    if (!executor && !(executor = cpu_pool_borrow(stream->device))) {
        return false;
    }
    struct cpu_command *command = lead_idle(stream);
    if (command) {
        begin_command(command, CPU_DISPATCH);
        command->is_lent = true;
        encode(command, launch, command->payload);
        set_launch(stream, command, launch, pieces);
        cpu_thread_enter(executor);
        cpu_run_at_once(executor, stream, command);
        cpu_thread_leave(executor);
    }
    executor = atomic_exchange(&stream->executor, executor);
    if (executor) { /* of another thread that called meanwhile */
        cpu_pool_return(executor);
    }
    return command != NULL;
}

ingot_status cpu_stream_dispatch(void *handle, const struct ig_launch *launch,
                                 struct ig_error *error) {
    struct cpu_stream *stream = handle;
    uint64_t pieces = (uint64_t)launch->groups[0] * launch->groups[1];
    if (pieces > UINT64_MAX / 2 / launch->groups[2]) {
        return ig_fail(
            error, INGOT_LAUNCH_ERROR,
            "kernel \"%s\": a grid of %u x %u x %u threadgroups is too large: the limit is "
            "%llu of them",
            launch->kernel->variant->kernel, launch->groups[0], launch->groups[1],
            launch->groups[2], (unsigned long long)(UINT64_MAX / 2));
    }
    ingot_status status = check_stacks(launch, error);
    if (status != INGOT_OK) {
        return status;
    }
    if (!atomic_load_explicit(&stream->queue_first, memory_order_relaxed)) {
        cpu_signals_keep(launch->is_own);
    }
    pieces *= launch->groups[2];
    if (pays_at_once(stream, launch, pieces) && run_at_once(stream, launch, pieces)) {
        return INGOT_OK;
    }
    limit_pending(stream);
    struct cpu_command *command = new_command(stream, CPU_DISPATCH, error);
    if (!command) {
        return INGOT_OUT_OF_MEMORY;
    }
    unsigned char *payload = command->payload;
    size_t needed = encode(command, launch, NULL);
    if (needed > sizeof command->payload) {
        payload = command->heap = aligned_alloc(128, (needed + 127) & ~(size_t)127);
        if (!payload) {
            free(command);
            return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory to queue kernel \"%s\"",
                           launch->kernel->variant->kernel);
        }
    }
    encode(command, launch, payload);
    if (start_checks(command, launch, error) != INGOT_OK) {
        return INGOT_OUT_OF_MEMORY;
    }
    ig_retain(&launch->kernel->references);
    set_launch(stream, command, launch, pieces);
    submit(stream, command);
    return INGOT_OK;
}

static bool overlap(const ingot_buffer *source, uint64_t source_offset,
                    const ingot_buffer *destination, uint64_t destination_offset, uint64_t length) {
    uint64_t from = source->address + source_offset, to = destination->address + destination_offset;
    return from < to + length && to < from + length;
}

ingot_status cpu_stream_copy(void *handle, ingot_buffer *source, uint64_t source_offset,
                             ingot_buffer *destination, uint64_t destination_offset,
                             uint64_t length, struct ig_error *error) {
    struct cpu_stream *stream = handle;
    struct cpu_command *command = new_command(stream, CPU_COPY, error);
    if (!command) {
        return INGOT_OUT_OF_MEMORY;
    }
    command->u.blit.source = source;
    command->u.blit.source_offset = source_offset;
    command->u.blit.destination = destination;
    command->u.blit.destination_offset = destination_offset;
    command->u.blit.length = length;
    /* One piece is one memmove; only ranges apart may be cut up. */
    command->pieces = overlap(source, source_offset, destination, destination_offset, length)
                          ? 1
                          : (length + CPU_BLIT_BLOCK - 1) / CPU_BLIT_BLOCK;
    ingot_buffer_retain(source);
    ingot_buffer_retain(destination);
    submit(stream, command);
    return INGOT_OK;
}

ingot_status cpu_stream_fill(void *handle, ingot_buffer *buffer, uint64_t offset, uint64_t length,
                             uint8_t value, struct ig_error *error) {
    struct cpu_stream *stream = handle;
    struct cpu_command *command = new_command(stream, CPU_FILL, error);
    if (!command) {
        return INGOT_OUT_OF_MEMORY;
    }
    command->u.blit.destination = buffer;
    command->u.blit.destination_offset = offset;
    command->u.blit.length = length;
    command->u.blit.value = value;
    command->pieces = (length + CPU_BLIT_BLOCK - 1) / CPU_BLIT_BLOCK;
    ingot_buffer_retain(buffer);
    submit(stream, command);
    return INGOT_OK;
}

ingot_status cpu_stream_record(void *handle, ingot_event *event, struct ig_error *error) {
    struct cpu_stream *stream = handle;
    struct cpu_command *command = new_command(stream, CPU_RECORD, error);
    if (!command) {
        return INGOT_OUT_OF_MEMORY;
    }
    command->u.event.event = event;
    command->u.event.generation = cpu_event_recorded(event->state);
    ingot_event_retain(event);
    submit(stream, command);
    return INGOT_OK;
}

ingot_status cpu_stream_wait_event(void *handle, ingot_event *event, struct ig_error *error) {
    struct cpu_stream *stream = handle;
    struct cpu_command *command = new_command(stream, CPU_WAIT_EVENT, error);
    if (!command) {
        return INGOT_OUT_OF_MEMORY;
    }
    command->u.event.event = event;
    command->u.event.generation = cpu_event_generation(event->state);
    ingot_event_retain(event);
    submit(stream, command);
    return INGOT_OK;
}

/* ---- waiting ---- */

static bool reached(struct cpu_stream *stream, uint64_t target) {
    return atomic_load_explicit(&stream->completed, memory_order_acquire) >= target;
}

/* Runs work of the stream on this thread if there is any to have. */
static bool help_stream(struct cpu_stream *stream, uint64_t target) {
    if (!cpu_pool_has_role(stream) || !cpu_thread_can_enter()) {
        return false;
    }
    struct cpu_executor *executor = cpu_pool_borrow(stream->device);
    if (!executor) {
        return false;
    }
    enum cpu_role role = cpu_pool_claim(stream);
    if (role != CPU_NO_ROLE) {
        cpu_thread_enter(executor);
        if (role == CPU_LEADER) {
            cpu_run_commands(executor, stream, target);
        } else {
            cpu_help_with_command(executor, stream, target);
        }
        cpu_thread_leave(executor);
        cpu_pool_done(stream->device);
    }
    cpu_pool_return(executor);
    return role != CPU_NO_ROLE;
}

/* Looks often for the last command only: every look takes the counter away from who counts. */
static void spin_briefly(struct cpu_stream *stream, uint64_t target) {
    uint64_t done = atomic_load_explicit(&stream->completed, memory_order_acquire);
    if (done + 1 < target) {
        for (int i = 0; i < SELDOM; i++) {
            cpu_relax();
        }
        return;
    }
    for (int i = 0; i < OFTEN && !reached(stream, target); i++) {
        cpu_relax();
    }
}

/* Looks for a role for a while, and again after it had one. True when there is nothing left to
 * wait for. */
static bool look(struct cpu_stream *stream, uint64_t target) {
    uint64_t end = cpu_now() + WAIT_SPIN_NS;
    atomic_fetch_add_explicit(&stream->lookers, 1, memory_order_relaxed);
    do {
        spin_briefly(stream, target);
        if (reached(stream, target)) {
            break;
        }
        if (!cpu_pool_has_role(stream)) {
            continue;
        }
        atomic_fetch_sub_explicit(&stream->lookers, 1, memory_order_relaxed);
        if (help_stream(stream, target)) {
            end = cpu_now() + WAIT_SPIN_NS;
        }
        atomic_fetch_add_explicit(&stream->lookers, 1, memory_order_relaxed);
    } while (cpu_now() < end);
    atomic_fetch_sub_explicit(&stream->lookers, 1, memory_order_relaxed);
    return reached(stream, target);
}

static void wait_until(struct cpu_stream *stream, uint64_t target) {
    help_stream(stream, target);
    if (reached(stream, target)) {
        return;
    }
    cpu_pool_ring(stream->device); /* what it waits for may be on other streams */
    if (!look(stream, target)) {
        sleep_until(stream, target);
    }
}

void cpu_stream_cancel(void *handle) {
    struct cpu_stream *stream = handle;
    atomic_store(&stream->cancelled, atomic_load(&stream->submitted));
    cpu_watchdog_poke(stream->device);
}

ingot_status cpu_stream_wait(void *handle, struct ig_error *error) {
    struct cpu_stream *stream = handle;
    uint64_t target = atomic_load(&stream->submitted);
    if (!reached(stream, target)) {
        wait_until(stream, target);
    }
    if (stream->device->base.sanitizer) {
        ig_sanitizer_flush(stream->device->base.sanitizer);
    }
    if (!atomic_load(&stream->failed)) {
        return INGOT_OK;
    }
    pthread_mutex_lock(&stream->lock);
    struct ig_error first = stream->error;
    memset(&stream->error, 0, sizeof stream->error);
    atomic_store(&stream->failed, false);
    pthread_mutex_unlock(&stream->lock);
    ingot_status status = first.status;
    if (error) {
        *error = first;
    } else {
        ig_error_clear(&first);
    }
    return status;
}
