/*
 * The shares of a command: threads claim chunks of its pieces, run them, and note what they cost.
 *
 * An open command has its shares in cpu_stream.shares, a round in the seats (rounds.c).
 */
#include <sched.h>
#include <string.h>
#include <time.h>

#include "runtime/cpu/cpu.h"

#define CHUNKS_PER_THREAD 8u
#define CLAIMS            4u       /* a quarter of what is left of a share at a time, or a chunk */
#define MOVE_NS           2000000u /* a worker leaves its CPU so seldom */
#define BLIT_BLOCK        ((uint64_t)1 << 20)
#define TIMED_EVERY       8u /* commands that run on one thread */

/* ---- running ---- */

static void note_failure(struct cpu_executor *executor, struct cpu_command *command) {
    if (!atomic_exchange(&command->failed, true))
        cpu_describe_failure(executor, &command->error);
}

static void note_cost(struct cpu_code *code, uint64_t nanoseconds, uint64_t groups) {
    uint64_t cost = nanoseconds * 16 / groups + 1;
    uint32_t mean = atomic_load_explicit(&code->cost, memory_order_relaxed);
    if (cost > UINT32_MAX)
        cost = UINT32_MAX;
    uint32_t updated = mean ? (uint32_t)(((uint64_t)mean * 3 + cost) / 4) : (uint32_t)cost;
    atomic_store_explicit(&code->cost, updated, memory_order_relaxed);
}

/* Of the calling thread on its CPU, in ns, where two orders are compared: it may lose its CPU to
 * others for longer than they differ. */
