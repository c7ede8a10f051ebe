/*
 * The worker threads of a CPU device, and the list of streams that want a thread.
 *
 * A stream is listed while it wants a leader (ready) or takes helpers (open). At most
 * worker_count threads take part in one command, so a waiting thread that helps stands in for
 * a worker rather than adding to the load. Idle workers spin for a moment, then sleep.
 *
 * Waking a sleeper is a system call of some microseconds. So for a few milliseconds one of the
 * sleeping workers dozes: it looks for work now and then. Meanwhile a short command on an idle
 * stream is deferred: nobody is woken, and the thread that waits for it runs it, which has its data
 * in the cache. The dozing worker takes it only when it finds it there a second time. Where the
 * CPUs are shared with another pool, nobody dozes, and a command of up to a millisecond is led by
 * who waits for it, or by a worker once somebody asks for an event: a worker that is woken for it
 * as well would find it taken, and only spin.
 */
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "runtime/cpu/cpu.h"

#define SPIN_NS            30000u
#define DOZE_NS            5000000u /* a worker without work looks for it so long */
#define DOZE_STEP_NS       50000u   /* so often, */
#define DOZE_MOST_NS       400000u  /* and less and less often while it finds none */
#define WAKE_NS            15000u   /* of work are worth waking one more worker */
#define LONG_NS            500000u  /* of work wake workers also where others look for it */
#define WORKER_STACK_BYTES ((size_t)256 << 10)

static void list_add(struct cpu_device *device, struct cpu_stream *stream) {
    stream->runnable_next = NULL;
    stream->runnable_previous = device->runnable_last;
    if (device->runnable_last) {
        device->runnable_last->runnable_next = stream;
    } else {
        device->runnable_first = stream;
    }
    device->runnable_last = stream;
}

static void list_remove(struct cpu_device *device, struct cpu_stream *stream) {
    if (stream->runnable_previous) {
        stream->runnable_previous->runnable_next = stream->runnable_next;
    } else {
        device->runnable_first = stream->runnable_next;
    }
    if (stream->runnable_next) {
        stream->runnable_next->runnable_previous = stream->runnable_previous;
    } else {
        device->runnable_last = stream->runnable_previous;
    }
    stream->runnable_next = stream->runnable_previous = NULL;
}

/* Lock held. True when a sleeper is to be woken, who wakes others in turn: spinning workers and
 * the stream's lookers see for themselves, and waking takes longer than little work. */
static bool announce(struct cpu_device *device, uint32_t lookers, uint32_t wanted, uint64_t work) {
    atomic_fetch_add_explicit(&device->work_signal, 1, memory_order_release);
    lookers += device->spinning;
    if (wanted <= lookers) {
        return false;
    }
    wanted -= lookers;
    if (wanted > device->sleeping) {
        wanted = device->sleeping;
    }
    if (work / WAKE_NS < wanted) {
        wanted = (uint32_t)(work / WAKE_NS);
    }
    if (wanted == 0) {
        return false;
    }
    if (device->to_wake < wanted - 1) {
        device->to_wake = wanted - 1;
    }
    return true;
}

/* Lock released: who is woken wants it. */
static void wake_worker(struct cpu_device *device, bool wanted) {
    if (wanted) {
        pthread_cond_signal(&device->wake);
    }
}

uint64_t cpu_pool_deferrable(const struct cpu_device *device) {
    return device->shares_cpus ? CPU_DEFER_LONG_NS : CPU_DEFER_NS;
}

/* Lock held: somebody looks for work by and by, or whoever needs it asks for it. */
static bool may_defer(const struct cpu_device *device) {
    return device->dozing || device->spinning > 0 || device->shares_cpus;
}

void cpu_pool_ready(struct cpu_stream *stream, uint64_t work) {
    struct cpu_device *device = stream->device;
    pthread_mutex_lock(&device->lock);
    atomic_store_explicit(&stream->state, CPU_STREAM_READY, memory_order_relaxed);
    list_add(device, stream);
    device->readied++;
    bool wake = false;
    if (may_defer(device) && work <= cpu_pool_deferrable(device)) {
        atomic_store_explicit(&stream->deferred, true, memory_order_relaxed);
        stream->overlooked = false;
        atomic_fetch_add_explicit(&device->deferred, 1, memory_order_relaxed);
    } else {
        wake = announce(device, 0, 1, CPU_UNKNOWN_WORK);
    }
    pthread_mutex_unlock(&device->lock);
    wake_worker(device, wake);
}

