/* Streams of the CUDA device: the driver's own, or one of another library that is wrapped. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/cuda.h"

enum { AT_ONCE = 64 << 10 }; /* bytes that the driver takes without waiting */

static ingot_status new_stream(struct cuda_device *device, cu_stream handle, bool is_wrapped,
                               void **result, struct ig_error *error) {
    struct cuda_stream *stream = calloc(1, sizeof *stream);
    if (!stream) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a stream");
    }
    stream->device = device;
    stream->handle = handle;
    stream->is_wrapped = is_wrapped;
    pthread_mutex_lock(&device->lock);
    stream->number = ++device->stream_count;
    device->is_shared |= is_wrapped;
    stream->next = device->streams;
    device->streams = stream;
    pthread_mutex_unlock(&device->lock);
    *result = stream;
    return INGOT_OK;
}

ingot_status cuda_stream_open(ingot_device *base, void **result, struct ig_error *error) {
    struct cuda_device *device = (struct cuda_device *)base;
    struct cuda_scope scope;
    cu_stream handle = NULL;
    ingot_status status = cuda_enter_relaxed(device, &scope, error);
    if (status != INGOT_OK) {
        return status;
    }
    cu_result made = device->driver->stream_create(&handle, CU_STREAM_NON_BLOCKING);
    if (made != CU_SUCCESS) {
        status = cuda_fail(device, made, error, "a stream on device \"%s\" cannot be made",
                           base->info.name);
    } else {
        status = new_stream(device, handle, false, result, error);
    }
    if (made == CU_SUCCESS && status != INGOT_OK) {
        device->driver->stream_destroy(handle);
    }
    cuda_leave(device, &scope);
    return status;
}

bool cuda_stream_is_recorded(void *queue) {
    const struct cuda_stream *stream = queue;
    struct cuda_scope scope;
    if (!stream->is_wrapped || cuda_enter(stream->device, &scope, NULL) != INGOT_OK) {
        return false;
    }
    bool is_captured = cuda_stream_is_captured(stream);
    cuda_leave(stream->device, &scope);
    return is_captured;
}

ingot_status cuda_stream_wrap(ingot_device *base, void *native, void **result,
                              struct ig_error *error) {
    struct cuda_device *device = (struct cuda_device *)base;
    ingot_status status = cuda_check_lost(device, error);
    if (status == INGOT_OK && device->is_remote) {
        status = cuda_not_of_this_process(device, "ingot_stream_wrap: the stream", native, error);
    }
    return status == INGOT_OK ? new_stream(device, native, true, result, error) : status;
}

void cuda_stream_close(void *handle) {
    struct cuda_stream *stream = handle;
    struct cuda_device *device = stream->device;
    struct cuda_scope scope;
    /* Work on a stream of another library goes on without us, unless it needs our memory. */
    if (!stream->is_wrapped || stream->staging) {
        cuda_stream_wait(stream, NULL);
    }
    pthread_mutex_lock(&device->lock);
    struct cuda_stream **link = &device->streams;
    while (*link != stream) {
        link = &(*link)->next;
    }
    *link = stream->next;
    pthread_mutex_unlock(&device->lock);
    if (cuda_enter_relaxed(device, &scope, NULL) == INGOT_OK) {
        if (stream->staging) {
            device->driver->memory_free(stream->staging);
        }
        if (!stream->is_wrapped) {
            device->driver->stream_destroy(stream->handle);
        }
        cuda_leave(device, &scope);
    }
    ig_error_clear(&stream->error);
    free(stream);
}

/* ---- queueing ---- */

/* An error drops what follows it. But another library goes on with its stream after a barrier that
 * threads missed; so do we. */
static bool is_stopped(const struct cuda_stream *stream) {
    bool goes_on = stream->is_wrapped && stream->error.status == INGOT_BARRIER_ERROR;
    return stream->error.status != INGOT_OK && !goes_on;
}

