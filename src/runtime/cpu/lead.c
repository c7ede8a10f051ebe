/*
 * Leading a stream: taking commands off its queue and running them in order.
 *
 * Requires that the caller leads (or helps) the stream, see cpu.h. A command of little work,
 * judged by what its kernel cost before, runs on the leader alone; others are opened to
 * helpers. A failed stream drops commands, but events still complete.
 */
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/last_cache.h"
#include "runtime/cpu/cpu.h"

#define ALONE_NS          10000u /* less work than this is not worth sharing, */
#define QUEUED_ALONE_NS   3000u  /* nor this where BACKLOG_NS of work are queued */
#define BACKLOG_NS        40000u
#define BACKLOG_MOST_NS   400000u /* less than makes a command long */
#define BRIEF_NS          100000u /* who helps with so little work attends */
#define HANDOVER_NS       400u
#define ATTEND_NS         20000u /* for so long */
#define LOOKS             64u    /* before a look at the clock */
#define CHUNK_NS          2000u  /* what a claim should cost at least */
#define CHUNKS_PER_THREAD 8u
#define CLAIMS            4u       /* a quarter of what is left of a share at a time, or a chunk */
#define MOVE_NS           2000000u /* a worker leaves its CPU so seldom */
#define LINGER_NS         2000u    /* a leader waits this long for the next command */
#define BLIT_BLOCK        ((uint64_t)1 << 20)
#define LONGEST_LIMIT     1e9 /* seconds; beyond is none */
#define MAX_FREE          1024u
#define BLIT_BYTES_PER_NS 8u
#define ROW_THREADS       64u
#define TIMED_EVERY       8u      /* commands that run on one thread */
#define TURNED_NS         400000u /* work that may be more than the caches hold, */
#define STRETCH_NS        50000u  /* and a part of it that is less */
#define FIRST_TRIALS      4u      /* of two orders in turn, */
#define TRIED_EVERY       32u     /* and then of the slower one */
#define LEAST_STRIPED     64u     /* threadgroups */

/* ---- running ---- */

/* Whoever submitted the next command has it in its cache. */
static void prefetch(const struct cpu_command *command) {
    if (!command) {
        return;
    }
    const char *bytes = (const char *)command;
    for (size_t at = 0; at <= offsetof(struct cpu_command, payload); at += 64) {
        __builtin_prefetch(bytes + at);
    }
}

static void note_failure(struct cpu_executor *executor, struct cpu_command *command) {
    if (!atomic_exchange(&command->failed, true)) {
        cpu_describe_failure(executor, &command->error);
    }
}

static void note_cost(struct cpu_code *code, uint64_t nanoseconds, uint64_t groups) {
    uint64_t cost = nanoseconds * 16 / groups + 1;
    uint32_t mean = atomic_load_explicit(&code->cost, memory_order_relaxed);
    if (cost > UINT32_MAX) {
        cost = UINT32_MAX;
    }
    uint32_t updated = mean ? (uint32_t)(((uint64_t)mean * 3 + cost) / 4) : (uint32_t)cost;
    atomic_store_explicit(&code->cost, updated, memory_order_relaxed);
}

/* Of the calling thread on its CPU, in ns, where two orders are compared: it may lose its CPU to
 * others for longer than they differ. */
