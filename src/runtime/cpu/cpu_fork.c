/*
 * A CPU device in a forked child: its locks are made anew, its streams are idle, and its workers
 * start again with the first work. Work that was queued or running at the fork is the parent's: the
 * child forgets it, and its events count as done.
 */
#include <string.h>

#include "runtime/cpu/cpu.h"

static void prepare(void *context) {
    struct cpu_device *device = context;
    pthread_mutex_lock(&device->watchdog.lock);
    pthread_mutex_lock(&device->lock);
    for (struct cpu_stream *stream = device->streams; stream; stream = stream->next_of_device) {
        pthread_mutex_lock(&stream->lock);
    }
    cpu_events_lock(device);
}

static void parent(void *context) {
    struct cpu_device *device = context;
    cpu_events_unlock(device);
    for (struct cpu_stream *stream = device->streams; stream; stream = stream->next_of_device) {
        pthread_mutex_unlock(&stream->lock);
    }
    pthread_mutex_unlock(&device->lock);
    pthread_mutex_unlock(&device->watchdog.lock);
}

/* What commands retained is lost: releasing it would be as if the work were done. */
static void forget_work(struct cpu_stream *stream) {
    cpu_stream_locks(stream);
    atomic_store(&stream->queue_first, NULL);
    stream->queue_last = stream->batch = stream->done = stream->active = NULL;
    stream->runnable_next = stream->runnable_previous = NULL;
    atomic_store(&stream->state, CPU_STREAM_IDLE);
    atomic_store(&stream->participants, 0);
    atomic_store(&stream->team.round, CPU_TEAM_CLOSED);
    atomic_store(&stream->team.members, 0);
    atomic_store(&stream->executor, NULL);
    atomic_store(&stream->deferred, false);
    stream->busy = false;
    stream->deferred_ns = 0;
    atomic_store(&stream->completed, atomic_load(&stream->submitted));
    atomic_store(&stream->wake_at, 0);
    atomic_store(&stream->failed, false);
    ig_error_clear(&stream->error);
}

/* An executor may have been in the middle of anything: it begins again with nothing, and what it
 * had is lost. Those of workers wait for theirs, the others can be borrowed. */
static void renew_executors(struct cpu_device *device) {
    device->free_executors = NULL;
    for (struct cpu_executor *executor = device->executors; executor;
         executor = executor->next_all) {
        if (cpu_thread_uses(executor)) {
            continue;
        }
        *executor = (struct cpu_executor){
            .device = device,
            .index = executor->index,
            .next_all = executor->next_all,
            .group_memory = executor->group_memory,
            .group_memory_size = executor->group_memory_size,
            .group_memory_mapped = executor->group_memory_mapped,
        };
        if (executor->index < device->worker_count) {
            continue;
        }
        executor->next_free = device->free_executors;
        device->free_executors = executor;
    }
}

static void child(void *context) {
    struct cpu_device *device = context;
    cpu_device_locks(device);
    device->runnable_first = device->runnable_last = NULL;
    device->sleeping = device->spinning = device->to_wake = 0;
    device->dozing = false;
    atomic_store(&device->deferred, 0);
    device->workers_started = 0;
    for (struct cpu_stream *stream = device->streams; stream; stream = stream->next_of_device) {
        forget_work(stream);
    }
    cpu_events_renew(device);
    renew_executors(device);
    memset(&device->watchdog, 0, sizeof device->watchdog);
    atomic_store(&device->restart, true);
}

void cpu_fork_watch(struct cpu_device *device) {
    device->fork = (struct ig_fork_hook){prepare, parent, child, device, NULL, NULL};
    ig_fork_add(&device->fork);
}

void cpu_fork_restart(struct cpu_device *device) {
    if (!atomic_exchange(&device->restart, false)) {
        return; /* another thread does it */
    }
    /* Without workers or a watchdog, who waits still runs the work itself. */
    struct ig_error error = {0};
    cpu_watchdog_start(device, &error);
    cpu_pool_resume(device, &error);
    ig_error_clear(&error);
}
