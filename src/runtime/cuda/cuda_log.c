/*
 * Messages that kernels wrote into the logs of their modules (base/cuda_abi.h): read when no stream
 * has work, since a record is only whole when its kernel is done. What a graph runs is read at
 * every wait, which should be for the stream that runs it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cuda_abi.h"
#include "base/text.h"
#include "runtime/cuda/cuda.h"

ingot_status cuda_log_open(struct cuda_device *device, struct cuda_code *code,
                           const struct ig_code *image, struct ig_error *error) {
    ingot_status status = cuda_code_variable(device, code, image, INGOT_CUDA_LOG_SYMBOL,
                                             INGOT_CUDA_LOG_BYTES, &code->log, error);
    if (status != INGOT_OK || !code->log) {
        return status;
    }
    pthread_mutex_lock(&device->lock);
    code->next_logging = device->logging;
    device->logging = code;
    pthread_mutex_unlock(&device->lock);
    return INGOT_OK;
}

void cuda_log_close(struct cuda_device *device, struct cuda_code *code) {
    pthread_mutex_lock(&device->lock);
    struct cuda_code **link = &device->logging;
    while (*link && *link != code) {
        link = &(*link)->next_logging;
    }
    if (*link) {
        *link = code->next_logging;
    }
    pthread_mutex_unlock(&device->lock);
}

/* ---- one log's bytes ---- */

/* A copy of the log, which is then empty; NULL when there is nothing in it. */
static unsigned char *take_log(struct cuda_device *device, const struct cuda_code *code,
                               cu_result *result) {
    struct ingot_cuda_log head;
    *result = cuda_fetch(device, code->log, &head, sizeof head);
    if (*result != CU_SUCCESS || (!head.used && !head.lost)) {
        return NULL;
    }
    unsigned char *bytes = malloc(INGOT_CUDA_LOG_BYTES);
    if (!bytes) {
        return NULL;
    }
    *result = cuda_fetch(device, code->log, bytes, INGOT_CUDA_LOG_BYTES);
    if (*result == CU_SUCCESS) {
        *result =
            device->driver->memory_fill(code->log, 0, INGOT_CUDA_LOG_BYTES, device->own_stream);
    }
    if (*result == CU_SUCCESS) {
        *result = device->driver->stream_synchronize(device->own_stream);
    }
    if (*result == CU_SUCCESS) {
        return bytes;
    }
    free(bytes);
    return NULL;
}

/* ---- messages ---- */

struct reader {
    struct cuda_device *device;
    char string[256];
};

/* Text in the GPU's memory, up to what fits. */
static const char *gpu_string(void *context, uint64_t address) {
    struct reader *reader = context;
    struct cuda_scope scope;
    size_t at = 0;
    if (cuda_enter_relaxed(reader->device, &scope, NULL) != INGOT_OK) {
        return "(lost)";
    }
    for (; at < sizeof reader->string - 1; at++) {
        if (cuda_fetch(reader->device, address + at, reader->string + at, 1) != CU_SUCCESS ||
            !reader->string[at]) {
            break;
        }
    }
    reader->string[at] = 0;
    cuda_leave(reader->device, &scope);
    return reader->string;
}

/* Why the kernel ended itself: the levels of a recursion, or nothing for a trap. */
static ingot_status ended(const char *kernel, uint32_t count, const uint64_t *args,
                          struct ig_error *error) {
    if (!count) {
        return ig_fail(error, INGOT_KERNEL_FAULT,
                       "kernel \"%s\" failed: the kernel trapped (__builtin_trap)", kernel);
    }
    return ig_fail(error, INGOT_KERNEL_FAULT,
                   "kernel \"%s\" failed: a function called itself more than %llu levels deep; "
                   "Metal has no recursion, and this compiler unrolls it as far as that",
                   kernel, (unsigned long long)args[0]);
}

