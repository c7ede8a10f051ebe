/*
 * Failures of the CUDA device: what results mean, losing the context, waiting with a limit.
 *
 * The driver reports a fault at some later call and does not say which kernel it was. Streams
 * remember the kernels that may still run; a fault is blamed on those, and $INGOT_CUDA_BLOCKING
 * narrows it to one.
 */
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "runtime/cuda/cuda.h"
#include "runtime/cuda/remote.h"

enum { MAX_GPUS = 64 };

/* The primary context of a GPU is one for the whole process, and so is its state. */
static atomic_uint generations[MAX_GPUS];
static atomic_bool failed_contexts[MAX_GPUS], refused_contexts[MAX_GPUS];
static pthread_mutex_t failures_lock = PTHREAD_MUTEX_INITIALIZER;
static char *failures[MAX_GPUS]; /* of what they failed last */

double cuda_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

unsigned cuda_generation(int ordinal) {
    return ordinal < MAX_GPUS ? atomic_load(&generations[ordinal]) : 0;
}

bool cuda_context_failed(int ordinal) {
    return ordinal < MAX_GPUS && atomic_load(&failed_contexts[ordinal]);
}

void cuda_context_replaced(int ordinal) {
    if (ordinal >= MAX_GPUS) {
        return;
    }
    atomic_fetch_add(&generations[ordinal], 1);
    atomic_store(&failed_contexts[ordinal], false);
}

static void context_has_failed(int ordinal, const char *reason) {
    if (ordinal >= MAX_GPUS) {
        return;
    }
    pthread_mutex_lock(&failures_lock);
    free(failures[ordinal]);
    failures[ordinal] = reason ? strdup(reason) : NULL;
    pthread_mutex_unlock(&failures_lock);
    atomic_store(&failed_contexts[ordinal], true);
}

bool cuda_context_is_refused(int ordinal) {
    return ordinal < MAX_GPUS && atomic_load(&refused_contexts[ordinal]);
}

void cuda_context_refused(int ordinal) {
    if (ordinal < MAX_GPUS) {
        atomic_store(&refused_contexts[ordinal], true);
    }
}

char *cuda_context_failure(int ordinal) {
    if (ordinal >= MAX_GPUS) {
        return NULL;
    }
    pthread_mutex_lock(&failures_lock);
    char *reason = failures[ordinal] ? strdup(failures[ordinal]) : NULL;
    pthread_mutex_unlock(&failures_lock);
    return reason;
}

/* ---- results ---- */

bool cuda_result_is_fatal(cu_result result) {
    switch (result) {
    case CU_DEINITIALIZED:
    case CU_DEVICE_UNAVAILABLE:
    case CU_INVALID_CONTEXT:
    case CU_ECC_UNCORRECTABLE:
    case CU_NVLINK_UNCORRECTABLE:
    case CU_CONTAINED:
    case CU_ILLEGAL_ADDRESS:
    case CU_LAUNCH_TIMEOUT:
    case CU_CONTEXT_IS_DESTROYED:
    case CU_ASSERT:
    case CU_HARDWARE_STACK_ERROR:
    case CU_ILLEGAL_INSTRUCTION:
    case CU_MISALIGNED_ADDRESS:
    case CU_INVALID_ADDRESS_SPACE:
    case CU_INVALID_PC:
    case CU_LAUNCH_FAILED:
    case CU_TENSOR_MEMORY_LEAK:
    case CU_MPS_CLIENT_TERMINATED:
    case CU_EXTERNAL_DEVICE:
    case CU_WORKER_GONE:
        return true;
    default:
        return false;
    }
}

static bool is_about_capture(cu_result result) {
    return result >= CU_STREAM_CAPTURE_FIRST && result <= CU_STREAM_CAPTURE_LAST;
}