/* Lock held: the stream has a leader, or whoever comes is to lead it. */
static void undefer(struct cpu_device *device, struct cpu_stream *stream) {
    if (!atomic_load_explicit(&stream->deferred, memory_order_relaxed)) {
        return;
    }
    atomic_store_explicit(&stream->deferred, false, memory_order_relaxed);
    atomic_fetch_sub_explicit(&device->deferred, 1, memory_order_relaxed);
}

void cpu_pool_ring(struct cpu_device *device) {
    if (atomic_load_explicit(&device->deferred, memory_order_relaxed) == 0) {
        return;
    }
    pthread_mutex_lock(&device->lock);
    for (struct cpu_stream *stream = device->runnable_first; stream;
         stream = stream->runnable_next) {
        undefer(device, stream);
    }
    bool wake = announce(device, 0, 1, CPU_UNKNOWN_WORK);
    pthread_mutex_unlock(&device->lock);
    wake_worker(device, wake);
}

void cpu_pool_open(struct cpu_stream *stream, struct cpu_command *command) {
    struct cpu_device *device = stream->device;
    pthread_mutex_lock(&device->lock);
    stream->active = command;
    atomic_store_explicit(&stream->participants, 1, memory_order_relaxed);
    atomic_store_explicit(&stream->most_participants, command->shares, memory_order_relaxed);
    atomic_store_explicit(&stream->state, CPU_STREAM_OPEN, memory_order_relaxed);
    list_add(device, stream);
    /* a looker may have lost its CPU, and long work should not wait for that */
    uint32_t lookers =
        command->work > LONG_NS ? 0 : atomic_load_explicit(&stream->lookers, memory_order_relaxed);
    bool wake = announce(device, lookers, command->shares - 1, command->work);
    pthread_mutex_unlock(&device->lock);
    wake_worker(device, wake);
}

bool cpu_pool_leave(struct cpu_stream *stream) {
    struct cpu_device *device = stream->device;
    /* No longer open, so that nobody can come, and then: all others have left. In this order. */
    if (atomic_load_explicit(&stream->state, memory_order_acquire) == CPU_STREAM_LED &&
        atomic_load_explicit(&stream->participants, memory_order_acquire) == 1) {
        atomic_store_explicit(&stream->participants, 0, memory_order_relaxed);
        return true;
    }
    pthread_mutex_lock(&device->lock);
    if (atomic_load_explicit(&stream->state, memory_order_relaxed) == CPU_STREAM_OPEN) {
        atomic_store_explicit(&stream->state, CPU_STREAM_LED, memory_order_release);
        list_remove(device, stream);
        if (!device->runnable_first) {
            device->to_wake = 0; /* they would come too late */
        }
    }
    bool last = atomic_fetch_sub_explicit(&stream->participants, 1, memory_order_release) == 1;
    pthread_mutex_unlock(&device->lock);
    return last;
}

bool cpu_pool_has_role(const struct cpu_stream *stream) {
    switch (atomic_load_explicit(&stream->state, memory_order_relaxed)) {
    case CPU_STREAM_READY:
        return true;
    case CPU_STREAM_OPEN:
        return atomic_load_explicit(&stream->participants, memory_order_relaxed) <
               atomic_load_explicit(&stream->most_participants, memory_order_relaxed);
    default:
        return false;
    }
}

/* Lock held. */
static enum cpu_role try_claim(struct cpu_device *device, struct cpu_stream *stream) {
    switch (atomic_load_explicit(&stream->state, memory_order_relaxed)) {
    case CPU_STREAM_READY:
        list_remove(device, stream);
        atomic_store_explicit(&stream->state, CPU_STREAM_LED, memory_order_relaxed);
        undefer(device, stream);
        device->active++;
        return CPU_LEADER;
    case CPU_STREAM_OPEN:
        if (!cpu_pool_has_role(stream)) {
            return CPU_NO_ROLE;
        }
        atomic_fetch_add_explicit(&stream->participants, 1, memory_order_relaxed);
        device->active++;
        return CPU_HELPER;
    default:
        return CPU_NO_ROLE;
    }
}

enum cpu_role cpu_pool_claim(struct cpu_stream *stream) {
    pthread_mutex_lock(&stream->device->lock);
    enum cpu_role role = try_claim(stream->device, stream);
    pthread_mutex_unlock(&stream->device->lock);
    return role;
}

void cpu_pool_done(struct cpu_device *device) {
    pthread_mutex_lock(&device->lock);
    device->active--;
    pthread_mutex_unlock(&device->lock);
}

