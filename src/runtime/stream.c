/* Streams: argument checks in front of the device's queues. */
#include <stdlib.h>
#include <string.h>

#include "runtime/observe.h"

/* With `wrap`, of the queue `native`. */
static ingot_status make_stream(ingot_device *device, bool wrap, void *native,
                                ingot_stream **result) {
    ingot_stream *stream = calloc(1, sizeof *stream);
    if (!stream) {
        return ig_api_fail(INGOT_OUT_OF_MEMORY, "no memory for a stream object");
    }
    atomic_init(&stream->references, 1);
    stream->device = device;
    struct ig_error error = {0};
    ingot_status status = wrap ? device->ops->stream_wrap(device, native, &stream->queue, &error)
                               : device->ops->stream_open(device, &stream->queue, &error);
    if (status != INGOT_OK) {
        free(stream);
        return ig_api_result(&error);
    }
    stream->order = wrap ? native : stream->queue;
    ingot_device_retain(device);
    stream->spans = ig_observed.any ? ig_spans_open(stream) : NULL;
    *result = stream;
    return INGOT_OK;
}

ingot_status ingot_stream_create(ingot_device *device, ingot_stream **result) {
    if (!device || !result) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_stream_create: %s is NULL",
                           device ? "stream" : "device");
    }
    *result = NULL;
    return make_stream(device, false, NULL, result);
}

ingot_status ingot_stream_wrap(ingot_device *device, void *native, ingot_stream **result) {
    if (!device || !result) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_stream_wrap: %s is NULL",
                           device ? "stream" : "device");
    }
    *result = NULL;
    if (!device->ops->stream_wrap) {
        return ig_api_fail(INGOT_UNSUPPORTED,
                           "ingot_stream_wrap: device \"%s\" has no streams of other libraries",
                           device->info.name);
    }
    return make_stream(device, true, native, result);
}

void ingot_stream_retain(ingot_stream *stream) {
    if (stream) {
        ig_retain(&stream->references);
    }
}

void ingot_stream_release(ingot_stream *stream) {
    if (!stream || !ig_release(&stream->references)) {
        return;
    }
    ingot_device *device = stream->device;
    if (stream->spans) {
        ingot_stream_wait(stream);
        ig_spans_close(stream);
    }
    device->ops->stream_close(stream->queue);
    free(stream);
    ingot_device_release(device);
}

static ingot_status dispatch(ingot_stream *stream, const ingot_dispatch_desc *desc, uint32_t memory,
                             bool is_own) {
    struct ig_error error = {0};
    struct ig_launch launch;
    uint32_t offsets[IG_MAX_THREADGROUP_INDEX];
    if (ig_validate_dispatch(stream->device, memory, desc, &launch, offsets, &error) != INGOT_OK) {
        return ig_api_result(&error);
    }
    if (launch.groups[0] == 0) {
        return INGOT_OK;
    }
    launch.is_own = is_own;
    struct ig_span *span = stream->spans ? ig_span_begin(stream) : NULL;
    ingot_status status = stream->device->ops->stream_dispatch(stream->queue, &launch, &error);
    if (span) {
        const struct ig_command_about about = {.kind = IG_COMMAND_KERNEL, .launch = &launch};
        ig_span_end(stream, span, &about, status);
    }
    return status == INGOT_OK ? INGOT_OK : ig_api_result(&error);
}

ingot_status ig_stream_dispatch_own(ingot_stream *stream, const ingot_dispatch_desc *desc,
                                    uint32_t memory) {
    return dispatch(stream, desc, memory, true);
}

bool ig_stream_is_captured(const ingot_stream *stream) {
    return stream->device->ops->stream_is_captured &&
           stream->device->ops->stream_is_captured(stream->queue);
}

ingot_status ingot_stream_dispatch(ingot_stream *stream, const ingot_dispatch_desc *desc) {
    if (!stream || !desc) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_stream_dispatch: %s is NULL",
                           stream ? "desc" : "stream");
    }
    return dispatch(stream, desc, stream->device->info.max_threadgroup_memory, false);
}

static ingot_status check_range(const char *function, const char *what, const ingot_stream *stream,
                                const ingot_buffer *buffer, uint64_t offset, uint64_t length) {
    if (!buffer) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "%s: %s is NULL", function, what);
    }
    if (buffer->device != stream->device) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT,
                           "%s: %s belongs to another opened device (\"%s\") than the stream "
                           "(\"%s\")",
                           function, what, buffer->device->info.name, stream->device->info.name);
    }
    if (offset > buffer->length || length > buffer->length - offset) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT,
                           "%s: %llu bytes at offset %llu pass the end of %s, which has %llu bytes",
                           function, (unsigned long long)length, (unsigned long long)offset, what,
                           (unsigned long long)buffer->length);
    }
    return INGOT_OK;
}

static void end_move(ingot_stream *stream, struct ig_span *span, enum ig_move move, uint64_t length,
                     ingot_status status) {
    if (span) {
        ig_span_end(
            stream, span,
            &(struct ig_command_about){.kind = IG_COMMAND_MOVE, .move = move, .bytes = length},
            status);
    }
}

