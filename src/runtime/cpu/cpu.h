/*
 * The CPU device, inside.
 *
 * A stream is a FIFO of commands. One thread at a time leads a stream: it takes commands
 * off, runs small ones itself and opens large ones to other threads, which claim chunks of
 * threadgroups. Each begins in a share of its own, the same one in every dispatch, so that it
 * finds in its cache what it left there, and then helps with the others. Whoever finishes the
 * last chunk leads on. Leaders and helpers are the device's worker threads and the threads that
 * wait for a stream.
 *
 * Locks, never nested in each other: cpu_device.lock guards the list of runnable streams and
 * the fields marked (pool); cpu_stream.lock its queue and (queue); cpu_event.lock an event.
 * Only the watchdog takes cpu_device.lock while it holds its own.
 * What is marked (leader) belongs to the thread that leads the stream.
 */
#ifndef INGOT_RUNTIME_CPU_H
#define INGOT_RUNTIME_CPU_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/cpu_abi.h"
#include "base/text.h"
#include "runtime/cpu/fiber.h"
#include "runtime/cpu/schedule.h"
#include "runtime/cpu/threadgroup_walk.h"
#include "runtime/objects.h"

#define CPU_MAX_THREADS    1024u
#define CPU_MAX_SIMDGROUPS (CPU_MAX_THREADS / INGOT_SIMD_WIDTH)
#define CPU_STACK_MARGIN   ((size_t)256 << 10) /* for services, log functions, signal frames */
#define CPU_STACK_GUARD    ((size_t)2 * INGOT_CPU_STACK_PROBE)
#define CPU_MAX_STACKS     ((uint64_t)1 << 30) /* of a threadgroup that runs */
#define CPU_INLINE_BYTES   768u
#define CPU_LANE_SHAPES    8 /* full and partial groups of one dispatch */
#define CPU_UNKNOWN_WORK   UINT64_MAX
#define CPU_MAX_RANKS      1024
#define CPU_DEFER_NS       40000u   /* of work may wait for who waits for it */
#define CPU_DEFER_LONG_NS  1000000u /* the same where CPUs are shared with another pool */
#define CPU_CHUNK_NS       2000u    /* what a claim should cost at least */
#define CPU_ALONE_NS       10000u   /* less work than this is not worth sharing */
#define CPU_BLIT_BLOCK     ((uint64_t)1 << 20) /* bytes of a copy or fill that are a piece */

struct cpu_device;
struct cpu_stream;

/* ---- loader.c ---- */

struct cpu_code {
    void *handle; /* NULL on an isolated device, where nothing else is set either */
    int fd;       /* kept open so that debuggers find the object, or -1 */
    const struct ingot_cpu_kernel *kernel;
    const struct ingot_cpu_places *places; /* of sanitized code; else NULL */
    atomic_uint cost; /* running mean of 1/16 ns per threadgroup; 0 = not known */
    atomic_uint compared, plain_cost, striped_cost; /* the latter of commands on much memory */
};

ingot_status cpu_code_load(ingot_device *device, const struct ig_variant *variant,
                           const struct ig_code *code, void **loaded, struct ig_error *error);
void cpu_code_unload(ingot_device *device, void *loaded);

/* ---- commands ---- */

enum cpu_command_kind { CPU_DISPATCH, CPU_COPY, CPU_FILL, CPU_RECORD, CPU_WAIT_EVENT };

struct cpu_event;

