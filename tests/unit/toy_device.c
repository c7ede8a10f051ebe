/*
 * A device that is not worth having, as small as the interface allows (runtime/device.h): what
 * src/runtime/NAME/ holds of a real one. Its code is a text in postfix notation, which each thread
 * runs on its own float of [[buffer(0)]] ("x") and leaves in that of [[buffer(1)]]: "x 2 * 1 +".
 * Work runs when it is queued, on the thread that queues it.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/objects.h"

enum { MOST_VALUES = 16, MOST_THREADS = 256, MOST_MEMORY = 4096 };

struct toy_code {
    char *text;
};

struct toy_stream {
    struct ig_error error;
};

struct toy_event {
    double time; /* 0: never recorded */
};

/* ---- code ---- */

static const struct ig_code *code_find(ingot_device *device, const struct ig_variant *variant) {
    return ig_variant_code(variant, device->info.target);
}

static bool is_known(const char *word) {
    return !strcmp(word, "x") || (strlen(word) == 1 && strchr("+-*/", *word)) || isdigit(*word);
}

static ingot_status code_load(ingot_device *device, const struct ig_variant *variant,
                              const struct ig_code *code, void **loaded, struct ig_error *error) {
    struct toy_code *toy = calloc(1, sizeof *toy);
    char *words = strndup(code->bytes, code->size);
    (void)device;
    if (!toy || !(toy->text = strndup(code->bytes, code->size)) || !words) {
        free(words);
        free(toy);
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for kernel \"%s\"", variant->kernel);
    }
    ingot_status status = INGOT_OK;
    char *rest = NULL;
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (status == INGOT_OK && !is_known(word)) {
            status = ig_fail(error, INGOT_BAD_ARCHIVE, "kernel \"%s\": \"%s\" is no toy code",
                             variant->kernel, word);
        }
    }
    free(words);
    if (status != INGOT_OK) {
        free(toy->text);
        free(toy);
        return status;
    }
    *loaded = toy;
    return INGOT_OK;
}

static void code_unload(ingot_device *device, void *loaded) {
    struct toy_code *toy = loaded;
    (void)device;
    free(toy->text);
    free(toy);
}

/* False: a division by 0. */
static bool run_thread(const char *text, float x, float *result) {
    float values[MOST_VALUES] = {0};
    size_t count = 0;
    for (const char *at = text; *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        if (*at == 'x' || isdigit(*at)) {
            values[count++ % MOST_VALUES] = *at == 'x' ? x : strtof(at, NULL);
        } else if (count >= 2) {
            float *left = &values[(count - 2) % MOST_VALUES];
            const float right = values[(count - 1) % MOST_VALUES];
            if (*at == '/' && right == 0) {
                return false;
            }
            *left = *at == '+'   ? *left + right
                    : *at == '-' ? *left - right
                    : *at == '*' ? *left * right
                                 : *left / right;
            count--;
        }
        at += length;
    }
    *result = values[0];
    return true;
}

/* ---- buffers: host memory ---- */

static ingot_status buffer_allocate(ingot_device *device, ingot_buffer *buffer,
                                    struct ig_error *error) {
    (void)device;
    buffer->contents = calloc(1, buffer->length);
    buffer->address = (uintptr_t)buffer->contents;
    return buffer->contents ? INGOT_OK
                            : ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for %llu bytes",
                                      (unsigned long long)buffer->length);
}

static void buffer_free(ingot_device *device, ingot_buffer *buffer) {
    (void)device;
    free(buffer->contents);
}

static ingot_status buffer_wrap(ingot_device *device, ingot_buffer *buffer,
                                struct ig_error *error) {
    (void)device;
    (void)error;
    buffer->address = (uintptr_t)buffer->contents;
    return INGOT_OK;
}

static void buffer_unwrap(ingot_device *device, ingot_buffer *buffer) {
    (void)device;
    (void)buffer;
}

/* ---- streams ---- */

static ingot_status stream_open(ingot_device *device, void **stream, struct ig_error *error) {
    (void)device;
    *stream = calloc(1, sizeof(struct toy_stream));
    return *stream ? INGOT_OK : ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a stream");
}

static void stream_close(void *stream) {
    ig_error_clear(&((struct toy_stream *)stream)->error);
    free(stream);
}

static ingot_status stream_dispatch(void *queue, const struct ig_launch *launch,
                                    struct ig_error *error) {
    struct toy_stream *stream = queue;
    const struct toy_code *code = launch->kernel->loaded;
    const float *in =
        (const float *)((const char *)launch->args[0].buffer->contents + launch->args[0].offset);
    float *out = (float *)((char *)launch->args[1].buffer->contents + launch->args[1].offset);
    (void)error;
    for (uint32_t i = 0; i < launch->threads[0] && !stream->error.status; i++) {
        if (!run_thread(code->text, in[i], &out[i])) {
            ig_fail(&stream->error, INGOT_KERNEL_FAULT,
                    "kernel \"%s\" failed: a division by 0 in thread %u",
                    launch->kernel->variant->kernel, i);
        }
    }
    return INGOT_OK;
}