static ingot_status status_of(cu_result result) {
    if (is_about_capture(result)) {
        return INGOT_INVALID_ARGUMENT;
    }
    switch (result) {
    case CU_OUT_OF_MEMORY:
        return INGOT_OUT_OF_MEMORY;
    case CU_INVALID_IMAGE:
    case CU_INVALID_PTX:
        return INGOT_BAD_ARCHIVE;
    case CU_NO_BINARY_FOR_GPU:
    case CU_JIT_COMPILER_NOT_FOUND:
    case CU_UNSUPPORTED_PTX_VERSION:
    case CU_JIT_COMPILATION_DISABLED:
        return INGOT_UNSUPPORTED;
    case CU_INVALID_VALUE:
    case CU_LAUNCH_OUT_OF_RESOURCES:
        return INGOT_LAUNCH_ERROR;
    case CU_LAUNCH_TIMEOUT:
        return INGOT_TIMEOUT;
    case CU_DEINITIALIZED:
    case CU_DEVICE_UNAVAILABLE:
    case CU_INVALID_CONTEXT:
    case CU_ECC_UNCORRECTABLE:
    case CU_NVLINK_UNCORRECTABLE:
    case CU_CONTAINED:
    case CU_CONTEXT_IS_DESTROYED:
    case CU_MPS_CLIENT_TERMINATED:
    case CU_EXTERNAL_DEVICE:
    case CU_WORKER_GONE:
        return INGOT_DEVICE_LOST;
    default:
        return cuda_result_is_fatal(result) ? INGOT_KERNEL_FAULT : INGOT_INTERNAL_ERROR;
    }
}

/* ---- losing the device ---- */

static void name_kernels(const struct cuda_pending *pending, struct ig_text *text) {
    ig_text_puts(text, text->size ? ", or " : "");
    ig_text_puts(text, pending->recent_count > 1   ? "one of the kernels "
                       : pending->recent_count > 0 ? "kernel "
                                                   : "a kernel that was released");
    for (uint32_t i = 0; i < pending->recent_count; i++) {
        ig_text_printf(text, "%s\"%s\"", i ? ", " : "", pending->recent[i]->kernel);
    }
    if (pending->dispatches > 1) {
        ig_text_printf(text, " (of %llu dispatches since the stream was last idle)",
                       (unsigned long long)pending->dispatches);
    }
}

/* With the lock held. The streams that have work get the error; `reason` is taken. A process of the
 * device's own ends, and all that runs there. */
static void lose(struct cuda_device *device, ingot_status status, char *reason,
                 bool context_failed) {
    device->lost_status = status;
    device->lost_reason = reason;
    for (struct cuda_stream *s = device->streams; s; s = s->next) {
        if (s->pending.dispatches && s->error.status == INGOT_OK) {
            ig_fail(&s->error, status, "%s", reason ? reason : "the context is lost");
        }
    }
    if (context_failed && !device->is_remote) {
        context_has_failed(device->ordinal, reason);
    }
    atomic_store(&device->is_lost, true);
    if (device->is_remote) {
        cuda_remote_end(device->handle);
    }
}

void cuda_lose(struct cuda_device *device, cu_result result) {
    pthread_mutex_lock(&device->lock);
    if (!atomic_load(&device->is_lost)) {
        struct ig_text names = {0};
        for (struct cuda_stream *s = device->streams; s; s = s->next) {
            if (s->pending.dispatches) {
                name_kernels(&s->pending, &names);
            }
        }
        char text[CUDA_RESULT_TEXT], ending[CUDA_ENDING_TEXT], *reason = NULL;
        ingot_status status = names.size ? status_of(result) : INGOT_DEVICE_LOST;
        const char *what = cuda_result_text(result, text);
        if (result == CU_WORKER_GONE) {
            cuda_remote_ending(device->handle, ending);
        }
        if ((result == CU_WORKER_GONE
                 ? asprintf(&reason, "%s%s%s", ending, names.size ? " while it ran " : "",
                            ig_text_string(&names))
                 : asprintf(&reason, "%s%s%s", ig_text_string(&names),
                            names.size ? " failed: " : "", what)) < 0) {
            reason = NULL;
        }
        ig_text_free(&names);
        lose(device, status, reason, true);
    }
    pthread_mutex_unlock(&device->lock);
}

/* In this process the context is as good as before, but for a kernel that cannot be stopped: opened
 * again, the device shares the GPU with that. Throwing the context away would wait for its end. */