/* One record; false when it is none. */
static bool hand_on(struct reader *reader, const char *kernel, const unsigned char *at, size_t left,
                    uint32_t *size, ingot_status *status, struct ig_error *error) {
    struct ingot_cuda_record record;
    if (left < sizeof record) {
        return false;
    }
    memcpy(&record, at, sizeof record);
    uint64_t content = sizeof record + 8ull * record.count + record.format_length;
    if (record.size < content || record.size > left || record.size % 8) {
        return false;
    }
    *size = record.size;
    uint64_t *args = malloc(8 * (size_t)record.count + 8);
    char *format =
        strndup((const char *)at + sizeof record + 8 * (size_t)record.count, record.format_length);
    struct ig_text message = {0};
    if (args && format) {
        memcpy(args, at + sizeof record, 8 * (size_t)record.count);
        if (record.level == INGOT_CUDA_LOG_ENDED) {
            *status = ended(kernel, record.count, args, error);
        } else {
            ig_log_format(&message, format, record.count, args, gpu_string, reader);
            ig_log_message((int)record.level, ig_text_string(&message));
        }
    }
    ig_text_free(&message);
    free(format);
    free(args);
    return true;
}

static ingot_status hand_on_all(struct cuda_device *device, const char *kernel,
                                const unsigned char *bytes, struct ig_error *error) {
    enum { LEVEL_DEFAULT = 0 };
    struct reader reader = {.device = device};
    struct ingot_cuda_log head;
    ingot_status status = INGOT_OK;
    memcpy(&head, bytes, sizeof head);
    size_t room = INGOT_CUDA_LOG_BYTES - sizeof head;
    size_t end = sizeof head + (head.used < room ? head.used : room);
    uint32_t size = 0;
    for (size_t at = sizeof head; at < end; at += size) {
        if (!hand_on(&reader, kernel, bytes + at, end - at, &size, &status, error)) {
            break;
        }
    }
    if (head.lost) {
        struct ig_text message = {0};
        ig_text_printf(&message,
                       "kernel \"%s\": %u more messages did not fit into its log of %u "
                       "bytes",
                       kernel, head.lost, INGOT_CUDA_LOG_BYTES);
        ig_log_message(LEVEL_DEFAULT, ig_text_string(&message));
        ig_text_free(&message);
    }
    return status;
}

/* ---- all logs ---- */

/* The next one with something in it, with the kernel's name; NULL when there is no more. */
static unsigned char *next_log(struct cuda_device *device, char **kernel, cu_result *result) {
    unsigned char *bytes = NULL;
    struct cuda_scope scope;
    *kernel = NULL;
    *result = CU_SUCCESS;
    pthread_mutex_lock(&device->lock);
    bool is_idle = !cuda_is_lost(device);
    for (struct cuda_stream *s = device->streams; s && is_idle; s = s->next) {
        is_idle = !cuda_stream_works(s);
    }
    if (is_idle && cuda_enter_relaxed(device, &scope, NULL) == INGOT_OK) {
        for (struct cuda_code *c = device->logging; c && !bytes && *result == CU_SUCCESS;
             c = c->next_logging) {
            if (!c->has_run) {
                continue;
            }
            c->has_run = c->is_in_graph;
            bytes = take_log(device, c, result);
            *kernel = bytes ? strdup(c->kernel) : NULL;
        }
        cuda_leave(device, &scope);
    }
    pthread_mutex_unlock(&device->lock);
    return bytes;
}

ingot_status cuda_log_read(struct cuda_device *device, struct ig_error *error) {
    ingot_status status = INGOT_OK;
    cu_result result;
    char *kernel;
    for (unsigned char *bytes; (bytes = next_log(device, &kernel, &result));) {
        struct ig_error own = {0};
        ingot_status one = hand_on_all(device, kernel ? kernel : "", bytes, &own);
        if (one != INGOT_OK && status == INGOT_OK) {
            status = error ? ig_fail(error, one, "%s", ig_error_text(&own)) : one;
        }
        ig_error_clear(&own);
        free(kernel);
        free(bytes);
    }
    if (result != CU_SUCCESS && status == INGOT_OK) {
        status = cuda_fail(device, result, error, "the messages of kernels cannot be read");
    }
    return status;
}
