/* Events of the CUDA device: the driver's, with timing. */
#include <stdlib.h>

#include "runtime/cuda/cuda.h"

struct cuda_event {
    struct cuda_device *device;
    cu_event handle;
    /* Under the device's lock: */
    bool is_recorded;
    bool is_dropped;             /* recorded on a stream that had failed */
    struct cuda_pending pending; /* of the stream when it was recorded */
};

ingot_status cuda_event_open(ingot_device *base, void **result, struct ig_error *error) {
    struct cuda_device *device = (struct cuda_device *)base;
    struct cuda_scope scope;
    struct cuda_event *event = calloc(1, sizeof *event);
    if (!event) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for an event");
    }
    event->device = device;
    ingot_status status = cuda_enter_relaxed(device, &scope, error);
    if (status == INGOT_OK) {
        cu_result made = device->driver->event_create(&event->handle, 0);
        if (made != CU_SUCCESS) {
            status = cuda_fail(device, made, error, "an event on device \"%s\" cannot be made",
                               base->info.name);
        }
        cuda_leave(device, &scope);
    }
    if (status != INGOT_OK) {
        free(event);
        return status;
    }
    *result = event;
    return INGOT_OK;
}

void cuda_event_close(void *handle) {
    struct cuda_event *event = handle;
    struct cuda_scope scope;
    if (cuda_enter_relaxed(event->device, &scope, NULL) == INGOT_OK) {
        event->device->driver->event_destroy(event->handle);
        cuda_leave(event->device, &scope);
    }
    free(event);
}

ingot_status cuda_stream_record(void *handle, ingot_event *public_event, struct ig_error *error) {
    struct cuda_stream *stream = handle;
    struct cuda_event *event = public_event->state;
    struct cuda_device *device = stream->device;
    struct cuda_scope scope;
    ingot_status status;
    pthread_mutex_lock(&device->lock);
    event->is_dropped = stream->error.status != INGOT_OK;
    event->is_recorded |= event->is_dropped;
    if (cuda_stream_begin(stream, &scope, &status, error)) {
        cu_result result = device->driver->event_record(event->handle, stream->handle);
        event->is_recorded |= result == CU_SUCCESS;
        event->pending = stream->pending;
        event->pending.is_unlimited |= stream->is_wrapped;
        status = cuda_stream_end(stream, &scope, result, "ingot_stream_record", error);
    }
    pthread_mutex_unlock(&device->lock);
    return status;
}

ingot_status cuda_stream_wait_event(void *handle, ingot_event *public_event,
                                    struct ig_error *error) {
    struct cuda_stream *stream = handle;
    struct cuda_event *event = public_event->state;
    struct cuda_scope scope;
    ingot_status status;
    if (!cuda_stream_begin(stream, &scope, &status, error)) {
        return status;
    }
    cu_result result = CU_SUCCESS;
    if (event->is_recorded && !event->is_dropped) {
        result = stream->device->driver->stream_wait_event(stream->handle, event->handle, 0);
    }
    return cuda_stream_end(stream, &scope, result, "ingot_stream_wait_event", error);
}

/* One look, with the lock held. */
static cu_result look(struct cuda_event *event) {
    struct cuda_device *device = event->device;
    struct cuda_scope scope;
    if (event->is_dropped || cuda_enter_relaxed(device, &scope, NULL) != INGOT_OK) {
        return CU_SUCCESS;
    }
    cu_result result = device->driver->event_query(event->handle);
    cuda_leave(device, &scope);
    if (cuda_result_is_fatal(result)) {
        cuda_lose(device, result);
    }
    const struct cuda_pending *pending = &event->pending;
    if (result == CU_NOT_READY && pending->dispatches && !pending->is_unlimited &&
        cuda_now() > pending->since + pending->allowed) {
        cuda_lose_for_time(device, pending);
    }
    return result;
}