static uint64_t time_to_compare(const struct cpu_command *command) {
    struct timespec time;
    if (!command->is_compared || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) {
        return 0;
    }
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Follows what is faster at once and what is slower by and by: others may have been in the way. */
static void note_order(const struct cpu_command *command, uint64_t start, uint64_t groups) {
    struct cpu_code *code = command->u.dispatch.code;
    uint64_t nanoseconds = time_to_compare(command) - start;
    atomic_uint *kept = command->turn ? &code->striped_cost : &code->plain_cost;
    uint32_t before = atomic_load_explicit(kept, memory_order_relaxed);
    uint64_t cost = nanoseconds * 16 / groups + 1;
    if (before && cost > before) {
        cost = before + (cost - before) / 8;
    }
    atomic_store_explicit(kept, cost < UINT32_MAX ? (uint32_t)cost : UINT32_MAX,
                          memory_order_relaxed);
}

static void run_blit(const struct cpu_command *command, uint64_t first, uint64_t count) {
    uint64_t from = first * BLIT_BLOCK, length = command->u.blit.length;
    uint64_t bytes = length - from;
    if (command->pieces > 1 && count * BLIT_BLOCK < bytes) { /* a single piece is the whole */
        bytes = count * BLIT_BLOCK;
    }
    char *to =
        (char *)command->u.blit.destination->contents + command->u.blit.destination_offset + from;
    if (command->kind == CPU_FILL) {
        memset(to, command->u.blit.value, bytes);
    } else {
        memmove(to,
                (const char *)command->u.blit.source->contents + command->u.blit.source_offset +
                    from,
                bytes);
    }
}

static void run_pieces(struct cpu_executor *executor, struct cpu_command *command, uint64_t first,
                       uint64_t count) {
    if (command->kind != CPU_DISPATCH) {
        run_blit(command, first, count);
    } else if (!cpu_run_groups(executor, command, first, count)) {
        note_failure(executor, command);
    }
}

/* The most that one claim may take, so that threads finish at about the same time. */
static uint64_t largest_chunk(const struct cpu_executor *executor,
                              const struct cpu_command *command) {
    uint64_t most =
        command->pieces / ((uint64_t)executor->device->worker_count * CHUNKS_PER_THREAD);
    return most ? most : 1;
}

/* Cuts an open command into shares, at most one per worker and one per chunk. */
static void make_shares(struct cpu_stream *stream, struct cpu_command *command) {
    uint64_t chunks = (command->pieces + command->chunk - 1) / command->chunk;
    uint32_t count = stream->device->worker_count;
    if (command->most_shares && command->most_shares < count) {
        count = command->most_shares;
    }
    if (chunks < count) {
        count = (uint32_t)chunks;
    }
    command->shares = count;
    uint64_t each = command->pieces / count, more = command->pieces % count, at = 0;
    for (uint32_t i = 0; i < count; i++) {
        atomic_store_explicit(&stream->shares[i].next, at, memory_order_relaxed);
        stream->shares[i].begin = at;
        at += each + (i < more);
        stream->shares[i].end = at;
        atomic_store_explicit(&stream->shares[i].taken, 0, memory_order_relaxed);
    }
}

/* Where a thread begins: with the share that its CPU always begins with and may have in its cache,
 * unless another has begun there, so that threads do not work side by side. Brief commands have
 * fewer shares than there are CPUs, but the same threads come again: each begins where it did. */
static uint32_t first_share(struct cpu_stream *stream, const struct cpu_command *command,
                            const struct cpu_executor *executor) {
    int cpu = sched_getcpu();
    bool known = cpu >= 0 && cpu < CPU_MAX_RANKS;
    uint32_t index = known ? executor->device->rank[cpu] : executor->index;
    if (command->is_brief && executor->brief_stream == stream &&
        executor->brief_shares == command->shares) {
        index = executor->brief_share;
    }
    for (uint32_t i = 0; i < command->shares; i++) {
        uint32_t share = (index + i) % command->shares;
        int nobody = 0;
        if (atomic_compare_exchange_strong_explicit(&stream->shares[share].taken, &nobody,
                                                    known ? cpu + 1 : -1, memory_order_relaxed,
                                                    memory_order_relaxed)) {
            return share;
        }
        if (known && nobody == cpu + 1) {
            atomic_store_explicit(&executor->device->crowded, nobody, memory_order_relaxed);
        }
    }
    return index % command->shares;
}

/* Threads that wake each other tend to be put on the same CPU, and where others are busy they stay
 * there, in each other's way, for long. A worker that is needed on another CPU goes there: it is
 * forbidden this one for a moment. */
static void leave_crowd(struct cpu_executor *executor) {
    struct cpu_device *device = executor->device;
    int crowded = atomic_load_explicit(&device->crowded, memory_order_relaxed);
    if (!crowded || executor->index >= device->worker_count || sched_getcpu() + 1 != crowded) {
        return;
    }
    uint64_t now = cpu_now();
    if (now - executor->moved < MOVE_NS) {
        return;
    }
    executor->moved = now;
    atomic_store_explicit(&device->crowded, 0, memory_order_relaxed);
    cpu_set_t before, others;
    if (sched_getaffinity(0, sizeof before, &before) != 0) {
        return;
    }
    others = before;
    CPU_CLR(crowded - 1, &others);
    if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0) {
        sched_setaffinity(0, sizeof before, &before);
    }
}