void cuda_lose_for_time(struct cuda_device *device, const struct cuda_pending *pending) {
    pthread_mutex_lock(&device->lock);
    if (!atomic_load(&device->is_lost)) {
        struct ig_text names = {0};
        name_kernels(pending, &names);
        char *reason = NULL;
        if (asprintf(&reason, "%s ran past the time limit of %g s%s", ig_text_string(&names),
                     pending->allowed, device->is_remote ? " and was ended" : "") < 0) {
            reason = NULL;
        }
        ig_text_free(&names);
        lose(device, INGOT_TIMEOUT, reason, false);
    }
    pthread_mutex_unlock(&device->lock);
}

bool cuda_is_lost(struct cuda_device *device) {
    return atomic_load_explicit(&device->is_lost, memory_order_acquire) ||
           (!device->is_remote && device->generation != cuda_generation(device->ordinal));
}

ingot_status cuda_check_lost(struct cuda_device *device, struct ig_error *error) {
    if (!cuda_is_lost(device)) {
        return INGOT_OK;
    }
    pthread_mutex_lock(&device->lock);
    const char *reason = device->lost_reason ? device->lost_reason
                                             : "its context was replaced after a failure elsewhere";
    bool others_too = device->is_shared && device->lost_status != INGOT_TIMEOUT;
    ig_fail(error, INGOT_DEVICE_LOST, "device \"%s\" is lost: %s; open it again%s",
            device->base.info.name, reason,
            others_too
                ? " (what other libraries have on the GPU, such as torch's CUDA tensors, takes "
                  "a new process)"
                : "");
    pthread_mutex_unlock(&device->lock);
    return INGOT_DEVICE_LOST;
}

ingot_status cuda_fail(struct cuda_device *device, cu_result result, struct ig_error *error,
                       const char *format, ...) {
    if (cuda_result_is_fatal(result)) {
        cuda_lose(device, result);
        return cuda_check_lost(device, error);
    }
    char what[512], text[CUDA_RESULT_TEXT];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    return ig_fail(error, status_of(result), "%s: %s", what, cuda_result_text(result, text));
}

/* ---- the current context ---- */

/* A thread without a context gets the first GPU's and keeps it, as from CUDA's runtime: to push and
 * to pop it would be two more calls of the driver for each one. */
static _Thread_local cu_context kept;

static bool keep_current(struct cuda_device *device) {
    if (device->ordinal != 0 || device->driver->context_set(device->context) != CU_SUCCESS) {
        return false;
    }
    kept = device->context;
    return true;
}

void cuda_forget_current(struct cuda_device *device) {
    cu_context current = NULL;
    if (kept == device->context && device->driver->context_current(&current) == CU_SUCCESS &&
        current == kept) {
        device->driver->context_set(NULL);
    }
    kept = NULL;
}

ingot_status cuda_enter(struct cuda_device *device, struct cuda_scope *scope,
                        struct ig_error *error) {
    cu_context current = NULL;
    *scope = (struct cuda_scope){0};
    if (cuda_is_lost(device)) {
        return cuda_check_lost(device, error);
    }
    if (device->driver->context_current(&current) == CU_SUCCESS &&
        (current == device->context || (!current && keep_current(device)))) {
        return INGOT_OK;
    }
    cu_result result = device->driver->context_push(device->context);
    if (result != CU_SUCCESS) {
        return cuda_fail(device, result, error, "the context of device \"%s\" cannot be used",
                         device->base.info.name);
    }
    scope->is_pushed = true;
    return INGOT_OK;
}

ingot_status cuda_enter_relaxed(struct cuda_device *device, struct cuda_scope *scope,
                                struct ig_error *error) {
    ingot_status status = cuda_enter(device, scope, error);
    if (status == INGOT_OK) {
        scope->mode = CU_CAPTURE_RELAXED;
        scope->is_relaxed = device->driver->capture_mode(&scope->mode) == CU_SUCCESS;
    }
    return status;
}