bool cuda_stream_begin(struct cuda_stream *stream, struct cuda_scope *scope, ingot_status *status,
                       struct ig_error *error) {
    pthread_mutex_lock(&stream->device->lock);
    bool dropped = is_stopped(stream);
    *status = dropped ? INGOT_OK : cuda_enter_relaxed(stream->device, scope, error);
    if (!dropped && *status == INGOT_OK) {
        return true;
    }
    pthread_mutex_unlock(&stream->device->lock);
    return false;
}

/* An error that has become the stream's is for ingot_stream_wait to return. */
static ingot_status finish(struct cuda_stream *stream, struct cuda_scope *scope,
                           ingot_status status, struct ig_error *error) {
    cuda_leave(stream->device, scope);
    if (status == INGOT_DEVICE_LOST && stream->error.status != INGOT_OK) {
        if (error) {
            ig_error_clear(error);
        }
        status = INGOT_OK;
    }
    pthread_mutex_unlock(&stream->device->lock);
    return status;
}

ingot_status cuda_stream_end(struct cuda_stream *stream, struct cuda_scope *scope, cu_result result,
                             const char *what, struct ig_error *error) {
    ingot_status status = INGOT_OK;
    if (result != CU_SUCCESS) {
        status = cuda_fail(stream->device, result, error, "%s on device \"%s\" failed", what,
                           stream->device->base.info.name);
    } else {
        stream->is_busy = true;
    }
    stream->queued++;
    return finish(stream, scope, status, error);
}

ingot_status cuda_stream_dispatch(void *handle, const struct ig_launch *launch,
                                  struct ig_error *error) {
    struct cuda_stream *stream = handle;
    struct cuda_scope scope = {0};
    ingot_status status = INGOT_OK;
    pthread_mutex_lock(&stream->device->lock);
    if (!is_stopped(stream)) {
        status = cuda_check_lost(stream->device, error);
        if (status == INGOT_OK) {
            status = cuda_launch(stream, launch, error);
        }
    }
    return finish(stream, &scope, status, error);
}

ingot_status cuda_stream_copy(void *handle, ingot_buffer *source, uint64_t source_offset,
                              ingot_buffer *destination, uint64_t destination_offset,
                              uint64_t length, struct ig_error *error) {
    struct cuda_stream *stream = handle;
    struct cuda_scope scope;
    ingot_status status;
    if (source->is_host || destination->is_host) {
        return cuda_host_copy(stream, source, source_offset, destination, destination_offset,
                              length, error);
    }
    if (!cuda_stream_begin(stream, &scope, &status, error)) {
        return status;
    }
    cu_result result = stream->device->driver->memory_copy(
        destination->address + destination_offset, source->address + source_offset, length,
        stream->handle);
    return cuda_stream_end(stream, &scope, result, "ingot_stream_copy", error);
}

ingot_status cuda_stream_fill(void *handle, ingot_buffer *buffer, uint64_t offset, uint64_t length,
                              uint8_t value, struct ig_error *error) {
    struct cuda_stream *stream = handle;
    struct cuda_scope scope;
    ingot_status status;
    if (buffer->is_host) {
        status = cuda_stream_wait(stream, error);
        if (status == INGOT_OK) {
            memset((char *)buffer->contents + offset, value, length);
        }
        return status;
    }
    if (!cuda_stream_begin(stream, &scope, &status, error)) {
        return status;
    }
    cu_result result = stream->device->driver->memory_fill(buffer->address + offset, value, length,
                                                           stream->handle);
    return cuda_stream_end(stream, &scope, result, "ingot_stream_fill", error);
}

/* Of several attributes at once the driver tells of memory that it does not know too. */
bool cuda_is_page_locked(const struct cuda_driver *driver, const void *host) {
    unsigned type = 0;
    int attribute = CU_POINTER_MEMORY_TYPE;
    void *values[] = {&type};
    return driver->pointer_attributes(1, &attribute, values, (uintptr_t)host) == CU_SUCCESS &&
           type == CU_MEMORY_HOST;
}