/* Lock held. True at the first look: the thread that waits for it is likely to come. */
static bool overlook(struct cpu_stream *stream) {
    if (!atomic_load_explicit(&stream->deferred, memory_order_relaxed) || stream->overlooked) {
        return false;
    }
    stream->overlooked = true;
    return true;
}

/* Lock held. Any stream with a role to have; open ones go to the end of the list, so that
 * helpers spread over them. */
static enum cpu_role find_role(struct cpu_device *device, struct cpu_stream **found) {
    for (struct cpu_stream *stream = device->runnable_first; stream;
         stream = stream->runnable_next) {
        enum cpu_role role = overlook(stream) ? CPU_NO_ROLE : try_claim(device, stream);
        if (role == CPU_NO_ROLE) {
            continue;
        }
        if (role == CPU_HELPER) {
            list_remove(device, stream);
            list_add(device, stream);
        }
        *found = stream;
        return role;
    }
    return CPU_NO_ROLE;
}

/* Lock held on entry and return; not in between. */
static void spin(struct cpu_device *device) {
    uint64_t seen = atomic_load_explicit(&device->work_signal, memory_order_relaxed);
    device->spinning++;
    pthread_mutex_unlock(&device->lock);
    uint64_t end = cpu_now() + SPIN_NS;
    do {
        for (int i = 0; i < 16; i++) {
            cpu_relax();
            if (atomic_load_explicit(&device->work_signal, memory_order_acquire) != seen) {
                goto done;
            }
        }
    } while (cpu_now() < end);
done:
    pthread_mutex_lock(&device->lock);
    device->spinning--;
}

/* Lock held on entry and return. Wakes two more if more are wanted: a tree of wakers is done
 * sooner than one that wakes them all. */
static void woken(struct cpu_device *device) {
    uint32_t more = device->to_wake < 2 ? device->to_wake : 2;
    device->to_wake -= more;
    for (uint32_t i = 0; i < more; i++) {
        pthread_cond_signal(&device->wake);
    }
}

/* What a worker without work remembers. */
struct rest {
    uint64_t readied, signal; /* the last it has seen of the device's counts */
    uint64_t end, step;       /* when to sleep; when to look again */
};

/* Lock held. True for a few milliseconds after there was work, whoever did it. */
static bool may_doze(struct cpu_device *device, struct rest *rest) {
    uint64_t signal = atomic_load_explicit(&device->work_signal, memory_order_relaxed);
    uint64_t now = cpu_now();
    if (device->shares_cpus) {
        return false; /* each look would take the CPU from a thread of the other pool */
    }
    if (signal != rest->signal || device->readied != rest->readied) {
        rest->signal = signal;
        rest->readied = device->readied;
        rest->end = now + DOZE_NS;
    }
    return now < rest->end || atomic_load_explicit(&device->deferred, memory_order_relaxed) > 0;
}

/* Lock held on entry and return. Sleeps for a moment, or until woken. */
static void doze(struct cpu_device *device, struct rest *rest) {
    uint64_t end = cpu_now() + rest->step;
    rest->step = 2 * rest->step < DOZE_MOST_NS ? 2 * rest->step : DOZE_MOST_NS;
    struct timespec until = {.tv_sec = (time_t)(end / 1000000000u),
                             .tv_nsec = (long)(end % 1000000000u)};
    device->dozing = true;
    device->sleeping++;
    bool signalled = pthread_cond_timedwait(&device->wake, &device->lock, &until) == 0;
    device->sleeping--;
    device->dozing = false;
    if (signalled) {
        woken(device);
    }
}

/* Lock held. Waiting threads may have taken the place of workers, who then would only be in the
 * way of them on the same CPUs. */
static bool has_room(const struct cpu_device *device) {
    return device->active < device->worker_count;
}

/* Lock held: the caller is busy from now on, and somebody else is to look for deferred work. */
static void keep_watch(struct cpu_device *device) {
    if (atomic_load_explicit(&device->deferred, memory_order_relaxed) > 0 && !device->dozing &&
        !device->shares_cpus && device->sleeping > 0) {
        pthread_cond_signal(&device->wake);
    }
}