ingot_status cuda_event_wait(void *handle, struct ig_error *error) {
    struct cuda_event *event = handle;
    struct cuda_device *device = event->device;
    ingot_status status = INGOT_OK;
    for (unsigned round = 0;; round++) {
        pthread_mutex_lock(&device->lock);
        bool is_recorded = event->is_recorded;
        cu_result result = is_recorded ? look(event) : CU_SUCCESS;
        if (!is_recorded) {
            status = ig_fail(error, INGOT_INVALID_ARGUMENT,
                             "ingot_event_wait: the event was never recorded on a stream");
        } else if (!event->is_dropped && cuda_is_lost(device)) {
            status = cuda_check_lost(device, error);
        } else if (result != CU_SUCCESS && result != CU_NOT_READY) {
            status = cuda_fail(device, result, error, "waiting for an event failed");
        }
        if (status == INGOT_OK && result == CU_SUCCESS && device->stopping) {
            status = cuda_stop_read(device, NULL, error);
        }
        bool has_messages = status == INGOT_OK && device->logging;
        pthread_mutex_unlock(&device->lock);
        if (status != INGOT_OK || result != CU_NOT_READY) {
            return has_messages ? cuda_log_read(device, error) : status;
        }
        cuda_pause(round);
    }
}

/* What is lost never comes: it counts as done. */
bool cuda_event_done(void *handle) {
    struct cuda_event *event = handle;
    pthread_mutex_lock(&event->device->lock);
    bool done = event->is_recorded && look(event) != CU_NOT_READY;
    pthread_mutex_unlock(&event->device->lock);
    return done;
}

bool cuda_event_elapsed(void *start_handle, void *end_handle, double *seconds) {
    struct cuda_event *start = start_handle, *end = end_handle;
    struct cuda_device *device = start->device;
    struct cuda_scope scope;
    float milliseconds = 0;
    pthread_mutex_lock(&device->lock);
    bool known = start->is_recorded && end->is_recorded && !start->is_dropped && !end->is_dropped &&
                 cuda_enter_relaxed(device, &scope, NULL) == INGOT_OK;
    if (known) {
        known =
            device->driver->event_elapsed(&milliseconds, start->handle, end->handle) == CU_SUCCESS;
        cuda_leave(device, &scope);
    }
    pthread_mutex_unlock(&device->lock);
    *seconds = (double)milliseconds * 1e-3;
    return known;
}

enum { CLOCK_SECONDS = 60 }; /* the driver's differences are floats: not over long times */

/* An event whose time on the host's clock is known. */
static bool set_clock(struct cuda_device *device) {
    const struct cuda_driver *driver = device->driver;
    if (device->clock && cuda_now() < device->clock_time + CLOCK_SECONDS) {
        return true;
    }
    if (!device->clock && driver->event_create(&device->clock, 0) != CU_SUCCESS) {
        return false;
    }
    bool is_set = driver->event_record(device->clock, device->own_stream) == CU_SUCCESS &&
                  driver->stream_synchronize(device->own_stream) == CU_SUCCESS;
    device->clock_time = is_set ? cuda_now() : 0;
    return is_set;
}

/* The driver tells differences only. */
bool cuda_event_seconds(void *handle, double *seconds) {
    struct cuda_event *event = handle;
    struct cuda_device *device = event->device;
    struct cuda_scope scope;
    float milliseconds = 0;
    pthread_mutex_lock(&device->lock);
    bool known = event->is_recorded && !event->is_dropped && look(event) == CU_SUCCESS &&
                 cuda_enter_relaxed(device, &scope, NULL) == INGOT_OK;
    if (known) {
        known = set_clock(device) && device->driver->event_elapsed(&milliseconds, device->clock,
                                                                   event->handle) == CU_SUCCESS;
        cuda_leave(device, &scope);
    }
    *seconds = device->clock_time + (double)milliseconds * 1e-3;
    pthread_mutex_unlock(&device->lock);
    return known;
}