struct cpu_command {
    struct cpu_command *next;
    enum cpu_command_kind kind;
    uint64_t pieces;  /* threadgroups, or blocks of a copy or fill */
    uint64_t chunk;   /* pieces claimed at a time */
    uint64_t work;    /* ns on one thread, as far as known; or CPU_UNKNOWN_WORK */
    bool is_short;    /* shared only since more is queued: `work` is all of that */
    bool is_brief;    /* who helps with it stays for the next */
    bool is_compared; /* what it costs with and without stripes */
    bool is_own;      /* of the operation library */
    bool is_lent;     /* what it uses is held by who waits for it */
    uint64_t stretch; /* pieces claimed at most, from the shares' ends on; 0: from their start */
    uint32_t
        stripe_unit; /* blocks of a stripe at a time; 0: a thread goes through without stripes */
    uint32_t split;  /* blocks that a threadgroup is cut into, in x, when it is run by rows */
    uint32_t shares; /* of the pieces, when open: as many threads take part at most */
    uint32_t most_shares; /* that are worth it; 0: one per worker */
    atomic_bool failed;   /* set once, by whoever then writes error */
    struct ig_error error;
    uint64_t deadline; /* ns; 0 = none; set when it starts */
    double time_limit;
    void *heap; /* the payload when it is too large to be inline */

    union {
        struct {
            ingot_kernel *kernel;
            struct cpu_code *code;
            uint32_t groups[3], group[3], threads[3];
            uint32_t threadgroup_bytes;
            uint32_t slots;
            void **buffers;                 /* by slot */
            ingot_buffer **retained;        /* by slot; NULL for bytes */
            uint32_t *offsets;              /* of dynamic threadgroup memory, by slot */
            struct ig_sanitized *sanitized; /* of sanitized code; else NULL */
            struct ig_counted *counted;     /* of counted code; else NULL */
            uint64_t schedule;              /* its seed; 0: the usual order */
        } dispatch;
        struct {
            ingot_buffer *source, *destination; /* source NULL: fill */
            uint64_t source_offset, destination_offset, length;
            uint8_t value;
        } blit;
        struct {
            ingot_event *event;
            uint64_t generation;
        } event;
    } u;
    _Alignas(128) unsigned char payload[CPU_INLINE_BYTES];
};

/* ---- executors: what a thread needs to run threadgroups ---- */

enum cpu_failure_kind {
    CPU_NO_FAILURE,
    CPU_FAULT, /* a signal */
    CPU_TRAP,  /* services->trap */
    CPU_TIMEOUT,
    CPU_STOPPED,       /* its stream was cancelled */
    CPU_BARRIER_LANES, /* a barrier reached by a part of a SIMD-group */
    CPU_BARRIER_ENDED, /* some SIMD-groups ended while others wait */
    CPU_NO_MEMORY,
};

struct cpu_failure {
    enum cpu_failure_kind kind;
    int signal;
    uintptr_t address;
    bool no_address; /* x86 does not say which: outside of the 47 bits that there are */
    uint32_t simdgroup, mask;
    char reason[160];
};

struct cpu_lane_shape {
    uint32_t size[3];
    uint32_t *positions; /* [3][CPU_MAX_THREADS] */
};

struct cpu_executor {
    struct cpu_device *device;
    uint32_t index;                            /* workers come first */
    struct cpu_executor *next_all, *next_free; /* (pool) */
    _Atomic pid_t thread;                      /* that uses it, 0 when none */
    _Atomic uint64_t deadline;                 /* of the running kernel; 0 = none */
    _Atomic(struct cpu_stream *) stream;       /* whose work it does or did last */
    atomic_bool interrupted;                   /* a signal is on its way */
    volatile sig_atomic_t in_kernel;           /* an escape to `main` is possible */
    volatile sig_atomic_t expired;             /* the deadline passed in a service */
    sigset_t saved_mask;                       /* of the thread before it was unblocked */
    bool unblocked, was_blocked;               /* its signals, since it entered; and before */

    struct ig_fiber main, abandoned;
    struct ig_stacks stacks;
    char *group_memory; /* mapping with a guard page behind its end */
    size_t group_memory_size, group_memory_mapped;
    struct cpu_lane_shape shapes[CPU_LANE_SHAPES];
    uint32_t next_shape;