/* Claims *count pieces or more, while much is left: of share *share, or else of the next one that
 * has some. */
static bool claim(struct cpu_stream *stream, const struct cpu_command *command, uint32_t *share,
                  uint64_t *first, uint64_t *count) {
    const uint64_t least = *count;
    for (uint32_t tries = 0; tries < command->shares; tries++) {
        struct cpu_share *from = &stream->shares[*share];
        uint64_t next = atomic_load_explicit(&from->next, memory_order_relaxed);
        if (next < from->end) {
            uint64_t left = from->end - next;
            *count = left / CLAIMS;
            if (command->stretch && *count > command->stretch) {
                *count = command->stretch;
            }
            if (*count < least) {
                *count = left < 2 * least ? left : least;
            }
            *first = atomic_fetch_add_explicit(&from->next, *count, memory_order_relaxed);
            if (*first < from->end) {
                if (*count > from->end - *first) {
                    *count = from->end - *first;
                }
                if (command->stretch) {
                    *first = from->begin + from->end - *first - *count;
                }
                return true;
            }
        }
        *share = *share + 1 == command->shares ? 0 : *share + 1;
    }
    return false;
}

static bool work_left(struct cpu_stream *stream, const struct cpu_command *command) {
    for (uint32_t i = 0; i < command->shares; i++) {
        if (atomic_load_explicit(&stream->shares[i].next, memory_order_relaxed) <
            stream->shares[i].end) {
            return true;
        }
    }
    return false;
}

/* Why an open command is not to be gone on with. */
static enum cpu_failure_kind reason_to_stop(struct cpu_stream *stream,
                                            const struct cpu_command *command, uint64_t now) {
    if (command->kind != CPU_DISPATCH) {
        return CPU_NO_FAILURE;
    }
    if (cpu_stream_cancelled(stream)) {
        return CPU_STOPPED;
    }
    return command->deadline && now >= command->deadline ? CPU_TIMEOUT : CPU_NO_FAILURE;
}

/* Claims chunks until there are none. Chunks that turn out short grow. */
static void take_part(struct cpu_executor *executor, struct cpu_stream *stream,
                      struct cpu_command *command, bool notes_cost) {
    uint64_t chunk = command->chunk, most = largest_chunk(executor, command);
    uint32_t share = first_share(stream, command, executor);
    if (command->is_brief) {
        executor->brief_stream = stream;
        executor->brief_shares = command->shares;
        executor->brief_share = share;
    }
    leave_crowd(executor);
    uint64_t start = cpu_now(), begin = start, pieces = 0, compared = time_to_compare(command);
    while (!atomic_load_explicit(&command->failed, memory_order_relaxed)) {
        uint64_t first, count = chunk;
        if (!claim(stream, command, &share, &first, &count)) {
            break;
        }
        run_pieces(executor, command, first, count);
        uint64_t end = cpu_now();
        if (end - start < CHUNK_NS / 2 && chunk <= most / 2) {
            chunk *= 2;
        }
        pieces += count;
        enum cpu_failure_kind why = reason_to_stop(stream, command, end);
        if (why != CPU_NO_FAILURE && work_left(stream, command)) {
            executor->failure.kind = why;
            note_failure(executor, command);
        }
        start = end;
    }
    if (command->kind == CPU_DISPATCH && pieces) {
        cpu_end_groups(executor);
        if (notes_cost) {
            note_cost(command->u.dispatch.code, start - begin, pieces);
        }
        if (command->is_compared) {
            note_order(command, compared, pieces);
        }
    }
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

static uint32_t attending(const struct cpu_stream *stream) {
    return atomic_load_explicit(&stream->rounds.attending, memory_order_relaxed);
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
        command->work == CPU_UNKNOWN_WORK || command->work < TURNED_NS) {
        return;
    }
    stream->backwards = !stream->backwards;
    if (stream->backwards) {
        command->stretch = command->pieces / (command->work / STRETCH_NS) + 1;
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
        (uint64_t)each * threads[0] * threads[1] * threads[2] <= ig_last_cache_bytes()) {
        return 0;
    }
    return turn_bytes[arrays] / each;
}