/* The driver reads pageable memory before it returns; what is page-locked it reads later. */
ingot_status cuda_stream_upload(void *handle, ingot_buffer *buffer, uint64_t offset,
                                const void *host, uint64_t length, struct ig_error *error) {
    struct cuda_stream *stream = handle;
    const struct cuda_driver *driver = stream->device->driver;
    struct cuda_scope scope;
    ingot_status status = INGOT_OK;
    /* The driver waits for the stream inside a large copy: with our lock held, without a limit. */
    if (length > AT_ONCE) {
        status = cuda_stream_wait(stream, error);
    }
    if (status != INGOT_OK || !cuda_stream_begin(stream, &scope, &status, error)) {
        return status;
    }
    /* A graph would read the host's memory again each time it runs. */
    if (cuda_stream_is_captured(stream)) {
        cuda_stream_end(stream, &scope, CU_SUCCESS, "ingot_stream_upload", NULL);
        return ig_fail(error, INGOT_UNSUPPORTED,
                       "ingot_stream_upload: %llu bytes of the host cannot be copied while the "
                       "stream is captured into a graph",
                       (unsigned long long)length);
    }
    bool is_locked = cuda_is_page_locked(driver, host);
    cu_result result =
        driver->memory_upload(buffer->address + offset, host, length, stream->handle);
    status = cuda_stream_end(stream, &scope, result, "ingot_stream_upload", error);
    return status == INGOT_OK && is_locked ? cuda_stream_wait(stream, error) : status;
}

ingot_status cuda_stream_download(void *handle, ingot_buffer *buffer, uint64_t offset, void *host,
                                  uint64_t length, struct ig_error *error) {
    struct cuda_stream *stream = handle;
    struct cuda_scope scope;
    /* As for uploads, of any size. */
    ingot_status status = cuda_stream_wait(stream, error);
    if (status != INGOT_OK || !cuda_stream_begin(stream, &scope, &status, error)) {
        return status;
    }
    /* Another thread may have queued more. */
    cu_result result = stream->device->is_remote ? cuda_stream_settle(stream) : CU_SUCCESS;
    if (result == CU_SUCCESS) {
        result = stream->device->driver->memory_download(host, buffer->address + offset, length,
                                                         stream->handle);
    }
    status = cuda_stream_end(stream, &scope, result, "ingot_stream_download", error);
    return status == INGOT_OK ? cuda_stream_wait(stream, error) : status;
}

ingot_status cuda_stream_wait(void *handle, struct ig_error *error) {
    struct cuda_stream *stream = handle;
    struct cuda_device *device = stream->device;
    ingot_status status = INGOT_OK;
    cu_result result = CU_SUCCESS;
    for (unsigned round = 0;; round++) {
        pthread_mutex_lock(&device->lock);
        if (stream->error.status != INGOT_OK || cuda_is_lost(device)) {
            break;
        }
        result = cuda_stream_look(stream);
        if (result != CU_NOT_READY) {
            break;
        }
        pthread_mutex_unlock(&device->lock);
        cuda_pause(round);
    }
    if (result == CU_SUCCESS && device->stopping && !cuda_is_lost(device)) {
        status = cuda_stop_read(device, stream, error);
    }
    if (stream->error.status != INGOT_OK) {
        status = stream->error.status;
        ig_fail(error, status, "%s", ig_error_text(&stream->error));
        ig_error_clear(&stream->error);
        stream->pending = (struct cuda_pending){0};
        stream->is_busy = false;
    } else if (cuda_is_lost(device)) {
        status = cuda_check_lost(device, error);
    } else if (result != CU_SUCCESS) {
        status = cuda_fail(device, result, error, "waiting for a stream of device \"%s\" failed",
                           device->base.info.name);
    }
    bool has_messages = status == INGOT_OK && device->logging;
    pthread_mutex_unlock(&device->lock);
    return has_messages ? cuda_log_read(device, error) : status;
}