    struct cpu_command *command;
    struct cpu_group_walk walk;            /* through the running chunk */
    uint32_t alone_count;                  /* commands run alone so far */
    uint64_t moved;                        /* when it last left a crowded CPU */
    const struct cpu_stream *brief_stream; /* whose brief command it last took part in, */
    uint32_t brief_shares, brief_share;    /* of how many shares, beginning with which */
    uint32_t run; /* of them, beside each other in x, those that run as one */
    struct ingot_cpu_group group;
    struct ingot_cpu_ranges ranges; /* of sanitized code */
    ingot_cpu_simdgroup_fn *simdgroup_function;
    uint32_t last_mask;                       /* of the group's last SIMD-group */
    uint32_t current;                         /* the SIMD-group whose fiber runs: order[turn] */
    uint32_t order[CPU_MAX_SIMDGROUPS], turn; /* of the SIMD-groups, from barrier to barrier */
    uint64_t shuffles;                        /* state of the schedule's numbers */
    uint32_t arrived, ended, ended_mask;
    bool lenient; /* barriers: who has ended does not count */
    struct cpu_failure failure;
    struct {
        struct ig_text format, string, message;
    } log;                   /* (services.c) of the running kernel */
    struct cpu_lanes *lanes; /* (lanes.c) of code for debuggers; NULL before the first */
};

struct cpu_executor *cpu_executor_create(struct cpu_device *device);
void cpu_executor_free(struct cpu_executor *executor);

/* A threadgroup of so many SIMD-groups needs this many stacks: with barriers each has its own. */
static inline uint32_t cpu_stack_count(const struct ingot_cpu_kernel *kernel, uint32_t simdgroups) {
    return kernel->flags & INGOT_CPU_KERNEL_BARRIERS ? simdgroups : 1;
}

/* group.c: runs threadgroups [first, first + count); false: executor->failure says why. */
bool cpu_run_groups(struct cpu_executor *executor, struct cpu_command *command, uint64_t first,
                    uint64_t count);
/* After the last cpu_run_groups of a command: its deadline no longer holds, and others see what was
 * stored past the caches once they see that the command is done. */
void cpu_end_groups(struct cpu_executor *executor);
/* Leaves the running kernel for cpu_run_groups, which returns false. Only with in_kernel. */
_Noreturn void cpu_escape(struct cpu_executor *executor);
/* Back in the kernel, or out of it when its time ran out meanwhile. */
void cpu_reenter_kernel(struct cpu_executor *executor);
/* failure.c: the failure as an error that names kernel, place and cause. */
void cpu_describe_failure(const struct cpu_executor *executor, struct ig_error *error);
/* lanes.c: what code for debuggers may call. */
void cpu_run_threads(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask,
                     const struct ingot_cpu_debug *debug);
void cpu_meet(const struct ingot_cpu_group *group, ingot_cpu_simdgroup_fn *operation,
              void *operands, const void *frame, uint32_t kind);
/* Around the groups that an executor runs of such code: its variables are the object's, so one
 * thread at a time runs any of it. Nothing for other code. */
void cpu_lanes_begin(const struct ingot_cpu_kernel *kernel);
void cpu_lanes_end(struct cpu_executor *executor, const struct ingot_cpu_kernel *kernel);
void cpu_lanes_free(struct cpu_executor *executor);
/* sanitize.c: what sanitized code may call. */
extern const struct ingot_cpu_sanitizer cpu_sanitizer;
/* profile.c: what counted code may call; a thread's part in a command, for the timeline. */
extern const struct ingot_cpu_sanitizer cpu_counters;
void cpu_trace_part(const struct cpu_executor *executor, const struct cpu_command *command,
                    uint64_t start, uint64_t end);
/* services.c */
extern const struct ingot_cpu_services cpu_services;
void cpu_log_free(struct cpu_executor *executor);

/* ---- fault.c, watchdog.c ---- */

/* Once per process: handlers for faults and for the watchdog's signal. */
ingot_status cpu_signals_install(struct ig_error *error);
/* Looks whether someone else took a signal of faults since, and takes it back: some system calls.
 */