static ingot_status stream_copy(void *queue, ingot_buffer *source, uint64_t source_offset,
                                ingot_buffer *destination, uint64_t destination_offset,
                                uint64_t length, struct ig_error *error) {
    (void)queue;
    (void)error;
    memmove((char *)destination->contents + destination_offset,
            (const char *)source->contents + source_offset, length);
    return INGOT_OK;
}

static ingot_status stream_fill(void *queue, ingot_buffer *buffer, uint64_t offset, uint64_t length,
                                uint8_t value, struct ig_error *error) {
    (void)queue;
    (void)error;
    memset((char *)buffer->contents + offset, value, length);
    return INGOT_OK;
}

static ingot_status stream_record(void *queue, ingot_event *event, struct ig_error *error) {
    struct timespec now;
    (void)queue;
    (void)error;
    clock_gettime(CLOCK_MONOTONIC, &now);
    ((struct toy_event *)event->state)->time = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    return INGOT_OK;
}

static ingot_status stream_wait_event(void *queue, ingot_event *event, struct ig_error *error) {
    (void)queue;
    (void)event;
    (void)error;
    return INGOT_OK; /* what is recorded is done */
}

static ingot_status stream_wait(void *queue, struct ig_error *error) {
    struct toy_stream *stream = queue;
    *error = stream->error;
    stream->error = (struct ig_error){0};
    return error->status;
}

/* ---- events ---- */

static ingot_status event_open(ingot_device *device, void **event, struct ig_error *error) {
    (void)device;
    *event = calloc(1, sizeof(struct toy_event));
    return *event ? INGOT_OK : ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for an event");
}

static void event_close(void *event) {
    free(event);
}

static ingot_status event_wait(void *event, struct ig_error *error) {
    (void)event;
    (void)error;
    return INGOT_OK;
}

static bool event_done(void *event) {
    return ((const struct toy_event *)event)->time != 0;
}

static bool event_elapsed(void *start, void *end, double *seconds) {
    const struct toy_event *from = start, *to = end;
    *seconds = to->time - from->time;
    return to->time != 0;
}

static bool event_time(void *event, double *seconds) {
    *seconds = ((const struct toy_event *)event)->time;
    return *seconds != 0;
}

/* ---- the device ---- */

static void device_close(ingot_device *device) {
    free(device);
}

static const struct ig_device_ops toy_ops = {
    .close = device_close,
    .code_find = code_find,
    .code_load = code_load,
    .code_unload = code_unload,
    .buffer_allocate = buffer_allocate,
    .buffer_free = buffer_free,
    .buffer_wrap = buffer_wrap,
    .buffer_unwrap = buffer_unwrap,
    .stream_open = stream_open,
    .stream_close = stream_close,
    .stream_dispatch = stream_dispatch,
    .stream_copy = stream_copy,
    .stream_fill = stream_fill,
    .stream_record = stream_record,
    .stream_wait_event = stream_wait_event,
    .stream_wait = stream_wait,
    .event_open = event_open,
    .event_close = event_close,
    .event_wait = event_wait,
    .event_done = event_done,
    .event_elapsed = event_elapsed,
    .event_time = event_time,
};

static ingot_status device_describe(size_t index, ingot_device_info *info, struct ig_error *error) {
    (void)error;
    *info = (ingot_device_info){
        .description = "threads in postfix notation",
        .target = "toy-2",
        .simd_width = 32,
        .max_threads_per_threadgroup = MOST_THREADS,
        .max_threadgroup_memory = MOST_MEMORY,
        .compute_units = 1,
        .threads_per_compute_unit = 1,
        .max_buffer_length = (uint64_t)1 << 30,
        .min_offset_alignment = 4,
        .unified_memory = true,
    };
    snprintf(info->name, sizeof info->name, "toy:%zu", index);
    return INGOT_OK;
}

static ingot_status device_open(size_t index, const ingot_device_desc *desc, ingot_device **result,
                                struct ig_error *error) {
    ingot_device *device = calloc(1, sizeof *device);
    if (!device) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a device object");
    }
    atomic_init(&device->references, 1);
    device->ops = &toy_ops;
    device->time_limit_seconds = desc->time_limit_seconds;
    device->capabilities = (struct ig_capabilities){
        .max_threadgroup_memory = 2 * MOST_MEMORY,
        .has_nontemporal_stores = true,
        .cache_bytes = 64,
        .batch_scratch_bytes = 1 << 16,
        .has_concurrent_simdgroups = true,
    };
    *result = device;
    return device_describe(index, &device->info, error);
}

static size_t device_count(void) {
    return 2;
}

static bool level_holds(const char *level, const char *target) {
    return !strcmp(level, target) || !strcmp(level, "toy-1"); /* which a toy-2 is, too */
}

extern const struct ig_device_kind ig_toy_device_kind;
const struct ig_device_kind ig_toy_device_kind = {
    .name = "toy",
    .abi_version = 1,
    .level_holds = level_holds,
    .count = device_count,
    .describe = device_describe,
    .open = device_open,
};
