/*
 * Samples of the device's clock: an event of a stream each, until somebody asks for the time.
 *
 * Any thread may set and ask. Asking waits for the event, without the lock.
 */
#include <stdlib.h>

#include "metal/core/core.h"

struct im_samples {
    atomic_uint references;
    pthread_mutex_t lock;
    size_t count;
    ingot_event *events[]; /* NULL: not set */
};

struct im_samples *im_samples_create(size_t count) {
    size_t size;
    bool is_too_large = __builtin_mul_overflow(count, sizeof(ingot_event *), &size) ||
                        __builtin_add_overflow(size, sizeof(struct im_samples), &size);
    struct im_samples *samples = is_too_large ? NULL : calloc(1, size);
    if (samples) {
        atomic_init(&samples->references, 1);
        pthread_mutex_init(&samples->lock, NULL);
        samples->count = count;
    }
    return samples;
}

void im_samples_retain(struct im_samples *samples) {
    atomic_fetch_add(&samples->references, 1);
}

void im_samples_release(struct im_samples *samples) {
    if (!samples || atomic_fetch_sub(&samples->references, 1) != 1) {
        return;
    }
    for (size_t i = 0; i < samples->count; i++) {
        ingot_event_release(samples->events[i]);
    }
    pthread_mutex_destroy(&samples->lock);
    free(samples);
}

size_t im_samples_count(const struct im_samples *samples) {
    return samples->count;
}

void im_samples_set(struct im_samples *samples, size_t index, ingot_event *event) {
    ingot_event_retain(event);
    pthread_mutex_lock(&samples->lock);
    ingot_event *old = samples->events[index];
    samples->events[index] = event;
    pthread_mutex_unlock(&samples->lock);
    ingot_event_release(old);
}

uint64_t im_samples_value(struct im_samples *samples, size_t index) {
    double seconds = 0;
    pthread_mutex_lock(&samples->lock);
    ingot_event *event = samples->events[index];
    if (event) {
        ingot_event_retain(event);
    }
    pthread_mutex_unlock(&samples->lock);
    bool good = event && ingot_event_wait(event) == INGOT_OK &&
                ingot_event_time(event, &seconds) == INGOT_OK;
    ingot_event_release(event);
    return good ? (uint64_t)(seconds * 1e9) : UINT64_MAX;
}