void cpu_signals_take_back(void);
/* The same for SIGSEGV; for the others at most once in a tick of the system's clock (1 to 10 ms),
 * unless someone took that one. Before a launch of the operation library (is_own), whose kernels
 * only fault where memory has gone, all of them once in a tick. */
void cpu_signals_keep(bool is_own);
/* False inside a kernel's log function: no kernel runs inside a kernel. */
bool cpu_thread_can_enter(void);
/* The calling thread runs kernels with `executor` from now on. */
void cpu_thread_enter(struct cpu_executor *executor);
void cpu_thread_leave(struct cpu_executor *executor);
/* Before a kernel runs: its signals reach the thread until it leaves. Once for all that it runs
 * since it entered; for kernels of the operation library alone, once in a tick. */
void cpu_thread_unblock(struct cpu_executor *executor, bool is_own);
/* True when the calling thread runs a kernel with `executor`. */
bool cpu_thread_uses(const struct cpu_executor *executor);
/* Signals the executor's thread, which leaves its kernel if the deadline has passed or the stream
 * was cancelled. */
void cpu_interrupt(struct cpu_executor *executor);

ingot_status cpu_watchdog_start(struct cpu_device *device, struct ig_error *error);
void cpu_watchdog_stop(struct cpu_device *device);
/* Tells the watchdog that a kernel with a deadline runs, or that a stream was cancelled. */
void cpu_watchdog_poke(struct cpu_device *device);

uint64_t cpu_now(void); /* nanoseconds, monotonic */
/* The same, where a limit of so many seconds counts from: up to some ms early when it is long,
 * for a fraction of the cost. */
uint64_t cpu_now_for(double limit);

/* ---- device and pool ---- */

struct cpu_watchdog {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    atomic_bool asleep;
    bool stop, started;
};

/* Whether threads go through memory in stripes: never, always, or where that is faster. */
enum cpu_stripes { CPU_STRIPES_OFF, CPU_STRIPES_ON, CPU_STRIPES_COMPARED };

struct cpu_device {
    ingot_device base;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct cpu_stream *runnable_first, *runnable_last; /* (pool) */
    uint32_t sleeping, spinning, max_spinning;         /* (pool) */
    uint32_t cpus;                                     /* that this process may use */
    uint32_t readied;                                  /* (pool) so often a stream became ready */
    bool shares_cpus;                                  /* ingot_device_desc */
    uint32_t active;                                   /* (pool) threads that lead or help */
    uint32_t to_wake;     /* (pool) sleepers that those who wake wake in turn */
    bool dozing;          /* (pool) one of the sleeping looks for work now and then */
    bool closing;         /* (pool) */
    atomic_uint deferred; /* (pool) listed streams for which nobody was woken */
    struct cpu_executor *executors, *free_executors; /* (pool) */
    uint32_t executor_count;                         /* (pool) */
    /* On a line of its own: who looks for work polls it. Changes when a stream becomes runnable. */
    _Alignas(64) _Atomic uint64_t work_signal;
    _Alignas(64) uint32_t worker_count, workers_started;
    uint16_t rank[CPU_MAX_RANKS]; /* of each CPU among those that this process may use */
    atomic_int crowded;           /* 1 + a CPU that a worker should leave; 0: none */
    bool lenient_barriers;        /* only threads that still run count at a barrier */
    struct cpu_schedule schedule;
    enum cpu_stripes stripes;
    pthread_t *workers;
    struct cpu_watchdog watchdog;
    struct cpu_stream *streams; /* (pool) all of them */
    struct cpu_event *events;   /* (pool) all of them */
    struct ig_fork_hook fork;
    atomic_bool restart; /* in a forked child: the workers are to be started */
};

enum cpu_stream_state {
    CPU_STREAM_IDLE,
    CPU_STREAM_READY, /* listed: wants a leader */
    CPU_STREAM_LED,
    CPU_STREAM_OPEN,    /* listed: the active command takes helpers */
    CPU_STREAM_BLOCKED, /* on an event */
};

