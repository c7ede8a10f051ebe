/*
 * The time limit: a thread that looks at the running kernels every few milliseconds, and
 * interrupts those whose deadline has passed or whose stream was cancelled. It sleeps while no
 * kernel with a limit runs.
 */
#include <errno.h>
#include <time.h>

#include "runtime/cpu/cpu.h"

#define PERIOD_NS     5000000u
#define LONG_LIMIT    1.0 /* seconds */
#define QUIET_PERIODS 20  /* without a running kernel, until the watchdog sleeps */

static uint64_t read_clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t cpu_now(void) {
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t cpu_now_for(double limit) {
    return read_clock(limit >= LONG_LIMIT ? CLOCK_MONOTONIC_COARSE : CLOCK_MONOTONIC);
}

/* Interrupts those who work for streams that were cancelled; true when there are such streams. Lock
 * held, so that the streams stay. */
static bool stop_cancelled(struct cpu_device *device) {
    bool found = false;
    for (struct cpu_stream *stream = device->streams; stream; stream = stream->next_of_device) {
        if (!cpu_stream_cancelled(stream)) {
            continue;
        }
        found = true;
        for (struct cpu_executor *executor = device->executors; executor;
             executor = executor->next_all) {
            if (atomic_load_explicit(&executor->stream, memory_order_relaxed) == stream) {
                cpu_interrupt(executor);
            }
        }
    }
    return found;
}

/* True when any executor has a deadline, or work is to be cancelled; interrupts those past it. */
static bool look(struct cpu_device *device) {
    uint64_t now = cpu_now();
    /* Executors are only added while the device lives; the list is read under the lock. */
    pthread_mutex_lock(&device->lock);
    bool running = stop_cancelled(device);
    for (struct cpu_executor *executor = device->executors; executor;
         executor = executor->next_all) {
        uint64_t deadline = atomic_load_explicit(&executor->deadline, memory_order_relaxed);
        running = running || deadline != 0;
        if (deadline && now >= deadline) {
            cpu_interrupt(executor);
        }
    }
    pthread_mutex_unlock(&device->lock);
    return running;
}

static void *watch(void *argument) {
    struct cpu_device *device = argument;
    struct cpu_watchdog *watchdog = &device->watchdog;
    int quiet = 0;
    pthread_mutex_lock(&watchdog->lock);
    while (!watchdog->stop) {
        if (quiet >= QUIET_PERIODS) {
            atomic_store(&watchdog->asleep, true);
            /* A kernel may have started just before; look once more before sleeping. */
            if (!look(device)) {
                pthread_cond_wait(&watchdog->wake, &watchdog->lock);
            }
            atomic_store(&watchdog->asleep, false);
            quiet = 0;
            continue;
        }
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += PERIOD_NS;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&watchdog->wake, &watchdog->lock, &until);
        bool running = look(device);
        if (running) {
            cpu_signals_keep(false);
        }
        quiet = running ? 0 : quiet + 1;
    }
    pthread_mutex_unlock(&watchdog->lock);
    return NULL;
}

void cpu_watchdog_poke(struct cpu_device *device) {
    struct cpu_watchdog *watchdog = &device->watchdog;
    if (!atomic_load(&watchdog->asleep)) {
        return;
    }
    pthread_mutex_lock(&watchdog->lock);
    pthread_cond_signal(&watchdog->wake);
    pthread_mutex_unlock(&watchdog->lock);
}

ingot_status cpu_watchdog_start(struct cpu_device *device, struct ig_error *error) {
    struct cpu_watchdog *watchdog = &device->watchdog;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&watchdog->lock, NULL);
    pthread_cond_init(&watchdog->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&watchdog->thread, NULL, watch, device);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0) {
        pthread_cond_destroy(&watchdog->wake);
        pthread_mutex_destroy(&watchdog->lock);
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "cannot start the watchdog thread: error %d",
                       code);
    }
    watchdog->started = true;
    return INGOT_OK;
}

void cpu_watchdog_stop(struct cpu_device *device) {
    struct cpu_watchdog *watchdog = &device->watchdog;
    if (!watchdog->started) {
        return;
    }
    pthread_mutex_lock(&watchdog->lock);
    watchdog->stop = true;
    pthread_cond_signal(&watchdog->wake);
    pthread_mutex_unlock(&watchdog->lock);
    pthread_join(watchdog->thread, NULL);
    pthread_cond_destroy(&watchdog->wake);
    pthread_mutex_destroy(&watchdog->lock);
    watchdog->started = false;
}
