/*
 * Rounds: how a brief command is shared, without a lock.
 *
 * Helpers of an open command (pool.c) take a lock when they come and when they go, which for a few
 * microseconds of work is too much. Threads that attend a stream instead look at one cache line,
 * cpu_stream.round, where its leader puts one brief command after the other. Each has a seat, and
 * with it a share, the same one in every round of so many shares, so that its data stay in its
 * cache. The leader does its own share, then what is left of shares whose threads have not come,
 * and waits for those who have. Who attends and has nothing to do for a while goes back to the
 * pool.
 */
#include <sched.h>
#include <time.h>

#include "runtime/cpu/cpu.h"

#define ATTEND_NS 30000u
#define INVITE_NS 25000u  /* between invitations for short commands, at first, */
#define INVITED   8u      /* and at most as long as so many of them take */
#define ENOUGH    4u      /* of so many shares, one may be missing or too many */
#define LEFT_NS   20000   /* a CPU is left to others for so long */
#define YIELD_NS  200000u /* a leader lets others on its CPU run so seldom */
#define LOOKS     64u     /* before a look at the clock */

/* ---- the leader ---- */

static bool is_occupied(const struct cpu_stream *stream, uint32_t seat) {
    return atomic_load_explicit(&stream->seats[seat].occupied, memory_order_relaxed);
}

/* Threads that attend, side by side; one more than is of interest at most. */
static uint32_t seated(const struct cpu_stream *stream, uint32_t most) {
    uint32_t count = 0;
    while (count <= most && count + 1 < stream->device->worker_count &&
           is_occupied(stream, count + 1))
        count++;
    return count;
}

/* Little work is not to be held up by asking in vain again and again. */
static bool may_invite(struct cpu_stream *stream, uint64_t each) {
    uint64_t pause = (uint64_t)INVITE_NS << stream->invitations, most = each * INVITED;
    uint64_t now = cpu_now();
    if (now - stream->invited < (pause < most ? pause : most))
        return false;
    stream->invited = now;
    if (pause < most)
        stream->invitations++;
    return true;
}

bool cpu_plan_round(struct cpu_stream *stream, struct cpu_command *command, uint64_t work) {
    /* About as many will do: with the same number as before, each finds its share in its cache. */
    uint32_t wanted = command->shares - 1, more = command->shares / ENOUGH;
    uint32_t present = seated(stream, wanted + more);
    if (present + more >= wanted && present <= wanted + more && present > 0) {
        command->shares = present + 1;
        stream->invitations = 0;
        cpu_pool_uninvite(stream);
        return true;
    }
    if (present > wanted)
        return true;
    command->is_even = false;
    if (work && (!command->is_short || may_invite(stream, command->work))) {
        command->invited = wanted - present;
        command->invited_work = work;
    }
    return present > 0 || command->invited > 0 || !command->is_short;
}

/* Notes where the thread on a seat is: it may be moved. */
static void note_cpu(struct cpu_seat *seat) {
    int cpu = cpu_own();
    if (atomic_load_explicit(&seat->cpu, memory_order_relaxed) != cpu)
        atomic_store_explicit(&seat->cpu, cpu, memory_order_relaxed);
}

/* Is somebody who sits there on the same CPU as another, or as the leader, who then has to let it
 * run, so that it can go? */
static void find_crowd(struct cpu_stream *stream, const struct cpu_command *command) {
    uint64_t seen[CPU_MAX_RANKS / 64] = {0};
    int own = atomic_load_explicit(&stream->seats[0].cpu, memory_order_relaxed);
    for (uint32_t i = 0; i < command->shares; i++) {
        struct cpu_seat *seat = &stream->seats[i];
        int cpu = atomic_load_explicit(&seat->cpu, memory_order_relaxed);
        if (cpu <= 0 || (i > 0 && !is_occupied(stream, i)))
            continue;
        uint64_t bit = (uint64_t)1 << (cpu - 1) % 64;
        bool is_crowded = seen[(cpu - 1) / 64] & bit;
        seen[(cpu - 1) / 64] |= bit;
        if (!is_crowded)
            continue;
        atomic_store_explicit(&stream->device->crowded, cpu, memory_order_relaxed);
        uint64_t now = cpu_now();
        if (cpu == own && now - stream->yielded > YIELD_NS) {
            stream->yielded = now;
            sched_yield();
        }
    }
}

/* For a thread that is still at its share. If that takes long it has lost its CPU to others, and
 * may have this one: that it is idle moves it here. */
static void wait_a_moment(uint32_t looks) {
    cpu_relax();
    if (looks % (16 * LOOKS) != 0)
        return;
    if (looks < 64 * LOOKS)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = LEFT_NS}, NULL);
}