/* team.c: helpers who stay for the next brief command, and join a round of it without a lock. */
#define CPU_TEAM_CLOSED ((uint64_t)1 << 15)
#define CPU_TEAM_ROUND  ((uint64_t)1 << 16) /* below: who joined, and whether it is closed */
struct cpu_team {
    _Alignas(64) _Atomic uint64_t round;
    _Atomic(struct cpu_command *) command;
    atomic_uint helpers;               /* so many may join */
    _Alignas(64) atomic_uint finished; /* of those who joined the current round */
    atomic_uint members;               /* who spin for the next one */
};

/* What is left of a share of the active command. */
struct cpu_share {
    _Alignas(64) _Atomic uint64_t next;
    uint64_t begin, end;
    atomic_int taken; /* someone began with it: 1 + the CPU, or -1 when that is not known */
};

struct cpu_stream {
    struct cpu_device *device;
    struct cpu_share *shares; /* one per worker */

    _Atomic(enum cpu_stream_state) state;                 /* (pool) */
    struct cpu_stream *runnable_next, *runnable_previous; /* (pool) */
    atomic_uint participants, most_participants;          /* (pool) */
    struct cpu_command *active;                           /* (pool) while open */
    atomic_bool deferred;                                 /* (pool) ready, but nobody was woken */
    bool overlooked;                                      /* (pool) by a worker, as deferred */
    atomic_uint lookers;                                  /* waiting threads that look for a role */

    pthread_mutex_t lock;
    pthread_cond_t progress;
    _Atomic(struct cpu_command *) queue_first; /* (queue) */
    struct cpu_command *queue_last;            /* (queue) */
    struct cpu_command *free_commands;         /* (queue) */
    uint32_t free_count;                       /* (queue) */
    _Atomic uint64_t submitted;                /* (queue) */
    bool busy;                                 /* (queue) someone is responsible for it */
    uint64_t deferred_ns;                      /* (queue) of work since it was idle */
    struct ig_error error;                     /* (queue) */
    atomic_bool failed;                        /* error is set: drop work */
    _Atomic uint64_t wake_at;   /* so many completed commands wake who sleeps; 0: nobody does */
    _Atomic uint64_t cancelled; /* so many commands are to be ended if they are not completed */

    struct cpu_team team;
    _Atomic(struct cpu_executor *) executor; /* kept for the next launch that runs at once */

    /* On a line of its own: who waits polls it. */
    _Alignas(64) _Atomic uint64_t completed;

    _Alignas(64) struct cpu_command *batch; /* (leader) taken off the queue */
    struct cpu_command *done;               /* (leader) finished, to be reused */
    bool backwards;                         /* (leader) the last of those that alternate went so */
    uint32_t unrecruited; /* (leader) commands that a team which is not full has run since */

    struct cpu_stream *blocked_next;                        /* cpu_event.lock */
    struct cpu_stream *next_of_device, *previous_of_device; /* (pool) */
};

/* pool.c */
ingot_status cpu_pool_start(struct cpu_device *device, struct ig_error *error);
void cpu_pool_stop(struct cpu_device *device);
/* Starts the workers once more, in a forked child. */
ingot_status cpu_pool_resume(struct cpu_device *device, struct ig_error *error);
/* The stream has work, of so many ns if that is known, and nobody leads it. Little work wakes
 * nobody while a worker dozes: it is found soon, or run by the thread that waits for it. */
void cpu_pool_ready(struct cpu_stream *stream, uint64_t work);
/* How much queued work wakes nobody, ns. */
uint64_t cpu_pool_deferrable(const struct cpu_device *device);
/* Wakes a worker if there are streams for which none was woken. */
void cpu_pool_ring(struct cpu_device *device);
/* Opens the active command to helpers; the caller takes part itself. */
void cpu_pool_open(struct cpu_stream *stream, struct cpu_command *command);
/* The caller found nothing left to claim. True: it was the last and leads on. */
bool cpu_pool_leave(struct cpu_stream *stream);
enum cpu_role { CPU_NO_ROLE, CPU_LEADER, CPU_HELPER };
/* Without the lock, so only a hint for those who then claim. */
bool cpu_pool_has_role(const struct cpu_stream *stream);
/* A role in this stream, if there is one to have. */
enum cpu_role cpu_pool_claim(struct cpu_stream *stream);
/* The role is over. */
void cpu_pool_done(struct cpu_device *device);
struct cpu_executor *cpu_pool_borrow(struct cpu_device *device);
void cpu_pool_return(struct cpu_executor *executor);

