/*
 * Sharing a command among threads: its pieces are cut into a contiguous share per worker; a thread
 * begins with one of its own, claims chunks of it, and then helps with the others.
 */
#include <sched.h>
#include <string.h>

#include "runtime/cpu/cpu.h"
#include "runtime/observe.h"
#include "runtime/sanitize/sanitizer.h"

#define CLAIMS  4u       /* a quarter of what is left of a share at a time, or a chunk */
#define MOVE_NS 2000000u /* a worker leaves its CPU so seldom */

/* ---- running pieces ---- */

static void note_failure(struct cpu_executor *executor, struct cpu_command *command) {
    if (!atomic_exchange(&command->failed, true)) {
        cpu_describe_failure(executor, &command->error);
    }
}

static void run_blit(const struct cpu_command *command, uint64_t first, uint64_t count) {
    uint64_t from = first * CPU_BLIT_BLOCK, length = command->u.blit.length;
    uint64_t bytes = length - from;
    if (command->pieces > 1 && count * CPU_BLIT_BLOCK < bytes) { /* a single piece is the whole */
        bytes = count * CPU_BLIT_BLOCK;
    }
    char *to =
        (char *)command->u.blit.destination->contents + command->u.blit.destination_offset + from;
    ig_sanitizer_set_written(command->u.blit.destination->device->sanitizer, (uintptr_t)to, bytes);
    if (command->kind == CPU_FILL) {
        memset(to, command->u.blit.value, bytes);
    } else {
        memmove(to,
                (const char *)command->u.blit.source->contents + command->u.blit.source_offset +
                    from,
                bytes);
    }
}

void cpu_run_pieces(struct cpu_executor *executor, struct cpu_command *command, uint64_t first,
                    uint64_t count) {
    if (command->kind != CPU_DISPATCH) {
        run_blit(command, first, count);
    } else if (!cpu_run_groups(executor, command, first, count)) {
        note_failure(executor, command);
    }
}

/* ---- shares ---- */

void cpu_make_shares(struct cpu_stream *stream, struct cpu_command *command) {
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

/* Chunks that turn out short grow. */
void cpu_take_part(struct cpu_executor *executor, struct cpu_stream *stream,
                   struct cpu_command *command, bool notes_cost) {
    uint64_t chunk = command->chunk, most = cpu_largest_chunk(executor, command);
    uint32_t share = first_share(stream, command, executor);
    if (command->is_brief) {
        executor->brief_stream = stream;
        executor->brief_shares = command->shares;
        executor->brief_share = share;
    }
    leave_crowd(executor);
    uint64_t start = cpu_now(), begin = start, pieces = 0, compared = cpu_time_to_compare(command);
    while (!atomic_load_explicit(&command->failed, memory_order_relaxed)) {
        uint64_t first, count = chunk;
        if (!claim(stream, command, &share, &first, &count)) {
            break;
        }
        cpu_run_pieces(executor, command, first, count);
        uint64_t end = cpu_now();
        if (end - start < CPU_CHUNK_NS / 2 && chunk <= most / 2) {
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
    if (pieces && ig_observed.traces) {
        cpu_trace_part(executor, command, begin, start);
    }
    if (command->kind == CPU_DISPATCH && pieces) {
        cpu_end_groups(executor);
        if (notes_cost) {
            cpu_note_cost(command->u.dispatch.code, start - begin, pieces);
        }
        if (command->is_compared) {
            cpu_note_order(command, compared, pieces);
        }
    }
}