void cpu_run_round(struct cpu_executor *executor, struct cpu_stream *stream,
                   struct cpu_command *command) {
    uint64_t number = ++stream->round_number;
    uint64_t state = number << CPU_ROUND_NUMBER | (uint64_t)command->shares << CPU_ROUND_SHARES;
    command->round = number;
    atomic_store_explicit(&stream->round.command, command, memory_order_relaxed);
    note_cpu(&stream->seats[0]);
    atomic_store_explicit(&stream->round.state, state | CPU_ROUND_OPEN, memory_order_release);
    if (command->invited) /* not before: who is woken may take this CPU, and should find work */
        cpu_pool_invite(stream, command->invited, command->invited_work);
    /* what a short one costs is for a good part that it is shared */
    cpu_take_part(executor, stream, command, 0, command->shares, !command->is_short);
    /* Who enters sees that it is closed, or is seen: both sides write first and then read. */
    atomic_store(&stream->round.state, state);
    for (uint32_t i = 1; i < command->shares; i++)
        for (uint32_t looks = 1; atomic_load(&stream->seats[i].entered) == number; looks++)
            wait_a_moment(looks);
    find_crowd(stream, command);
}

/* ---- those who attend ---- */

/* Does the share of its seat, if it has one in a round that it has not been in. */
static bool enter_round(struct cpu_executor *executor, struct cpu_stream *stream, uint32_t seat,
                        uint64_t *last) {
    uint64_t state = atomic_load_explicit(&stream->round.state, memory_order_acquire);
    uint64_t number = state >> CPU_ROUND_NUMBER;
    uint32_t shares = (uint32_t)(state >> CPU_ROUND_SHARES) % (1u << (CPU_ROUND_NUMBER - 1));
    if (!(state & CPU_ROUND_OPEN) || number == *last || seat >= shares)
        return false;
    struct cpu_command *command =
        atomic_load_explicit(&stream->round.command, memory_order_relaxed);
    cpu_prefetch(command); /* it is with the leader */
    int cpu = cpu_own();
    if (cpu > 0 && atomic_load_explicit(&stream->seats[0].cpu, memory_order_relaxed) == cpu)
        atomic_store_explicit(&stream->device->crowded, cpu, memory_order_relaxed);
    atomic_store(&stream->seats[seat].entered, number);
    bool is_open = atomic_load(&stream->round.state) == state;
    if (is_open)
        cpu_take_part(executor, stream, command, seat, command->is_even ? 1 : shares, false);
    atomic_store_explicit(&stream->seats[seat].entered, 0, memory_order_release);
    *last = number;
    return is_open;
}

/* The first empty one; 0: there is none. */
static uint32_t take_seat(struct cpu_stream *stream) {
    for (uint32_t i = 1; i < stream->device->worker_count; i++) {
        atomic_bool *occupied = &stream->seats[i].occupied;
        if (!atomic_load_explicit(occupied, memory_order_relaxed) &&
            !atomic_exchange_explicit(occupied, true, memory_order_acquire))
            return i;
    }
    return 0;
}

/* Has work come up elsewhere? That there is some for this stream's rounds does not count. */
static bool is_needed_elsewhere(const struct cpu_stream *stream, uint64_t elsewhere) {
    uint64_t signal = atomic_load_explicit(&stream->device->work_signal, memory_order_acquire);
    uint64_t own = atomic_load_explicit(&stream->round.own_signals, memory_order_relaxed);
    return signal - own != elsewhere;
}

/* Takes part in the rounds until there is none for a while, there is other work, nobody leads the
 * stream, or `until` commands are completed. */
static void stay_seated(struct cpu_executor *executor, struct cpu_stream *stream, uint32_t seat,
                        uint64_t until) {
    _Atomic uint64_t *signal = &executor->device->work_signal;
    uint64_t own = atomic_load_explicit(&stream->round.own_signals, memory_order_relaxed);
    uint64_t seen = atomic_load_explicit(signal, memory_order_relaxed), elsewhere = seen - own;
    uint64_t end = cpu_now() + ATTEND_NS, last = 0;
    note_cpu(&stream->seats[seat]);
    for (uint32_t looks = 1;; looks++) {
        if (enter_round(executor, stream, seat, &last))
            end = cpu_now() + ATTEND_NS;
        else
            cpu_relax();
        uint64_t changed = atomic_load_explicit(signal, memory_order_relaxed);
        if (changed != seen && is_needed_elsewhere(stream, elsewhere)) {
            atomic_fetch_add_explicit(&stream->vacancies, 1, memory_order_relaxed);
            break;
        }
        seen = changed;
        if (looks % LOOKS != 0)
            continue;
        /* who waits for the stream has had the time to lead it */
        bool leads = seat == 1 &&
                     atomic_load_explicit(&stream->state, memory_order_relaxed) == CPU_STREAM_READY;
        if (leads || cpu_now() >= end || atomic_load(&stream->completed) >= until)
            break;
        note_cpu(&stream->seats[seat]);
        cpu_leave_crowd(executor);
    }
    atomic_store_explicit(&stream->seats[seat].occupied, false, memory_order_release);
}

void cpu_attend(struct cpu_executor *executor, struct cpu_stream *stream, uint64_t until) {
    atomic_store_explicit(&executor->stream, stream, memory_order_relaxed);
    uint32_t seat = take_seat(stream);
    if (seat)
        stay_seated(executor, stream, seat, until);
    /* the last touch: who closes the stream waits for this */
    atomic_fetch_sub_explicit(&stream->attending, 1, memory_order_release);
}