/* command_plan.c: what a command costs one thread, judged by what its kernel cost before. */
uint64_t cpu_expected_work(const struct cpu_command *command);
/* Decides how the command runs; true when the leader should run it alone. */
bool cpu_plan_command(const struct cpu_executor *executor, struct cpu_stream *stream,
                      struct cpu_command *command);
/* The most that one claim may take, so that threads finish at about the same time. */
uint64_t cpu_largest_chunk(const struct cpu_executor *executor, const struct cpu_command *command);
void cpu_note_cost(struct cpu_code *code, uint64_t nanoseconds, uint64_t groups);
/* Of the calling thread on its CPU, in ns, where two orders are compared: it may lose its CPU to
 * others for longer than they differ. Else 0. */
uint64_t cpu_time_to_compare(const struct cpu_command *command);
/* `groups` of such a command took since `start`. */
void cpu_note_order(const struct cpu_command *command, uint64_t start, uint64_t groups);

/* work_sharing.c: runs some pieces of a command; a failure becomes the command's. */
void cpu_run_pieces(struct cpu_executor *executor, struct cpu_command *command, uint64_t first,
                    uint64_t count);
/* Cuts an open command into shares, at most one per worker and one per chunk. */
void cpu_make_shares(struct cpu_stream *stream, struct cpu_command *command);
/* Claims chunks and runs them, until there are none. */
void cpu_take_part(struct cpu_executor *executor, struct cpu_stream *stream,
                   struct cpu_command *command, bool notes_cost);

/* team.c */
static inline uint32_t cpu_team_size(const struct cpu_stream *stream) {
    return atomic_load_explicit(&stream->team.members, memory_order_relaxed);
}
/* Does the team do without the pool? Then the command gets no more shares than the team has use
 * for. */
bool cpu_team_can_run(struct cpu_stream *stream, struct cpu_command *command);
/* Runs the command with those of the team who come in time; the caller leads on. */
void cpu_team_run(struct cpu_executor *executor, struct cpu_stream *stream,
                  struct cpu_command *command);
/* A member of the team takes part in the rounds that follow, until there is none for a while, there
 * is other work, or `until` commands are completed. */
void cpu_team_follow(struct cpu_executor *executor, struct cpu_stream *stream, uint64_t until);

/* run_commands.c: leads the stream: runs its commands until there are none or `until` are
 * completed. */
void cpu_run_commands(struct cpu_executor *executor, struct cpu_stream *stream, uint64_t until);
/* Runs the only command of a stream that the caller leads, alone, and leads no more. */
void cpu_run_at_once(struct cpu_executor *executor, struct cpu_stream *stream,
                     struct cpu_command *command);
/* Helps with the open command; leads on if it was the last to leave. */
void cpu_help_with_command(struct cpu_executor *executor, struct cpu_stream *stream,
                           uint64_t until);

/* cpu_stream.c */
ingot_status cpu_stream_open(ingot_device *device, void **stream, struct ig_error *error);
void cpu_stream_close(void *stream);
ingot_status cpu_stream_dispatch(void *stream, const struct ig_launch *launch,
                                 struct ig_error *error);
ingot_status cpu_stream_copy(void *stream, ingot_buffer *source, uint64_t source_offset,
                             ingot_buffer *destination, uint64_t destination_offset,
                             uint64_t length, struct ig_error *error);
ingot_status cpu_stream_fill(void *stream, ingot_buffer *buffer, uint64_t offset, uint64_t length,
                             uint8_t value, struct ig_error *error);