ingot_status ingot_stream_copy(ingot_stream *stream, ingot_buffer *source, uint64_t source_offset,
                               ingot_buffer *destination, uint64_t destination_offset,
                               uint64_t length) {
    const char *function = "ingot_stream_copy";
    if (!stream) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "%s: stream is NULL", function);
    }
    ingot_status status = check_range(function, "source", stream, source, source_offset, length);
    if (status == INGOT_OK) {
        status =
            check_range(function, "destination", stream, destination, destination_offset, length);
    }
    if (status != INGOT_OK || length == 0) {
        return status;
    }
    struct ig_error error = {0};
    struct ig_span *span = stream->spans ? ig_span_begin(stream) : NULL;
    stream->device->ops->stream_copy(stream->queue, source, source_offset, destination,
                                     destination_offset, length, &error);
    end_move(stream, span, IG_MOVE_COPY, length, error.status);
    return ig_api_result(&error);
}

ingot_status ingot_stream_fill(ingot_stream *stream, ingot_buffer *buffer, uint64_t offset,
                               uint64_t length, uint8_t value) {
    const char *function = "ingot_stream_fill";
    if (!stream) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "%s: stream is NULL", function);
    }
    ingot_status status = check_range(function, "buffer", stream, buffer, offset, length);
    if (status != INGOT_OK || length == 0) {
        return status;
    }
    struct ig_error error = {0};
    struct ig_span *span = stream->spans ? ig_span_begin(stream) : NULL;
    stream->device->ops->stream_fill(stream->queue, buffer, offset, length, value, &error);
    end_move(stream, span, IG_MOVE_FILL, length, error.status);
    return ig_api_result(&error);
}

/* The checks of both transfers. */
static ingot_status check_transfer(const char *function, const ingot_stream *stream,
                                   const ingot_buffer *buffer, uint64_t offset, const void *host,
                                   uint64_t length) {
    if (!stream) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "%s: stream is NULL", function);
    }
    if (!host && length) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT,
                           "%s: host is NULL, but %llu bytes are to be moved", function,
                           (unsigned long long)length);
    }
    return check_range(function, "buffer", stream, buffer, offset, length);
}

ingot_status ingot_stream_upload(ingot_stream *stream, ingot_buffer *buffer, uint64_t offset,
                                 const void *host, uint64_t length) {
    ingot_status status =
        check_transfer("ingot_stream_upload", stream, buffer, offset, host, length);
    if (status != INGOT_OK || length == 0) {
        return status;
    }
    struct ig_error error = {0};
    if (!buffer->contents) {
        uint64_t start = stream->spans ? ig_observe_now() : 0;
        stream->device->ops->stream_upload(stream->queue, buffer, offset, host, length, &error);
        if (start) {
            ig_observe_move(stream, IG_MOVE_UPLOAD, length, start);
        }
        return ig_api_result(&error);
    }
    status = ingot_stream_wait(stream);
    if (status == INGOT_OK) {
        uint64_t start = stream->spans ? ig_observe_now() : 0;
        memcpy((char *)buffer->contents + offset, host, length);
        if (start) {
            ig_observe_move(stream, IG_MOVE_UPLOAD, length, start);
        }
        if (stream->device->ops->buffer_written) {
            stream->device->ops->buffer_written(buffer, offset, length);
        }
    }
    return status;
}

ingot_status ingot_stream_download(ingot_stream *stream, ingot_buffer *buffer, uint64_t offset,
                                   void *host, uint64_t length) {
    ingot_status status =
        check_transfer("ingot_stream_download", stream, buffer, offset, host, length);
    if (status != INGOT_OK || length == 0) {
        return status;
    }
    struct ig_error error = {0};
    if (!buffer->contents) {
        uint64_t start = stream->spans ? ig_observe_now() : 0;
        stream->device->ops->stream_download(stream->queue, buffer, offset, host, length, &error);
        if (start) {
            ig_observe_move(stream, IG_MOVE_DOWNLOAD, length, start);
        }
        return ig_api_result(&error);
    }
    status = ingot_stream_wait(stream);
    if (status == INGOT_OK) {
        uint64_t start = stream->spans ? ig_observe_now() : 0;
        memcpy(host, (const char *)buffer->contents + offset, length);
        if (start) {
            ig_observe_move(stream, IG_MOVE_DOWNLOAD, length, start);
        }
    }
    return status;
}

ingot_status ingot_stream_cancel(ingot_stream *stream) {
    if (!stream) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_stream_cancel: stream is NULL");
    }
    if (!stream->device->ops->stream_cancel) {
        return ig_api_fail(INGOT_UNSUPPORTED,
                           "ingot_stream_cancel: device \"%s\" cannot stop what it has begun",
                           stream->device->info.name);
    }
    stream->device->ops->stream_cancel(stream->queue);
    return INGOT_OK;
}

ingot_status ingot_stream_wait(ingot_stream *stream) {
    if (!stream) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_stream_wait: stream is NULL");
    }
    struct ig_error error = {0};
    uint64_t start = stream->spans ? ig_observe_now() : 0;
    ingot_status status = stream->device->ops->stream_wait(stream->queue, &error);
    if (start) {
        ig_observe_wait(start);
        ig_spans_collect(stream);
    }
    return status == INGOT_OK ? INGOT_OK : ig_api_result(&error);
}
