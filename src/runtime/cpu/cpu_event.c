/*
 * Events of the CPU device. Each recording is a generation; an event is done when its last
 * generation is. Streams that wait for a generation are kept in a list and made ready again.
 */
#include <stdlib.h>

#include "runtime/cpu/cpu.h"

struct cpu_event {
    struct cpu_device *device;
    pthread_mutex_t lock;
    pthread_cond_t done;
    uint64_t recorded, completed; /* generations */
    uint64_t time;
    struct cpu_stream *blocked;
    struct cpu_event *next_of_device, *previous_of_device; /* cpu_device.lock */
};

static void list_event(struct cpu_event *event) {
    struct cpu_device *device = event->device;
    pthread_mutex_lock(&device->lock);
    event->next_of_device = device->events;
    if (device->events) {
        device->events->previous_of_device = event;
    }
    device->events = event;
    pthread_mutex_unlock(&device->lock);
}

static void unlist_event(struct cpu_event *event) {
    struct cpu_device *device = event->device;
    pthread_mutex_lock(&device->lock);
    if (event->previous_of_device) {
        event->previous_of_device->next_of_device = event->next_of_device;
    } else {
        device->events = event->next_of_device;
    }
    if (event->next_of_device) {
        event->next_of_device->previous_of_device = event->previous_of_device;
    }
    pthread_mutex_unlock(&device->lock);
}

void cpu_events_lock(struct cpu_device *device) {
    for (struct cpu_event *event = device->events; event; event = event->next_of_device) {
        pthread_mutex_lock(&event->lock);
    }
}

void cpu_events_unlock(struct cpu_device *device) {
    for (struct cpu_event *event = device->events; event; event = event->next_of_device) {
        pthread_mutex_unlock(&event->lock);
    }
}

void cpu_events_renew(struct cpu_device *device) {
    for (struct cpu_event *event = device->events; event; event = event->next_of_device) {
        pthread_mutex_init(&event->lock, NULL);
        pthread_cond_init(&event->done, NULL);
        event->completed = event->recorded;
        event->blocked = NULL;
    }
}

ingot_status cpu_event_open(ingot_device *device, void **result, struct ig_error *error) {
    struct cpu_event *event = calloc(1, sizeof *event);
    if (!event) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for an event");
    }
    event->device = (struct cpu_device *)device;
    pthread_mutex_init(&event->lock, NULL);
    pthread_cond_init(&event->done, NULL);
    list_event(event);
    *result = event;
    return INGOT_OK;
}

void cpu_event_close(void *handle) {
    struct cpu_event *event = handle;
    unlist_event(event);
    pthread_cond_destroy(&event->done);
    pthread_mutex_destroy(&event->lock);
    free(event);
}

uint64_t cpu_event_recorded(struct cpu_event *event) {
    pthread_mutex_lock(&event->lock);
    uint64_t generation = ++event->recorded;
    pthread_mutex_unlock(&event->lock);
    return generation;
}

uint64_t cpu_event_generation(struct cpu_event *event) {
    pthread_mutex_lock(&event->lock);
    uint64_t generation = event->recorded;
    pthread_mutex_unlock(&event->lock);
    return generation;
}

void cpu_event_complete(struct cpu_event *event, uint64_t generation) {
    pthread_mutex_lock(&event->lock);
    struct cpu_stream *blocked = event->blocked;
    event->blocked = NULL;
    if (generation > event->completed) {
        event->completed = generation;
        event->time = cpu_now();
    }
    pthread_cond_broadcast(&event->done);
    pthread_mutex_unlock(&event->lock);
    /* Those that wait for a later generation block again. */
    while (blocked) {
        struct cpu_stream *next = blocked->blocked_next;
        cpu_pool_ready(blocked, CPU_UNKNOWN_WORK);
        blocked = next;
    }
}

bool cpu_event_block(struct cpu_event *event, uint64_t generation, struct cpu_stream *stream) {
    pthread_mutex_lock(&event->lock);
    bool wait = event->completed < generation;
    if (wait) {
        atomic_store_explicit(&stream->state, CPU_STREAM_BLOCKED, memory_order_relaxed);
        stream->blocked_next = event->blocked;
        event->blocked = stream;
    }
    pthread_mutex_unlock(&event->lock);
    return wait;
}

ingot_status cpu_event_wait(void *handle, struct ig_error *error) {
    struct cpu_event *event = handle;
    cpu_pool_ring(event->device);
    pthread_mutex_lock(&event->lock);
    uint64_t target = event->recorded;
    while (event->completed < target) {
        pthread_cond_wait(&event->done, &event->lock);
    }
    pthread_mutex_unlock(&event->lock);
    if (target == 0) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "ingot_event_wait: the event was never recorded on a stream");
    }
    return INGOT_OK;
}

bool cpu_event_done(void *handle) {
    struct cpu_event *event = handle;
    pthread_mutex_lock(&event->lock);
    bool done = event->recorded > 0 && event->completed >= event->recorded;
    pthread_mutex_unlock(&event->lock);
    if (!done) {
        cpu_pool_ring(event->device); /* who asks again and again is not to wait for ever */
    }
    return done;
}

static bool event_time(void *handle, uint64_t *nanoseconds) {
    struct cpu_event *event = handle;
    pthread_mutex_lock(&event->lock);
    bool done = event->recorded > 0 && event->completed >= event->recorded;
    *nanoseconds = event->time;
    pthread_mutex_unlock(&event->lock);
    return done;
}

bool cpu_event_seconds(void *handle, double *seconds) {
    uint64_t nanoseconds;
    bool known = event_time(handle, &nanoseconds);
    *seconds = (double)nanoseconds * 1e-9;
    return known;
}

bool cpu_event_elapsed(void *start, void *end, double *seconds) {
    uint64_t from, to;
    if (!event_time(start, &from) || !event_time(end, &to)) {
        return false;
    }
    *seconds = ((double)to - (double)from) * 1e-9;
    return true;
}