static void *worker(void *argument) {
    struct cpu_executor *executor = argument;
    struct cpu_device *device = executor->device;
    cpu_thread_enter(executor);
    prctl(PR_SET_TIMERSLACK, 1000ul, 0ul, 0ul, 0ul);
    bool has_spun = true;
    struct rest rest = {.step = DOZE_STEP_NS};
    pthread_mutex_lock(&device->lock);
    for (;;) {
        struct cpu_stream *stream = NULL;
        enum cpu_role role = find_role(device, &stream);
        if (role != CPU_NO_ROLE) {
            keep_watch(device);
            pthread_mutex_unlock(&device->lock);
            if (role == CPU_LEADER) {
                cpu_run_commands(executor, stream, UINT64_MAX);
            } else {
                cpu_help_with_command(executor, stream, UINT64_MAX);
            }
            has_spun = false;
            rest.step = DOZE_STEP_NS;
            pthread_mutex_lock(&device->lock);
            device->active--;
        } else if (device->closing) {
            break;
        } else if (!has_spun && has_room(device) && device->spinning < device->max_spinning) {
            spin(device);
            has_spun = true;
        } else if (!device->dozing && may_doze(device, &rest)) {
            doze(device, &rest);
        } else {
            device->sleeping++;
            pthread_cond_wait(&device->wake, &device->lock);
            device->sleeping--;
            woken(device);
            has_spun = false;
        }
    }
    pthread_mutex_unlock(&device->lock);
    cpu_thread_leave(executor);
    return NULL;
}

/* Lock held. */
static void register_executor(struct cpu_device *device, struct cpu_executor *executor) {
    executor->index = device->executor_count++;
    executor->next_all = device->executors;
    device->executors = executor;
}

static struct cpu_executor *executor_at(struct cpu_device *device, uint32_t index) {
    struct cpu_executor *executor = device->executors;
    while (executor && executor->index != index) {
        executor = executor->next_all;
    }
    return executor;
}

/* Makes an executor for every worker. */
static bool make_executors(struct cpu_device *device) {
    while (device->executor_count < device->worker_count) {
        struct cpu_executor *executor = cpu_executor_create(device);
        if (!executor) {
            return false;
        }
        pthread_mutex_lock(&device->lock); /* the watchdog reads the list */
        register_executor(device, executor);
        pthread_mutex_unlock(&device->lock);
    }
    return true;
}

ingot_status cpu_pool_resume(struct cpu_device *device, struct ig_error *error) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, WORKER_STACK_BYTES);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = 0;
    for (uint32_t i = 0; i < device->worker_count && code == 0; i++) {
        pthread_mutex_lock(&device->lock); /* threads that wait add executors of their own */
        struct cpu_executor *executor = executor_at(device, i);
        pthread_mutex_unlock(&device->lock);
        code = pthread_create(&device->workers[i], &attributes, worker, executor);
        if (code == 0) {
            device->workers_started++;
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (code != 0) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "only %u of %u worker threads could be started",
                       device->workers_started, device->worker_count);
    }
    return INGOT_OK;
}

ingot_status cpu_pool_start(struct cpu_device *device, struct ig_error *error) {
    device->workers = calloc(device->worker_count, sizeof *device->workers);
    if (!device->workers || !make_executors(device)) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for %u worker threads",
                       device->worker_count);
    }
    return cpu_pool_resume(device, error);
}

void cpu_pool_stop(struct cpu_device *device) {
    pthread_mutex_lock(&device->lock);
    device->closing = true;
    atomic_fetch_add(&device->work_signal, 1);
    pthread_cond_broadcast(&device->wake);
    pthread_mutex_unlock(&device->lock);
    for (uint32_t i = 0; i < device->workers_started; i++) {
        pthread_join(device->workers[i], NULL);
    }
    device->workers_started = 0;
    free(device->workers);
    device->workers = NULL;
}

/* ---- executors for threads that wait ---- */

struct cpu_executor *cpu_pool_borrow(struct cpu_device *device) {
    pthread_mutex_lock(&device->lock);
    struct cpu_executor *executor = device->free_executors;
    if (executor) {
        device->free_executors = executor->next_free;
    }
    pthread_mutex_unlock(&device->lock);
    if (executor) {
        return executor;
    }
    executor = cpu_executor_create(device);
    if (executor) {
        pthread_mutex_lock(&device->lock);
        register_executor(device, executor);
        pthread_mutex_unlock(&device->lock);
    }
    return executor;
}

void cpu_pool_return(struct cpu_executor *executor) {
    struct cpu_device *device = executor->device;
    pthread_mutex_lock(&device->lock);
    executor->next_free = device->free_executors;
    device->free_executors = executor;
    pthread_mutex_unlock(&device->lock);
}
