/*
 * A team: helpers who stay with a stream after a brief command and spin for the next. They join it
 * without a lock, so that commands of a few microseconds are worth sharing. Each command that they
 * share is a round; its number, whether it is closed, and how many have joined are one word.
 */
#include <sched.h>

#include "runtime/cpu/cpu.h"

#define FOLLOW_NS 20000u /* a helper waits so long for the next brief command */
#define LOOKS     64u    /* before a look at the clock */
#define RECRUITS  16u    /* commands between those that ask for more helpers than have stayed */

bool cpu_team_can_run(struct cpu_stream *stream, struct cpu_command *command) {
    uint32_t present = cpu_team_size(stream);
    if (!command->is_brief || present == 0) {
        return false;
    }
    /* opening it to all takes locks, and makes all who look for work contend for them */
    if (present + 1 < command->most_shares && !command->is_short &&
        ++stream->unrecruited >= RECRUITS) {
        stream->unrecruited = 0;
        return false;
    }
    if (command->most_shares > present + 1) {
        command->most_shares = present + 1;
    }
    return true;
}

void cpu_team_run(struct cpu_executor *executor, struct cpu_stream *stream,
                  struct cpu_command *command) {
    struct cpu_team *team = &stream->team;
    uint64_t last = atomic_load_explicit(&team->round, memory_order_relaxed);
    atomic_store_explicit(&team->command, command, memory_order_relaxed);
    atomic_store_explicit(&team->helpers, command->shares - 1, memory_order_relaxed);
    atomic_store_explicit(&team->finished, 0, memory_order_relaxed);
    atomic_store_explicit(&team->round, (last / CPU_TEAM_ROUND + 1) * CPU_TEAM_ROUND,
                          memory_order_release);
    cpu_take_part(executor, stream, command, true);
    uint64_t joined =
        atomic_fetch_or_explicit(&team->round, CPU_TEAM_CLOSED, memory_order_relaxed) %
        CPU_TEAM_CLOSED;
    for (uint32_t looks = 1; atomic_load_explicit(&team->finished, memory_order_acquire) < joined;
         looks++) {
        cpu_relax();
        if (looks % (16 * LOOKS) == 0) {
            sched_yield(); /* somebody has lost its CPU */
        }
    }
}

void cpu_team_follow(struct cpu_executor *executor, struct cpu_stream *stream, uint64_t until) {
    struct cpu_team *team = &stream->team;
    _Atomic uint64_t *signal = &executor->device->work_signal;
    uint64_t seen = atomic_load_explicit(signal, memory_order_relaxed), joined = CPU_TEAM_CLOSED;
    uint64_t end = cpu_now() + FOLLOW_NS;
    for (uint32_t looks = 1; atomic_load_explicit(signal, memory_order_relaxed) == seen; looks++) {
        /* acquire: the command read below is this round's, or the round has closed */
        uint64_t round = atomic_load_explicit(&team->round, memory_order_acquire);
        bool open =
            !(round & CPU_TEAM_CLOSED) && round / CPU_TEAM_ROUND != joined &&
            round % CPU_TEAM_CLOSED < atomic_load_explicit(&team->helpers, memory_order_relaxed);
        struct cpu_command *command = NULL;
        if (open) { /* what it needs is with the leader: all at once, rather than in turn */
            command = atomic_load_explicit(&team->command, memory_order_relaxed);
            cpu_prefetch_command(command);
            __builtin_prefetch(&stream->shares[executor->brief_share], 1);
        }
        if (open &&
            atomic_compare_exchange_strong_explicit(&team->round, &round, round + 1,
                                                    memory_order_acquire, memory_order_relaxed)) {
            joined = round / CPU_TEAM_ROUND;
            cpu_take_part(executor, stream, command, false);
            atomic_fetch_add_explicit(&team->finished, 1, memory_order_release);
            end = cpu_now() + FOLLOW_NS;
        } else if (!open) {
            cpu_relax();
        }
        if (looks % LOOKS == 0 && (cpu_now() >= end || atomic_load(&stream->completed) >= until)) {
            break;
        }
    }
}