/* The same of a kernel that says that it moves memory, group by group: which, only its buffers
 * tell. */
static bool moves_much(const struct cpu_command *command) {
    uint64_t bytes = 0;
    if (!(command->u.dispatch.code->kernel->flags & INGOT_CPU_KERNEL_MOVES)) {
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
    uint32_t together = row_turn(command), split = 1, width = command->u.dispatch.group[0];
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
    command->turn = block < together ? together / block : 1;
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

/* Sets the chunk size; true when the leader should run the command alone. */
static bool plan(const struct cpu_executor *executor, struct cpu_stream *stream,
                 struct cpu_command *command) {
    if (command->pieces == 1) {
        return true;
    }
    command->chunk = smallest_chunk(command);
    command->work = cpu_expected_work(command);
    stripe(executor->device, command);
    turn(stream, command);
    if (executor->device->worker_count == 1) {
        return true;
    }
    if (command->work == CPU_UNKNOWN_WORK || command->kind != CPU_DISPATCH) {
        return false;
    }
    uint64_t cost = command->work / command->pieces + 1; /* of one threadgroup */
    uint64_t chunk = CHUNK_NS / cost, most = largest_chunk(executor, command);
    command->most_shares = worthwhile_shares(command->work, executor->device->worker_count);
    command->is_short = command->work <= ALONE_NS;
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

/* ---- rounds ---- */

/* Are there enough who attend to do without the pool? It takes locks, and may wake others. */
static bool can_run_round(const struct cpu_stream *stream, const struct cpu_command *command) {
    uint32_t present = attending(stream);
    return command->is_brief && present > 0 &&
           (command->is_short || present >= command->shares - 1);
}

/* The command, with those of the attending who come in time; the caller leads on. */
static void run_round(struct cpu_executor *executor, struct cpu_stream *stream,
                      struct cpu_command *command) {
    struct cpu_rounds *rounds = &stream->rounds;
    uint64_t last = atomic_load_explicit(&rounds->current, memory_order_relaxed);
    atomic_store_explicit(&rounds->command, command, memory_order_relaxed);
    atomic_store_explicit(&rounds->helpers, command->shares - 1, memory_order_relaxed);
    atomic_store_explicit(&rounds->finished, 0, memory_order_relaxed);
    atomic_store_explicit(&rounds->current, (last / CPU_ROUND_STEP + 1) * CPU_ROUND_STEP,
                          memory_order_release);
    take_part(executor, stream, command, true);
    uint64_t joined =
        atomic_fetch_or_explicit(&rounds->current, CPU_ROUND_CLOSED, memory_order_relaxed) %
        CPU_ROUND_CLOSED;
    for (uint32_t looks = 1; atomic_load_explicit(&rounds->finished, memory_order_acquire) < joined;
         looks++) {
        cpu_relax();
        if (looks % (16 * LOOKS) == 0) {
            sched_yield(); /* somebody has lost its CPU */
        }
    }
}

/* After a brief command: takes part in the rounds that follow, until there is none for a while,
 * there is other work, or `until` commands are completed. */
static void attend(struct cpu_executor *executor, struct cpu_stream *stream, uint64_t until) {
    struct cpu_rounds *rounds = &stream->rounds;
    _Atomic uint64_t *signal = &executor->device->work_signal;
    uint64_t seen = atomic_load_explicit(signal, memory_order_relaxed), joined = CPU_ROUND_CLOSED;
    uint64_t end = cpu_now() + ATTEND_NS;
    for (uint32_t looks = 1; atomic_load_explicit(signal, memory_order_relaxed) == seen; looks++) {
        /* acquire: the command read below is this round's, or the round has closed */
        uint64_t round = atomic_load_explicit(&rounds->current, memory_order_acquire);
        bool open =
            !(round & CPU_ROUND_CLOSED) && round / CPU_ROUND_STEP != joined &&
            round % CPU_ROUND_CLOSED < atomic_load_explicit(&rounds->helpers, memory_order_relaxed);
        struct cpu_command *command = NULL;
        if (open) { /* what it needs is with the leader: all at once, rather than in turn */
            command = atomic_load_explicit(&rounds->command, memory_order_relaxed);
            prefetch(command);
            __builtin_prefetch(&stream->shares[executor->brief_share], 1);
        }
        if (open &&
            atomic_compare_exchange_strong_explicit(&rounds->current, &round, round + 1,
                                                    memory_order_acquire, memory_order_relaxed)) {
            joined = round / CPU_ROUND_STEP;
            take_part(executor, stream, command, false);
            atomic_fetch_add_explicit(&rounds->finished, 1, memory_order_release);
            end = cpu_now() + ATTEND_NS;
        } else if (!open) {
            cpu_relax();
        }
        if (looks % LOOKS == 0 && (cpu_now() >= end || atomic_load(&stream->completed) >= until)) {
            break;
        }
    }
}

/* ---- finishing ---- */

static void release_resources(struct cpu_command *command) {
    switch (command->kind) {
    case CPU_DISPATCH:
        for (uint32_t slot = 0; slot < command->u.dispatch.slots; slot++) {
            ingot_buffer_release(command->u.dispatch.retained[slot]);
        }
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

/* Reading the clock costs as much as a small threadgroup: once in a while is enough. */
static void run_alone(struct cpu_executor *executor, struct cpu_command *command) {
    struct cpu_code *code = command->kind == CPU_DISPATCH ? command->u.dispatch.code : NULL;
    bool timed = code && (executor->alone_count++ % TIMED_EVERY == 0 ||
                          !atomic_load_explicit(&code->cost, memory_order_relaxed));
    uint64_t start = timed ? cpu_now() : 0, compared = time_to_compare(command);
    run_pieces(executor, command, 0, command->pieces);
    if (code) {
        cpu_end_groups(executor);
    }
    if (timed) {
        note_cost(code, cpu_now() - start, command->pieces);
    }
    if (command->is_compared) {
        note_order(command, compared, command->pieces);
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
    prefetch(command->next);
    if (command->time_limit > 0 && command->time_limit < LONGEST_LIMIT) {
        command->deadline =
            cpu_now_for(command->time_limit) + (uint64_t)(command->time_limit * 1e9);
    }
    bool alone = plan(executor, stream, command);
    if (alone && !command->stretch) {
        run_alone(executor, command);
        return DONE;
    }
    make_shares(stream, command);
    if (alone) {
        take_part(executor, stream, command, true);
        return DONE;
    }
    if (can_run_round(stream, command)) {
        run_round(executor, stream, command);
        return DONE;
    }
    cpu_pool_open(stream, command);
    take_part(executor, stream, command, true);
    return cpu_pool_leave(stream) ? DONE : HELPERS_GO_ON;
}

void cpu_lead(struct cpu_executor *executor, struct cpu_stream *stream, uint64_t until) {
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

void cpu_help(struct cpu_executor *executor, struct cpu_stream *stream, uint64_t until) {
    atomic_store_explicit(&executor->stream, stream, memory_order_relaxed);
    struct cpu_rounds *rounds = &stream->rounds;
    const struct cpu_command *command = stream->active;
    bool stays = command->is_brief && attending(stream) < executor->device->max_spinning &&
                 attending(stream) < command->shares - 1;
    take_part(executor, stream, stream->active, true);
    if (stays) { /* before it leaves: the stream may not be closed while somebody attends */
        atomic_fetch_add_explicit(&rounds->attending, 1, memory_order_relaxed);
    }
    bool last = cpu_pool_leave(stream);
    if (stays && !last) {
        attend(executor, stream, until);
    }
    if (stays) {
        atomic_fetch_sub_explicit(&rounds->attending, 1, memory_order_release);
    }
    if (last) {
        finish(stream);
        cpu_lead(executor, stream, until);
    }
}