ingot_status cpu_stream_record(void *stream, ingot_event *event, struct ig_error *error);
ingot_status cpu_stream_wait_event(void *stream, ingot_event *event, struct ig_error *error);
ingot_status cpu_stream_wait(void *stream, struct ig_error *error);
void cpu_stream_cancel(void *stream);
/* True while the command that the stream is at is to be ended. */
static inline bool cpu_stream_cancelled(struct cpu_stream *stream) {
    uint64_t cancelled = atomic_load(&stream->cancelled);
    return cancelled && cancelled > atomic_load_explicit(&stream->completed, memory_order_relaxed);
}

/* cpu_isolated.c: what a device does otherwise whose kernels run in a child process. */
ingot_status cpu_isolated_code_load(ingot_device *device, const struct ig_variant *variant,
                                    const struct ig_code *code, void **loaded,
                                    struct ig_error *error);
void cpu_isolated_code_unload(ingot_device *device, void *loaded);
ingot_status cpu_isolated_buffer_allocate(ingot_device *device, ingot_buffer *buffer,
                                          struct ig_error *error);
void cpu_isolated_buffer_free(ingot_device *device, ingot_buffer *buffer);
ingot_status cpu_isolated_buffer_wrap(ingot_device *device, ingot_buffer *buffer,
                                      struct ig_error *error);
ingot_status cpu_isolated_dispatch(void *stream, const struct ig_launch *launch,
                                   struct ig_error *error);

/* cpu_event.c */
ingot_status cpu_event_open(ingot_device *device, void **event, struct ig_error *error);
void cpu_event_close(void *event);
ingot_status cpu_event_wait(void *event, struct ig_error *error);
bool cpu_event_done(void *event);
bool cpu_event_seconds(void *event, double *seconds);
bool cpu_event_elapsed(void *start, void *end, double *seconds);
/* A recording is queued: its generation. */
uint64_t cpu_event_recorded(struct cpu_event *event);
uint64_t cpu_event_generation(struct cpu_event *event);
void cpu_event_complete(struct cpu_event *event, uint64_t generation);
/* True: not yet done, and the stream will be made ready when it is. The caller no longer
 * leads the stream then. */
bool cpu_event_block(struct cpu_event *event, uint64_t generation, struct cpu_stream *stream);

/* cpu_fork.c */
void cpu_fork_watch(struct cpu_device *device);
/* Starts what a forked child's device needs; does nothing the second time. */
void cpu_fork_restart(struct cpu_device *device);
/* Initialise the locks, at first or again. */
void cpu_device_locks(struct cpu_device *device);
void cpu_stream_locks(struct cpu_stream *stream);
/* All events of the device: locked and unlocked around a fork, and made anew in the child. */
void cpu_events_lock(struct cpu_device *device);
void cpu_events_unlock(struct cpu_device *device);
void cpu_events_renew(struct cpu_device *device);

/* level.c: the best code level of this CPU, or the lower one that was asked for. */
ingot_status cpu_level_choose(const char *wanted, char *target, size_t size,
                              struct ig_error *error);
/* The next lower level, whose code runs at `level` too; NULL: none. */
const char *cpu_level_below(const char *level);
/* matrix_units.c: asks the kernel, once, and tries. */
bool cpu_matrix_units_work(void);
/* Around kernels with INGOT_CPU_KERNEL_MATRIX_UNITS, on the thread that runs them. */
void cpu_matrix_units_enter(void);
void cpu_matrix_units_leave(void);
bool cpu_level_is_debug(const char *level); /* code for debuggers */
void cpu_model_name(char *name, size_t size);

/* Whoever submitted the next command has it in its cache. */
static inline void cpu_prefetch_command(const struct cpu_command *command) {
    if (!command) {
        return;
    }
    const char *bytes = (const char *)command;
    for (size_t at = 0; at <= offsetof(struct cpu_command, payload); at += 64) {
        __builtin_prefetch(bytes + at);
    }
}

static inline void cpu_relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