void cuda_leave(struct cuda_device *device, struct cuda_scope *scope) {
    cu_context popped;
    if (scope->is_relaxed) {
        device->driver->capture_mode(&scope->mode);
    }
    if (scope->is_pushed) {
        device->driver->context_pop(&popped);
    }
    *scope = (struct cuda_scope){0};
}

/* ---- waiting ---- */

/* Work that was queued in another process tells at the next look what was wrong with it. */
static void keep_late_error(struct cuda_stream *stream, cu_result result) {
    struct ig_text names = {0};
    char text[CUDA_RESULT_TEXT];
    if (stream->pending.dispatches) {
        name_kernels(&stream->pending, &names);
    }
    if (stream->error.status == INGOT_OK) {
        ig_fail(&stream->error, status_of(result), "%s could not be queued on device \"%s\": %s",
                names.size ? ig_text_string(&names) : "work", stream->device->base.info.name,
                cuda_result_text(result, text));
    }
    ig_text_free(&names);
}

cu_result cuda_stream_look(struct cuda_stream *stream) {
    struct cuda_device *device = stream->device;
    struct cuda_scope scope;
    if (cuda_enter_relaxed(device, &scope, NULL) != INGOT_OK) {
        return CU_CONTEXT_IS_DESTROYED;
    }
    cu_result result = device->driver->stream_query(stream->handle);
    cuda_leave(device, &scope);
    if (result == CU_SUCCESS) {
        stream->pending = (struct cuda_pending){0};
        stream->is_busy = false;
        return result;
    }
    if (result != CU_NOT_READY) {
        if (cuda_result_is_fatal(result)) {
            cuda_lose(device, result);
        } else if (device->is_remote) {
            keep_late_error(stream, result);
        }
        return result;
    }
    const struct cuda_pending *pending = &stream->pending;
    if (pending->dispatches && !pending->is_unlimited && !stream->is_wrapped &&
        cuda_now() > pending->since + pending->allowed) {
        cuda_lose_for_time(device, pending);
        return CU_LAUNCH_TIMEOUT;
    }
    return result;
}

void cuda_pause(unsigned round) {
    enum { SPINS = 200, LONGEST_NS = 100000 };
    if (round < SPINS) {
        sched_yield();
        return;
    }
    long length = 5000L * (long)(round - SPINS + 1);
    nanosleep(&(struct timespec){.tv_nsec = length < LONGEST_NS ? length : LONGEST_NS}, NULL);
}

cu_result cuda_stream_settle(struct cuda_stream *stream) {
    cu_result result;
    for (unsigned round = 0; (result = cuda_stream_look(stream)) == CU_NOT_READY; round++) {
        cuda_pause(round);
    }
    return result;
}

/* The default stream cannot be used while one that waits for it is captured: the driver says so. */
bool cuda_stream_is_captured(const struct cuda_stream *stream) {
    int status = CU_CAPTURE_STATUS_NONE;
    if (!stream->is_wrapped) {
        return false;
    }
    cu_result result = stream->device->driver->stream_capturing(stream->handle, &status);
    return result == CU_SUCCESS ? status != CU_CAPTURE_STATUS_NONE : is_about_capture(result);
}

/* To ask about a stream that is captured would spoil the capture. */
bool cuda_stream_works(struct cuda_stream *stream) {
    struct cuda_scope scope;
    if (!stream->is_busy || cuda_enter_relaxed(stream->device, &scope, NULL) != INGOT_OK) {
        return false;
    }
    bool works = !cuda_stream_is_captured(stream) && cuda_stream_look(stream) == CU_NOT_READY;
    cuda_leave(stream->device, &scope);
    return works;
}

/* With the lock held. */
static bool some_stream_works(struct cuda_device *device) {
    bool works = false;
    for (struct cuda_stream *s = device->streams; s && !works && !cuda_is_lost(device);
         s = s->next) {
        works = cuda_stream_works(s);
    }
    return works;
}

void cuda_drain(struct cuda_device *device) {
    for (unsigned round = 0;; round++) {
        pthread_mutex_lock(&device->lock);
        bool works = !cuda_is_lost(device) && some_stream_works(device);
        pthread_mutex_unlock(&device->lock);
        if (!works) {
            return;
        }
        cuda_pause(round);
    }
}