static uint64_t time_to_compare(const struct cpu_command *command) {
    struct timespec time;
    if (!command->is_compared || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0)
        return 0;
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Follows what is faster at once and what is slower by and by: others may have been in the way. */
static void note_order(const struct cpu_command *command, uint64_t start, uint64_t groups) {
    struct cpu_code *code = command->u.dispatch.code;
    uint64_t nanoseconds = time_to_compare(command) - start;
    atomic_uint *kept = command->turn ? &code->striped_cost : &code->plain_cost;
    uint32_t before = atomic_load_explicit(kept, memory_order_relaxed);
    uint64_t cost = nanoseconds * 16 / groups + 1;
    if (before && cost > before)
        cost = before + (cost - before) / 8;
    atomic_store_explicit(kept, cost < UINT32_MAX ? (uint32_t)cost : UINT32_MAX,
                          memory_order_relaxed);
}

static void run_blit(const struct cpu_command *command, uint64_t first, uint64_t count) {
    uint64_t from = first * BLIT_BLOCK, length = command->u.blit.length;
    uint64_t bytes = length - from;
    if (command->pieces > 1 && count * BLIT_BLOCK < bytes) /* a single piece is the whole */
        bytes = count * BLIT_BLOCK;
    char *to =
        (char *)command->u.blit.destination->contents + command->u.blit.destination_offset + from;
    if (command->kind == CPU_FILL)
        memset(to, command->u.blit.value, bytes);
    else
        memmove(to,
                (const char *)command->u.blit.source->contents + command->u.blit.source_offset +
                    from,
                bytes);
}

static void run_pieces(struct cpu_executor *executor, struct cpu_command *command, uint64_t first,
                       uint64_t count) {
    if (command->kind != CPU_DISPATCH)
        run_blit(command, first, count);
    else if (!cpu_run_groups(executor, command, first, count))
        note_failure(executor, command);
}

/* Reading the clock costs as much as a small threadgroup: once in a while is enough. */
void cpu_run_alone(struct cpu_executor *executor, struct cpu_command *command) {
    struct cpu_code *code = command->kind == CPU_DISPATCH ? command->u.dispatch.code : NULL;
    bool timed = code && (command->is_sample || executor->alone_count++ % TIMED_EVERY == 0 ||
                          !atomic_load_explicit(&code->cost, memory_order_relaxed));
    uint64_t start = timed ? cpu_now() : 0, compared = time_to_compare(command);
    run_pieces(executor, command, 0, command->pieces);
    if (code)
        cpu_end_groups(executor);
    if (timed)
        note_cost(code, cpu_now() - start, command->pieces);
    if (command->is_compared)
        note_order(command, compared, command->pieces);
}

/* ---- shares ---- */

/* The most that one claim may take, so that threads finish at about the same time. */
uint64_t cpu_largest_chunk(const struct cpu_device *device, const struct cpu_command *command) {
    uint64_t most = command->pieces / ((uint64_t)device->worker_count * CHUNKS_PER_THREAD);
    return most ? most : 1;
}

void cpu_make_shares(struct cpu_stream *stream, struct cpu_command *command) {
    uint64_t chunks = (command->pieces + command->chunk - 1) / command->chunk;
    uint32_t count = stream->device->worker_count;
    if (command->most_shares && command->most_shares < count)
        count = command->most_shares;
    if (chunks < count)
        count = (uint32_t)chunks;
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

int cpu_own(void) {
    int cpu = sched_getcpu();
    return cpu >= 0 && cpu < CPU_MAX_RANKS ? cpu + 1 : -1;
}

/* Where a thread begins: with the share that its CPU always begins with and may have in its cache,
 * unless another has begun there, so that threads do not work side by side. */
static uint32_t first_share(struct cpu_stream *stream, const struct cpu_command *command,
                            const struct cpu_executor *executor) {
    int cpu = cpu_own();
    uint32_t index = cpu > 0 ? executor->device->rank[cpu - 1] : executor->index;
    for (uint32_t i = 0; i < command->shares; i++) {
        uint32_t share = (index + i) % command->shares;
        int nobody = 0;
        if (atomic_compare_exchange_strong_explicit(&stream->shares[share].taken, &nobody, cpu,
                                                    memory_order_relaxed, memory_order_relaxed))
            return share;
        if (cpu > 0 && nobody == cpu)
            atomic_store_explicit(&executor->device->crowded, nobody, memory_order_relaxed);
    }
    return index % command->shares;
}

/* Threads that wake each other tend to be put on the same CPU, and where others are busy they stay
 * there, in each other's way, for long. A worker that is needed on another CPU goes there: it is
 * forbidden this one for a moment. */
void cpu_leave_crowd(struct cpu_executor *executor) {
    struct cpu_device *device = executor->device;
    int crowded = atomic_load_explicit(&device->crowded, memory_order_relaxed);
    if (!crowded || executor->index >= device->worker_count || sched_getcpu() + 1 != crowded)
        return;
    uint64_t now = cpu_now();
    if (now - executor->moved < MOVE_NS)
        return;
    executor->moved = now;
    atomic_store_explicit(&device->crowded, 0, memory_order_relaxed);
    cpu_set_t before, others;
    if (sched_getaffinity(0, sizeof before, &before) != 0)
        return;
    others = before;
    CPU_CLR(crowded - 1, &others);
    if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0)
        sched_setaffinity(0, sizeof before, &before);
}

/* ---- claims ---- */

/* Of what is left of a share, a part, but at least so much. */
static uint64_t part_of(const struct cpu_command *command, uint64_t left, uint64_t least) {
    if (command->is_even) /* its data stay with who always does it */
        return left;
    uint64_t count = left / CLAIMS;
    if (command->stretch && count > command->stretch)
        count = command->stretch;
    if (count < least)
        count = left < 2 * least ? left : least;
    return count;
}

static bool claim_of_share(struct cpu_share *from, const struct cpu_command *command,
                           uint64_t *first, uint64_t *count) {
    uint64_t next = atomic_load_explicit(&from->next, memory_order_relaxed);
    if (next >= from->end)
        return false;
    *count = part_of(command, from->end - next, *count);
    *first = atomic_fetch_add_explicit(&from->next, *count, memory_order_relaxed);
    if (*first >= from->end)
        return false;
    if (*count > from->end - *first)
        *count = from->end - *first;
    if (command->stretch)
        *first = from->begin + from->end - *first - *count;
    return true;
}

static uint64_t share_begin(const struct cpu_command *command, uint32_t share) {
    return command->pieces * share / command->shares;
}

/* Where the share of a seat goes on: nobody has to set it up for a round. */
static uint64_t next_of_seat(const struct cpu_command *command, uint32_t seat, uint64_t claims) {
    return claims >> CPU_ROUND_PIECES == command->round
               ? claims & (((uint64_t)1 << CPU_ROUND_PIECES) - 1)
               : share_begin(command, seat);
}

static bool claim_of_seat(struct cpu_stream *stream, const struct cpu_command *command,
                          uint32_t seat, uint64_t *first, uint64_t *count) {
    _Atomic uint64_t *claims = &stream->seats[seat].claims;
    uint64_t before = atomic_load_explicit(claims, memory_order_relaxed), after;
    const uint64_t end = share_begin(command, seat + 1), least = *count;
    do {
        *first = next_of_seat(command, seat, before);
        if (*first >= end)
            return false;
        *count = part_of(command, end - *first, least);
        after = command->round << CPU_ROUND_PIECES | (*first + *count);
    } while (!atomic_compare_exchange_weak_explicit(claims, &before, after, memory_order_relaxed,
                                                    memory_order_relaxed));
    if (command->stretch)
        *first = share_begin(command, seat) + end - *first - *count;
    return true;
}

/* Claims *count pieces or more, while much is left: of share *share, or else of the next of `reach`
 * that has some. */
static bool claim(struct cpu_stream *stream, const struct cpu_command *command, uint32_t reach,
                  uint32_t *share, uint64_t *first, uint64_t *count) {
    const uint64_t least = *count;
    for (uint32_t tries = 0; tries < reach; tries++) {
        *count = least;
        if (command->round ? claim_of_seat(stream, command, *share, first, count)
                           : claim_of_share(&stream->shares[*share], command, first, count))
            return true;
        if (tries == 0 && reach > 1 && command->round) /* others' are with them: all at once */
            for (uint32_t i = 0; i < command->shares; i++)
                __builtin_prefetch(&stream->seats[i]);
        *share = *share + 1 == command->shares ? 0 : *share + 1;
    }
    return false;
}

static bool work_left(struct cpu_stream *stream, const struct cpu_command *command) {
    for (uint32_t i = 0; i < command->shares; i++) {
        uint64_t claims = atomic_load_explicit(&stream->seats[i].claims, memory_order_relaxed);
        uint64_t next = atomic_load_explicit(&stream->shares[i].next, memory_order_relaxed);
        if (command->round ? next_of_seat(command, i, claims) < share_begin(command, i + 1)
                           : next < stream->shares[i].end)
            return true;
    }
    return false;
}

/* Why an open command is not to be gone on with. */
static enum cpu_failure_kind reason_to_stop(struct cpu_stream *stream,
                                            const struct cpu_command *command, uint64_t now) {
    if (command->kind != CPU_DISPATCH)
        return CPU_NO_FAILURE;
    if (cpu_stream_cancelled(stream))
        return CPU_STOPPED;
    return command->deadline && now >= command->deadline ? CPU_TIMEOUT : CPU_NO_FAILURE;
}

/* Chunks that turn out short grow. */
void cpu_take_part(struct cpu_executor *executor, struct cpu_stream *stream,
                   struct cpu_command *command, uint32_t share, uint32_t reach, bool notes_cost) {
    uint64_t chunk = command->chunk, most = cpu_largest_chunk(executor->device, command);
    cpu_leave_crowd(executor);
    uint64_t start = cpu_now(), begin = start, pieces = 0, compared = time_to_compare(command);
    while (!atomic_load_explicit(&command->failed, memory_order_relaxed)) {
        uint64_t first, count = chunk;
        if (!claim(stream, command, reach, &share, &first, &count))
            break;
        run_pieces(executor, command, first, count);
        uint64_t end = cpu_now();
        if (end - start < CPU_CHUNK_NS / 2 && chunk <= most / 2)
            chunk *= 2;
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
        if (notes_cost)
            note_cost(command->u.dispatch.code, start - begin, pieces);
        if (command->is_compared)
            note_order(command, compared, pieces);
    }
}

void cpu_take_open_part(struct cpu_executor *executor, struct cpu_stream *stream,
                        struct cpu_command *command) {
    uint32_t share = first_share(stream, command, executor);
    cpu_take_part(executor, stream, command, share, command->shares, true);
}
